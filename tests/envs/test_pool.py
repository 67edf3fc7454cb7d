"""EnvPool's environments reset in the step that ends an episode, and are otherwise Gymnasium's."""

import sys

import gymnasium as gym
import numpy as np
import pytest

from rlgrad.envs import make, state_of


@pytest.fixture
def pools():
    """Builds pools and closes their threads."""
    pytest.importorskip("envpool")
    made = []

    def build(*args, **kwargs):
        made.append(make(*args, vectorization="envpool", **kwargs))
        return made[-1]

    yield build
    for pool in made:
        pool.close()


def physics(state, action):
    """CartPole's next state by Gymnasium's single environment."""
    single = gym.make("CartPole-v1").unwrapped
    single.reset()
    single.state = state.astype(np.float64)
    return single.step(int(action))


def test_every_row_is_a_step_of_an_episode(pools):
    """From each observation and action the next one follows by the dynamics, so no row is spent on a reset."""
    envs = pools("CartPole-v1", 3)
    obs, _ = envs.reset(seed=0)
    source, lengths, ages = np.random.default_rng(0), [], np.zeros(3, int)
    for _ in range(150):
        actions = source.integers(2, size=3)
        following, rewards, terminated, truncated, infos = envs.step(actions)
        ages += 1
        done = terminated | truncated
        np.testing.assert_array_equal(infos.get("_final_obs", np.zeros(3, bool)), done)
        np.testing.assert_array_equal(rewards, np.ones(3))
        for index in range(3):
            reached = infos["final_obs"][index] if done[index] else following[index]
            expected, _, ended, _, _ = physics(obs[index], actions[index])
            np.testing.assert_allclose(reached, expected, rtol=1e-3, atol=1e-4)
            assert ended == terminated[index]
            if done[index]:
                assert (np.abs(following[index]) <= 0.05).all()
                lengths.append(ages[index])
                ages[index] = 0
        np.testing.assert_array_equal(infos["elapsed_step"][~done], ages[~done])
        obs = following
    assert len(lengths) > 5


def test_a_time_limit_truncates_and_the_next_episode_has_its_full_length(pools):
    envs = pools("Pendulum-v1", 2, max_episode_steps=4)
    envs.reset(seed=0)
    for step in range(1, 13):
        _, _, terminated, truncated, infos = envs.step(np.zeros((2, 1), np.float32))
        assert not terminated.any()
        assert truncated.all() == (step % 4 == 0)
        assert ("final_obs" in infos) == (step % 4 == 0)


def test_spaces_are_those_of_a_vector_environment(pools):
    envs = pools("Pendulum-v1", 3)
    assert envs.observation_space.shape == (3, 3)
    assert envs.single_observation_space == gym.make("Pendulum-v1").observation_space
    assert envs.action_space.contains(envs.action_space.sample())
    assert envs.metadata["autoreset_mode"] == gym.vector.AutoresetMode.SAME_STEP
    assert state_of(envs) is None


def test_a_seed_starts_the_same_episodes_again(pools):
    envs = pools("CartPole-v1", 2)

    def play(seed):
        seen = [envs.reset(seed=seed)[0]]
        for step in range(30):
            seen += envs.step(np.full(2, step % 3 == 0))[:2]
        return np.concatenate([np.ravel(x) for x in seen])

    first, second, other = play(1), play(1), play(2)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_parts_of_dict_observations_are_replaced_alike(pools):
    envs = pools("MiniGrid-MultiRoom-N2-S4-v0", 2, max_episode_steps=3)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(np.zeros(2, np.int64))
    obs, _, _, truncated, infos = envs.step(np.zeros(2, np.int64))
    assert truncated.all()
    assert set(infos["final_obs"][0]) == set(obs) == {"direction", "image", "mission"}
    assert obs["image"].shape == (2, 7, 7, 3)
    assert infos["final_obs"][1]["image"].shape == (7, 7, 3)


def test_mistakes_are_named(pools):
    with pytest.raises(ValueError, match=r"EnvPool has no environment 'CartPol-v1'.*CartPole-v1"):
        pools("CartPol-v1", 2)
    with pytest.raises(RuntimeError, match="call reset"):
        pools("CartPole-v1", 2).step(np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="takes no options at a reset"):
        pools("CartPole-v1", 2).reset(options={"low": 0})
    with pytest.raises(TypeError, match="takes the name"):
        pools(lambda: gym.make("CartPole-v1"), 2)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(ImportError, match=r"pip install 'rlgrad\[envpool\]'"):
        make("CartPole-v1", 2, vectorization="envpool")
