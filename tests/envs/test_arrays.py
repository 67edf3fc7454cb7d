"""Environments over NumPy arrays: each copy is Gymnasium's single environment, step for step."""

import gymnasium as gym
import numpy as np
import pytest

from rlgrad.envs import ArrayVectorEnv, make

IDS = ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
STEPS = 700


def swinging(space, state, source):
    """Mostly pushes along the velocity, so that cars reach their goal; sometimes at random."""
    if source.random() < 0.2:
        return space.sample()
    forward = state[-1] > 0
    if isinstance(space, gym.spaces.Discrete):
        return np.int64((space.n - 1) * forward)
    return np.full(space.shape, (1.3 if forward else -1.3) * space.high[0], np.float32)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("env_id", IDS)
def test_whole_episodes_equal_gymnasiums_step_for_step(env_id, copies):
    """The start of every episode is copied from the array into a single environment; everything after it must agree."""
    envs = make(env_id, copies)
    singles = [gym.make(env_id) for _ in range(copies)]
    envs.reset(seed=0)
    for index, single in enumerate(singles):
        single.reset(seed=index)
        single.unwrapped.state = start_of(env_id, envs.state[:, index])
        single.action_space.seed(index)
    source, episodes, terminations = np.random.default_rng(0), 0, 0
    for _ in range(STEPS * 3 // copies):
        actions = np.stack([swinging(s.action_space, s.unwrapped.state, source) for s in singles])
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        for index, single in enumerate(singles):
            expected_obs, reward, ended, cut, _ = single.step(actions[index])
            done = terminated[index] or truncated[index]
            seen = infos["final_obs"][index] if done else obs[index]
            np.testing.assert_allclose(seen, expected_obs, rtol=2e-5, atol=5e-6)
            np.testing.assert_allclose(rewards[index], reward, rtol=1e-6)
            assert (bool(terminated[index]), bool(truncated[index])) == (ended, cut)
            if done:
                episodes, terminations = episodes + 1, terminations + int(ended)
                single.reset()
                single.unwrapped.state = start_of(env_id, envs.state[:, index])
    assert episodes >= 3
    assert terminations or env_id == "Pendulum-v1"


def start_of(env_id, column):
    return column.astype(np.float32) if env_id == "Acrobot-v1" else column.copy()


@pytest.mark.parametrize("env_id", IDS)
def test_spaces_shapes_and_types_are_those_of_synchronous_copies(env_id):
    arrays, sync = make(env_id, 3), make(env_id, 3, vectorization="sync")
    assert isinstance(arrays, ArrayVectorEnv)
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(arrays, name) == getattr(sync, name)
    assert arrays.max_episode_steps == gym.spec(env_id).max_episode_steps
    sync.action_space.seed(0)
    for mine, other in zip(arrays.reset(seed=0), sync.reset(seed=0), strict=True):
        assert type(mine) is type(other)
    actions = sync.action_space.sample()
    for mine, other in zip(arrays.step(actions)[:4], sync.step(actions)[:4], strict=True):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)


@pytest.mark.parametrize("env_id", IDS)
def test_start_states_have_the_distribution_of_gymnasiums(env_id):
    stats = pytest.importorskip("scipy.stats")
    mine = make(env_id, 500).reset(seed=0)[0]
    single = gym.make(env_id).unwrapped
    single.reset(seed=0)
    expected = np.stack([single.reset()[0] for _ in range(500)])
    for column in range(mine.shape[1]):
        assert stats.ks_2samp(mine[:, column], expected[:, column]).pvalue > 1e-3
    low = make("MountainCar-v0", 5)
    assert (low.reset(seed=0, options={"low": 0.1, "high": 0.2})[0][:, 0] >= 0.1).all()


@pytest.mark.parametrize("env_id", IDS)
def test_a_finished_episode_is_followed_by_a_fresh_start_in_the_same_step(env_id):
    envs = make(env_id, 4, max_episode_steps=5)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    first_starts = envs.state.copy()
    for step in range(1, 11):
        obs, _, terminated, truncated, infos = envs.step(envs.action_space.sample())
        assert not terminated.any()
        assert truncated.all() == (step % 5 == 0)
        assert ("final_obs" in infos) == (step % 5 == 0)
        if step == 5:
            np.testing.assert_array_equal(infos["_final_obs"], np.ones(4, bool))
            np.testing.assert_array_equal(obs, envs._observe(envs.state))
            assert not np.array_equal(envs.state, first_starts)
            assert not np.array_equal(infos["final_obs"][0], obs[0])


@pytest.mark.parametrize("env_id", IDS)
def test_pictures_show_each_copy(env_id):
    pytest.importorskip("pygame")
    envs = make(env_id, 2, render_mode="rgb_array")
    envs.reset(seed=0)
    first, second = envs.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape == second.shape
    assert not np.array_equal(first, second)
    envs.close()


def test_wrong_actions_are_named():
    envs = make("Acrobot-v1", 2)
    with pytest.raises(RuntimeError, match="call reset"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        envs.step(np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="integers from 0 to 2"):
        envs.step(np.array([0, 3]))
    with pytest.raises(ValueError, match="integers from 0 to 2"):
        envs.step(np.array([0.0, 1.0]))
