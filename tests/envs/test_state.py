"""A running environment can be put back to where it was, and what cannot tell its state says so."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import vector as wrappers

from rlgrad.envs import make, restore, state_of
from rlgrad.training import load_checkpoint, save_checkpoint

ARRAYS = ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]


class Walk(gym.Env):
    """A random walk that tells its state."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal()
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place += self.np_random.normal()
        return np.array([self.place], np.float32), self.place, self.place > 3, False, {}

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def play(envs, steps, seed):
    envs.action_space.seed(seed)
    seen = []
    for _ in range(steps):
        obs, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        seen += [*(obs if isinstance(obs, tuple) else [obs]), rewards, terminated, truncated]
        seen += [x for x in infos.get("final_obs", ()) if x is not None]
    return [np.array(x) for x in seen]


def limited_walk():
    return gym.wrappers.TimeLimit(Walk(), 7)


CASES = {name: (lambda name=name: make(name, 3, max_episode_steps=30)) for name in ARRAYS}
CASES["a wrapped array"] = lambda: wrappers.RescaleAction(
    wrappers.ClipReward(make("Pendulum-v1", 3), -5.0, 0.0), np.float32(-1), np.float32(1)
)
CASES["copies that only check"] = lambda: make(
    lambda: gym.wrappers.PassiveEnvChecker(gym.wrappers.OrderEnforcing(Walk())), 3
)
CASES["copies that tell their state"] = lambda: make(limited_walk, 3)
for _id in [*ARRAYS, "FrozenLake-v1", "Blackjack-v1", "CliffWalking-v1"]:
    CASES[f"synchronous {_id}"] = lambda name=_id: make(name, 2, vectorization="sync", max_episode_steps=25)


@pytest.mark.parametrize("name", CASES)
def test_a_restored_environment_goes_on_bit_for_bit(name, tmp_path):
    envs = CASES[name]()
    envs.reset(seed=0)
    play(envs, 40, 1)
    save_checkpoint(tmp_path / "envs.safetensors", state_of(envs))
    expected = play(envs, 60, 2)
    other = CASES[name]()
    other.reset(seed=99)
    restore(other, load_checkpoint(tmp_path / "envs.safetensors"))
    result = play(other, 60, 2)
    assert len(result) == len(expected)
    for a, b in zip(result, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_physics_of_mujoco_goes_on_bit_for_bit(tmp_path):
    for package in ("mujoco", "imageio"):
        pytest.importorskip(package)
    envs, other = (make("Hopper-v5", 2) for _ in range(2))
    envs.reset(seed=0)
    play(envs, 60, 1)
    save_checkpoint(tmp_path / "envs.safetensors", state_of(envs))
    expected = play(envs, 60, 2)
    other.reset(seed=99)
    restore(other, load_checkpoint(tmp_path / "envs.safetensors"))
    for a, b in zip(play(other, 60, 2), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_state_is_a_copy():
    envs = make("Pendulum-v1", 2)
    envs.reset(seed=0)
    state = state_of(envs)
    before = state["layers"][0]["own"]["state"].copy()
    play(envs, 3, 0)
    np.testing.assert_array_equal(state["layers"][0]["own"]["state"], before)


@pytest.mark.parametrize(
    "build",
    [
        lambda: make("CartPole-v1", 2, vectorization="async"),
        lambda: wrappers.NormalizeReward(make("Pendulum-v1", 2)),
        lambda: wrappers.RecordEpisodeStatistics(make("Pendulum-v1", 2)),
        lambda: gym.wrappers.FrameStackObservation(Walk(), 3),
    ],
)
def test_what_cannot_tell_its_state_gives_none(build):
    envs = build()
    envs.reset(seed=0)
    assert state_of(envs) is None
    envs.close()


def test_a_state_of_other_environments_is_refused():
    state = state_of(make("Pendulum-v1", 2))
    with pytest.raises(ValueError, match="state of 2 copies does not fit 3"):
        restore(make("Pendulum-v1", 3), state)
    with pytest.raises(ValueError, match="PendulumVectorEnv, but the environment has a CartPoleVectorEnv"):
        restore(make("CartPole-v1", 2), state)
    with pytest.raises(ValueError, match="1 layers of wrappers, but this one has 2"):
        restore(wrappers.ClipReward(make("Pendulum-v1", 2), -5.0, 0.0), state)
