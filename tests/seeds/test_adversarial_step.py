"""The victim, generator and discriminator step: two losses through one discriminator, an optimizer step between them."""

import pytest

SETUP = """
import torch
from torch import nn

class Victim(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=-1))
    def actor_local(self, obs):
        return self.actor(obs)

def discriminator_loss(disc_real, disc_fake):
    bce = nn.BCELoss()
    return bce(disc_real, torch.ones_like(disc_real)) + bce(disc_fake, torch.zeros_like(disc_fake))

def generator_loss(disc_fake, real_action_probs, perturbed_action_probs, obs_real, obs_fake):
    fooled = nn.BCELoss()(disc_fake, torch.ones_like(disc_fake))
    return fooled - ((real_action_probs - perturbed_action_probs) ** 2).mean() + ((obs_real - obs_fake) ** 2).mean()

victim_model = Victim()
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-2)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2)
obs_real = torch.randn(16, 4)
"""

STEP = """
obs_fake = obs_real + 0.1 * generator(obs_real)
disc_real = discriminator(obs_real)
disc_fake = discriminator(obs_fake)
disc_loss = discriminator_loss(disc_real, disc_fake)
discriminator_optimizer.zero_grad()
disc_loss.backward(retain_graph=True)
discriminator_optimizer.step()
disc_fake = discriminator(obs_fake)
real_action_probs = victim_model.actor_local(obs_real)
perturbed_action_probs = victim_model.actor_local(obs_fake)
gen_loss = generator_loss(disc_fake, real_action_probs, perturbed_action_probs, obs_real, obs_fake)
generator_optimizer.zero_grad()
gen_loss.backward()
generator_optimizer.step()
print(disc_loss.item(), gen_loss.item())
"""

GENERATOR_FIRST = """
obs_fake = obs_real + 0.1 * generator(obs_real)
disc_real = discriminator(obs_real)
disc_fake = discriminator(obs_fake)
real_action_probs = victim_model.actor_local(obs_real)
perturbed_action_probs = victim_model.actor_local(obs_fake)
gen_loss = generator_loss(disc_fake, real_action_probs, perturbed_action_probs, obs_real, obs_fake)
generator_optimizer.zero_grad()
gen_loss.backward(retain_graph=True)
disc_loss = discriminator_loss(disc_real, disc_fake)
discriminator_optimizer.zero_grad()
disc_loss.backward()
generator_optimizer.step()
discriminator_optimizer.step()
print(disc_loss.item(), gen_loss.item())
"""


@pytest.mark.parametrize("step", [STEP, GENERATOR_FIRST], ids=["discriminator first", "generator first"])
def test_losses_and_weights_follow_torch(run_in_both, step):
    ours, theirs = run_in_both(SETUP + step * 5)
    for mine, other in zip(ours["printed"], theirs["printed"], strict=True):
        assert mine == pytest.approx(other, rel=1e-4)
    for name in ("generator", "discriminator"):
        state = theirs[name].state_dict()
        for key, value in ours[name].state_dict().items():
            assert value.numpy() == pytest.approx(state[key].numpy(), abs=1e-4)


def test_without_retaining_the_graph_the_second_loss_fails(run):
    freed = SETUP + STEP.replace("retain_graph=True", "")
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        run(freed)


def test_without_recomputation_the_optimizer_step_is_noticed(run):
    recomputation = "discriminator_optimizer.step()\ndisc_fake = discriminator(obs_fake)\n"
    assert recomputation in STEP
    stale = SETUP + STEP.replace(recomputation, "discriminator_optimizer.step()\n")
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        run(stale)
    assert "[8, 4]" in str(caught.value) or "[1, 8]" in str(caught.value)
    assert "set_detect_anomaly" in str(caught.value)


def test_recomputation_cures_it(run):
    result = run(SETUP + STEP)
    assert all(p.grad is not None for p in result["generator"].parameters())
