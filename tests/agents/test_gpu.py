"""On a GPU the agents take the steps that they take on the CPU."""

import numpy as np
import pytest
from gymnasium import spaces

from rlgrad import nn
from rlgrad.agents import (
    DQN,
    IQL,
    PPO,
    SAC,
    TD3,
    CQLConfig,
    DDPGConfig,
    DQNConfig,
    IQLConfig,
    PPOConfig,
    SACConfig,
    TD3Config,
)

from .test_off_policy import SMALL, VARIANTS
from .test_offline import random_play
from .worlds import Identity

pytestmark = pytest.mark.gpu
QUICK = {**SMALL, "learning_starts": 32, "train_freq": 4, "gradient_steps": 1}
BOX = spaces.Box(-1, 1, (2,))
CASES = {
    **{f"dqn {name}": (DQN, DQNConfig(**{**QUICK, **options}), None) for name, options in VARIANTS.items()},
    "td3": (TD3, TD3Config(**QUICK), BOX),
    "ddpg": (TD3, DDPGConfig(**QUICK), BOX),
    "sac": (SAC, SACConfig(**QUICK), BOX),
    "sac discrete": (SAC, SACConfig(**QUICK), None),
    "ppo lstm": (PPO, PPOConfig(n_steps=16, num_envs=2, hidden_sizes=[8], recurrent="lstm"), None),
    "cql": (SAC, CQLConfig(hidden_sizes=[8], batch_size=16), BOX),
    "iql": (IQL, IQLConfig(hidden_sizes=[8], batch_size=16), BOX),
}
DRAWN_ON_THE_DEVICE = ("noisy", "rainbow")


def networks(agent):
    return [part for part in agent.components().values() if isinstance(part, nn.Module)]


def parameters(agent):
    return np.concatenate([p.detach().cpu().numpy().ravel() for net in networks(agent) for p in net.parameters()])


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_cpu(name, tmp_path):
    kind, config, space = CASES[name]
    found = {}
    for device in ("cpu", "cuda"):
        offline = {"dataset": random_play(space or spaces.Discrete(3), 200)} if name in ("cql", "iql") else {}
        agent = kind(lambda: Identity(space), config, seed=1, device=device, **offline)
        agent.learn(64)
        assert agent.num_updates > 0
        assert {p.is_cuda for net in networks(agent) for p in net.parameters()} == {device == "cuda"}
        found[device] = parameters(agent)
    assert np.isfinite(found["cuda"]).all()
    if not any(word in name for word in DRAWN_ON_THE_DEVICE):
        np.testing.assert_allclose(found["cuda"], found["cpu"], atol=1e-4)
    agent.save(tmp_path / "agent")
    moved = kind.load(tmp_path / "agent", env=lambda: Identity(space), device="cpu", **offline)
    np.testing.assert_array_equal(parameters(moved), found["cuda"])
