"""The REINFORCE function of the tutorials, on a small environment."""

import numpy as np
import pytest

import rlgrad

PROGRAM = """
import torch
def REINFORCE(policy, episodes, learning_rate):
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    episode_rewards = []
    for i in range(episodes):
        log_probs = []
        rewards = []
        state = env.reset()
        episode_reward = 0
        while(True):
            action, log_prob = policy.get_action(state)
            new_state, reward, done, _ = env.step(action.item())
            log_probs.append(log_prob)
            rewards.append(reward)
            state = new_state
            episode_reward += reward
            if done:
                break
        episode_rewards.append(episode_reward)
        eps = torch.finfo(torch.float32).eps
        discounts = [np.power(0.99, i) for i in range(len(rewards))]
        discounts = torch.from_numpy(np.array(discounts, dtype=np.float32)).to(device)
        rewards = torch.stack(rewards).to(device)
        log_probs = torch.stack(log_probs).to(device)
        R = (rewards * discounts).sum(dim=0)
        R = (R - R.mean()) / (R.std() + eps)
        policy_loss = (-log_probs * R).sum(dim=0)
        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()
    return episode_rewards
"""


class Corridor:
    """Walk right along five cells; a reward of one, as a tensor of one element, for each step to the right."""

    def __init__(self, library):
        self.library = library

    def reset(self):
        self.position, self.clock = 0, 0
        return self.position

    def step(self, action):
        self.clock += 1
        self.position = min(self.position + 1, 4) if action else max(self.position - 1, 0)
        return self.position, self.library.tensor([float(action)]), self.clock == 8, {}


def make_policy(library, seed=0):
    rng = np.random.default_rng(seed)

    class Policy(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.logits = library.nn.Parameter(library.from_numpy(rng.standard_normal((5, 2)).astype(np.float32)))

        def get_action(self, state):
            log_probs = self.logits[state].log_softmax(dim=0)
            action = int(rng.random() < log_probs[1].exp().item())
            return library.tensor(action), log_probs[action]

    return Policy()


def test_reinforce_runs_and_follows_torch(run):
    torch = pytest.importorskip("torch")
    results = {}
    for name, library in (("rlgrad", rlgrad), ("torch", torch)):
        policy = make_policy(library)
        names = {"env": Corridor(library), "np": np, "device": library.device("cpu")}
        reinforce = run(PROGRAM, library=name, **names)["REINFORCE"]
        rewards = [r.item() for r in reinforce(policy, 20, 0.05)]
        results[name] = rewards, policy.logits.detach().numpy()
    assert results["rlgrad"][0] == results["torch"][0]
    assert results["rlgrad"][1] == pytest.approx(results["torch"][1], abs=1e-4)
    assert np.isfinite(results["rlgrad"][1]).all()
    assert not np.allclose(results["rlgrad"][1], make_policy(rlgrad).logits.detach().numpy())
