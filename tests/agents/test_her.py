import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rlgrad.agents import DQN, SAC, DQNConfig, SACConfig
from rlgrad.agents.her import Goals, HindsightReplay
from rlgrad.agents.spaces import ObservationCodec

LAYOUT = {"obs_shape": (5,), "obs_dtype": np.float32, "action_shape": (), "action_dtype": np.int64, "gamma": 0.9}


def bitwise_reward(achieved, desired, info):
    return -(achieved != desired).any(-1).astype(np.float32)


def make(capacity=40, num_envs=2, relabelled=4, terminated=True):
    ends = (lambda *goals: bitwise_reward(*goals) == 0) if terminated else None
    goals = Goals(slice(0, 2), slice(2, 4), (2,), np.int64, bitwise_reward, ends)
    return HindsightReplay(goals, relabelled, capacity=capacity, num_envs=num_envs, **LAYOUT)


def fill(buffer, steps, seed=0):
    """Columns: two bits achieved, two desired, the number of the step; what each copy did is returned."""
    rng, n = np.random.default_rng(seed), buffer.num_envs
    history, obs = [], None
    for step in range(steps):
        obs = np.column_stack([rng.integers(0, 9, (n, 2)), np.full((n, 2), -1), np.full(n, step)])
        following = np.column_stack([rng.integers(0, 9, (n, 2)), np.full((n, 2), -1), np.full(n, step + 1)])
        terminated, truncated = rng.random(n) < 0.1, rng.random(n) < 0.1
        buffer.add(obs, np.arange(n), np.full(n, -7.0), following, terminated, truncated)
        history.append((following, terminated | truncated))
    return history


@pytest.mark.parametrize("steps", [3, 15, 57])
def test_new_goals_were_achieved_later_in_the_same_episode(steps):
    buffer = make()
    history = fill(buffer, steps)
    batch = buffer.sample(4000, np.random.default_rng(1))
    relabelled = batch.obs[:, 2] >= 0
    assert relabelled.mean() == pytest.approx(0.8, abs=0.03)
    np.testing.assert_array_equal(batch.obs[:, 2:4], batch.next_obs[:, 2:4])
    assert (batch.rewards[~relabelled] == -7).all()
    later = []
    for row in np.flatnonzero(relabelled):
        copy, step = int(batch.actions[row]), int(batch.obs[row, 4])
        end = next((s for s in range(step, steps) if history[s][1][copy]), steps - 1)
        possible = [history[s][0][copy, :2] for s in range(step, end + 1)]
        goal = batch.obs[row, 2:4]
        matches = [number for number, achieved in enumerate(possible) if (achieved == goal).all()]
        assert matches
        later.append((matches[0] + 0.5) / len(possible))
        reached = (batch.next_obs[row, :2] == goal).all()
        assert batch.rewards[row] == (0.0 if reached else -1.0)
        assert batch.discounts[row] == pytest.approx(0.0 if reached else 0.9)
    # Uniform over the rest of the episode: on average half way.
    assert np.mean(later) == pytest.approx(0.5, abs=0.06)


def test_what_was_stored_keeps_its_own_goal():
    buffer = make(terminated=False)
    fill(buffer, 15)
    buffer.sample(500, np.random.default_rng(0))
    assert (buffer.obs[: buffer.size, 2:4] == -1).all()
    batch = buffer.sample(500, np.random.default_rng(0))
    np.testing.assert_allclose(batch.discounts, 0.9 * ~buffer.terminated[batch.index])


def test_a_restored_memory_goes_on_bit_for_bit():
    first, second = make(), make()
    fill(first, 33)
    second.load_state_dict(first.state_dict())
    for buffer in (first, second):
        fill(buffer, 6, seed=3)
    a, b = (buffer.sample(200, np.random.default_rng(0)) for buffer in (first, second))
    for name in ("obs", "rewards", "next_obs", "discounts", "index"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_environments_without_goals_are_refused():
    class Envs:
        single_observation_space = spaces.Box(0, 1, (2,))

    with pytest.raises(TypeError, match="Dict observation with achieved_goal and desired_goal"):
        Goals.of(Envs(), ObservationCodec(Envs.single_observation_space))
    goal = spaces.MultiBinary(3)
    Envs.single_observation_space = spaces.Dict(observation=goal, achieved_goal=goal, desired_goal=goal)
    Envs.unwrapped = Envs
    with pytest.raises(ValueError, match="compute_reward"):
        Goals.of(Envs(), ObservationCodec(Envs.single_observation_space))
    goals = make().goals
    with pytest.raises(ValueError, match="returns of one step"):
        HindsightReplay(goals, capacity=8, num_envs=1, n_steps=2, **LAYOUT)


class BitFlip(gym.Env):
    """Flips one bit a step until all bits are as wanted, at most as many steps as there are bits."""

    def __init__(self, bits, continuous=False):
        self.bits, self.continuous = bits, continuous
        goal = spaces.MultiBinary(bits)
        self.observation_space = spaces.Dict(observation=goal, achieved_goal=goal, desired_goal=goal)
        self.action_space = spaces.Box(-1, 1, (bits,)) if continuous else spaces.Discrete(bits)

    def observe(self):
        state = self.state.astype(np.int8)
        return {"observation": state, "achieved_goal": state, "desired_goal": self.goal}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.goal = self.np_random.integers(2, size=(2, self.bits), dtype=np.int8)
        self.count = 0
        return self.observe(), {}

    def compute_reward(self, achieved, desired, info):
        return bitwise_reward(achieved, desired, info)

    def compute_terminated(self, achieved, desired, info):
        return (achieved == desired).all(-1)

    def step(self, action):
        index = int(np.argmax(action)) if self.continuous else action
        self.state[index] ^= 1
        self.count += 1
        reward = float(self.compute_reward(self.state, self.goal, {}))
        return self.observe(), reward, bool(reward == 0), self.count == self.bits, {}


def success(agent, bits):
    """The share of episodes that reach their goal: the others last to the end and pay -1 for every step."""
    return float((agent.evaluate(episodes=100).returns > -bits).mean())


def test_hindsight_learns_to_flip_bits_where_plain_replay_does_not():
    bits = 8
    rates = {}
    for goals in (0, 4):
        config = DQNConfig(
            hidden_sizes=[64], learning_rate=2e-3, batch_size=64, buffer_size=20_000, learning_starts=200, gamma=0.95,
            num_envs=4, train_freq=2, gradient_steps=4, exploration_steps=3000, target_update_interval=100,
            hindsight_goals=goals,
        )  # fmt: skip
        rates[goals] = success(DQN(lambda: BitFlip(bits), config).learn(9000), bits)
    assert rates[4] > 0.9
    assert rates[0] < 0.3


def test_hindsight_goes_with_continuous_actions_and_is_saved(tmp_path):
    config = SACConfig(hidden_sizes=[16], batch_size=16, learning_starts=40, hindsight_goals=4, num_envs=2)
    agent = SAC(lambda: BitFlip(3, continuous=True), config).learn(80)
    agent.save(tmp_path / "agent")
    again = SAC.load(tmp_path / "agent", env=lambda: BitFlip(3, continuous=True))
    first, second = (one.buffer.sample(50, np.random.default_rng(0)) for one in (agent, again))
    np.testing.assert_array_equal(first.obs, second.obs)
    np.testing.assert_array_equal(first.rewards, second.rewards)
    with pytest.raises(ValueError, match="prioritized must be off"):
        DQNConfig(prioritized=True, hindsight_goals=1)
