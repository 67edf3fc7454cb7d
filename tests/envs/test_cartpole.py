import gymnasium as gym
import numpy as np

from rlgrad.envs import make


def start_from(envs, states):
    """Puts the copies of a synchronous or array CartPole into given states."""
    if isinstance(envs, gym.vector.SyncVectorEnv):
        for env, state in zip(envs.envs, states, strict=True):
            env.unwrapped.state = state.copy()
    else:
        envs.state = states.T.copy()


def test_episodes_equal_those_of_the_synchronous_environment():
    arrays, sync = make("CartPole-v1", 4), make("CartPole-v1", 4, vectorization="sync")
    source = np.random.default_rng(0)
    states = source.uniform(-0.05, 0.05, size=(4, 4))
    arrays.reset(seed=0)
    sync.reset(seed=0)
    start_from(arrays, states)
    start_from(sync, states)
    running = np.ones(4, dtype=bool)
    while running.any():
        actions = source.integers(2, size=4)
        obs, rewards, terminated, truncated, infos = arrays.step(actions)
        expected = sync.step(actions)
        for ours, theirs in zip((obs, rewards, terminated, truncated), expected[:4], strict=True):
            same = running & ~(terminated | truncated) if ours is obs else running
            np.testing.assert_allclose(ours[same], theirs[same], rtol=1e-5, atol=1e-6)
        for index in np.flatnonzero(running & (terminated | truncated)):
            np.testing.assert_allclose(infos["final_obs"][index], expected[4]["final_obs"][index], rtol=1e-5, atol=1e-6)
        running &= ~(terminated | truncated)


def test_a_finished_episode_is_followed_by_a_fresh_start_and_no_empty_row():
    envs = make("CartPole-v1", 3)
    envs.reset(seed=0)
    lengths, count = [], np.zeros(3, dtype=int)
    for _ in range(200):
        obs, rewards, terminated, truncated, infos = envs.step(np.ones(3, np.int64))
        count += 1
        np.testing.assert_array_equal(rewards, np.ones(3))
        done = terminated | truncated
        if done.any():
            np.testing.assert_array_equal(infos["_final_obs"], done)
            assert (np.abs(obs[done]) <= 0.05).all()
            assert all((infos["final_obs"][i] is not None) == done[i] for i in range(3))
            final = np.stack([infos["final_obs"][i] for i in np.flatnonzero(done)])
            assert (np.abs(final[:, 2]) > 0.2095).all()
            lengths += count[done].tolist()
            count[done] = 0
        else:
            assert "final_obs" not in infos
    # Pushing one way always fails within eight to eleven steps, so a reset row would show as a longer
    # episode.
    assert len(lengths) > 50
    assert set(lengths) <= {8, 9, 10, 11}


def test_an_episode_is_truncated_at_its_step_limit():
    envs = make("CartPole-v1", 2, max_episode_steps=5)
    envs.reset(seed=0)
    for step in range(1, 11):
        _, _, terminated, truncated, infos = envs.step(np.full(2, step % 2))
        assert not terminated.any()
        assert truncated.all() == (step % 5 == 0)
        assert ("final_obs" in infos) == (step % 5 == 0)
