import builtins
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from rlgrad.envs import CartPoleVectorEnv, make


class Countdown(gym.Env):
    """Terminates in its third step; observes how many steps it has taken."""

    observation_space = gym.spaces.Box(0, 10, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.count += 1
        return np.full(1, self.count, np.float32), 1.0, self.count == 3, False, {}


@pytest.mark.parametrize(
    ("env", "vectorization"),
    [("CartPole-v1", "auto"), ("CartPole-v1", "sync"), ("Acrobot-v1", "auto"), (Countdown, "auto")],
)
def test_every_vector_env_resets_in_the_step_that_ends_an_episode(env, vectorization):
    envs = make(env, num_envs=3, vectorization=vectorization)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.num_envs == 3
    envs.close()


def test_the_array_implementation_is_taken_where_there_is_one():
    assert isinstance(make("CartPole-v1", 2), CartPoleVectorEnv)
    assert isinstance(make("CartPole-v1", 2, vectorization="sync"), gym.vector.SyncVectorEnv)
    assert isinstance(make(Countdown, 2), gym.vector.SyncVectorEnv)


def test_the_step_that_ends_an_episode_shows_both_observations():
    envs = make(Countdown, num_envs=2)
    envs.reset(seed=0)
    for _ in range(2):
        obs, _, terminated, _, infos = envs.step(np.zeros(2, np.int64))
        assert not terminated.any()
        assert "final_obs" not in infos
    obs, rewards, terminated, truncated, infos = envs.step(np.zeros(2, np.int64))
    assert terminated.all()
    assert not truncated.any()
    np.testing.assert_array_equal(obs, np.zeros((2, 1)))
    np.testing.assert_array_equal(np.stack(infos["final_obs"]), np.full((2, 1), 3.0))
    np.testing.assert_array_equal(rewards, np.ones(2))


@pytest.mark.parametrize("vectorization", ["auto", "sync"])
def test_the_same_seed_gives_the_same_trajectory_bit_for_bit(vectorization):
    def play(seed):
        envs = make("CartPole-v1", 4, vectorization=vectorization)
        source = np.random.default_rng(0)
        seen = [envs.reset(seed=seed)[0]]
        for _ in range(60):
            obs, rewards, terminated, truncated, _ = envs.step(source.integers(2, size=4))
            seen += [obs, rewards, terminated, truncated]
        return [np.array(array) for array in seen]

    first, second, other = play(7), play(7), play(8)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_environment_options_reach_the_environment():
    envs = make("CartPole-v1", 2, sutton_barto_reward=True)
    envs.reset(seed=0)
    _, rewards, _, _, _ = envs.step(np.zeros(2, np.int64))
    np.testing.assert_array_equal(rewards, np.zeros(2))


def test_an_unversioned_id_means_the_newest_version():
    assert make("CartPole").spec.id == "CartPole-v1"


def test_an_unknown_id_lists_the_nearest_ones():
    with pytest.raises(ValueError, match=r"no environment 'CartPol-v1'.*CartPole-v1"):
        make("CartPol-v1")
    with pytest.raises(ValueError, match=r"no environment 'CartPole-v7'.*CartPole-v1"):
        make("CartPole-v7")
    with pytest.raises(ValueError, match="pprint_registry"):
        make("qqqqqqqqqq")
    with pytest.raises(ValueError, match="asks to import 'no_such_module'"):
        make("no_such_module:Env-v0")


def test_a_missing_package_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def without_box2d(name, *args, **kwargs):
        if name.split(".")[0].lower() == "box2d":
            raise ImportError(f"No module named {name!r}")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_box2d)
    for module in [name for name in __import__("sys").modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(__import__("sys").modules, module)
    with pytest.raises(ImportError, match=r"pip install 'rlgrad\[box2d\]'"):
        make("LunarLander-v3")


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="num_envs must be an integer of at least 1, got 0"):
        make("CartPole-v1", 0)
    with pytest.raises(ValueError, match="Unknown vectorization 'synch'"):
        make("CartPole-v1", 1, vectorization="synch")
    with pytest.raises(ValueError, match="no array implementation"):
        make("FrozenLake-v1", 1, vectorization="vector")
    with pytest.raises(TypeError, match="lambda"):
        make(Countdown())
    with pytest.raises(TypeError, match=r"dict has to build a gymnasium\.Env, and built dict"):
        make(dict)
    with pytest.raises(ValueError, match=r"options \(size\)"):
        make(Countdown, 1, size=3)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED, None])
def test_a_vector_environment_in_another_autoreset_mode_is_refused(mode):
    good = gym.vector.SyncVectorEnv([Countdown], autoreset_mode=AutoresetMode.SAME_STEP)
    assert make(good) is good
    bad = gym.vector.SyncVectorEnv([Countdown], autoreset_mode=mode or AutoresetMode.SAME_STEP)
    if mode is None:
        bad.metadata = {}
    with pytest.raises(ValueError, match=r"(resets in|does not say).*SAME_STEP"):
        make(bad)


def test_gymnasium_makes_the_array_implementations_by_name():
    envs = gym.make_vec("rlgrad/Acrobot-v1", 3, vectorization_mode="vector_entry_point")
    assert type(envs).__name__ == "AcrobotVectorEnv"
    assert (envs.num_envs, envs.max_episode_steps) == (3, 500)
    assert make("rlgrad/CartPole-v1", 2).spec.id == "CartPole-v1"
    with pytest.raises(ValueError, match="nearest ids are: CartPole-v1"):
        make("CartPol-v1")


def test_processes_give_the_trajectories_of_synchronous_copies():
    def play(vectorization):
        envs = make("MountainCar-v0", 2, vectorization=vectorization, max_episode_steps=7)
        seen = [envs.reset(seed=3)[0]]
        for step in range(20):
            obs, rewards, terminated, truncated, infos = envs.step(np.full(2, step % 3))
            seen += [
                obs.copy(),
                rewards,
                terminated,
                truncated,
                *[x for x in infos.get("final_obs", ()) if x is not None],
            ]
        envs.close()
        return seen

    for a, b in zip(play("sync"), play("async"), strict=True):
        np.testing.assert_array_equal(a, b)


class Several(gym.vector.VectorEnv):
    """A vector environment of somebody else, in SAME_STEP mode."""

    metadata: ClassVar = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs=1, **options):
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = Countdown.observation_space, Countdown.action_space


class SeveralOfAnotherMode(Several):
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.NEXT_STEP}


@pytest.fixture
def registered():
    names = []

    def register(vector_class, single=Countdown):
        name = f"Registered{len(names)}-v0"
        gym.register(name, entry_point=single, vector_entry_point=vector_class)
        names.append(name)
        return name

    yield register
    for name in names:
        del gym.registry[name]


def test_registered_vector_entry_points_are_taken_if_they_reset_in_the_same_step(registered):
    good, bad, alone = (
        registered(Several),
        registered(SeveralOfAnotherMode),
        registered(SeveralOfAnotherMode, single=None),
    )
    assert isinstance(make(good, 3), Several)
    assert isinstance(make(good, 3, vectorization="sync"), gym.vector.SyncVectorEnv)
    assert isinstance(make(bad, 3), gym.vector.SyncVectorEnv)
    for name, vectorization in ((bad, "vector"), (alone, "auto")):
        with pytest.raises(ValueError, match=r"resets in .* mode, which adds steps"):
            make(name, 3, vectorization=vectorization)
