import gymnasium as gym
import numpy as np
import pytest

from rlgrad.envs import NormalizedVectorEnv, make, reset_and_seed, restore, state_of


class Ramp(gym.Env):
    """Observes 100 plus its step, pays 5 for each; three steps."""

    observation_space = gym.spaces.Box(0, 200, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.full(1, 100, np.float32), {}

    def step(self, action):
        self.count += 1
        return np.full(1, 100 + self.count, np.float32), 5.0, self.count == 3, False, {}


def play(envs, steps, seed=0):
    source = np.random.default_rng(seed)
    return [envs.step(source.uniform(-2, 2, (envs.num_envs, 1)).astype(np.float32)) for _ in range(steps)]


def test_observations_get_mean_0_and_std_1_and_rewards_the_scale_of_their_discounted_sums():
    envs = NormalizedVectorEnv(make("Pendulum-v1", 16), gamma=0.9)
    envs.reset(seed=0)
    play(envs, 600)
    seen = play(envs, 400, seed=1)
    obs = np.concatenate([step[0] for step in seen])
    np.testing.assert_allclose(obs.mean(0), 0.0, atol=0.25)
    np.testing.assert_allclose(obs.std(0), 1.0, atol=0.2)
    raw = np.stack([step[4]["raw_reward"] for step in seen])
    scaled = np.stack([step[1] for step in seen])
    assert scaled.dtype == np.float64
    sums = np.zeros(16)
    spread = []
    for row in raw:
        sums = 0.9 * sums + row
        spread.append(sums.copy())
    np.testing.assert_allclose((raw / scaled).mean(), np.std(spread[50:]), rtol=0.3)


def test_final_observations_are_normalised_like_the_others():
    envs = NormalizedVectorEnv(make(Ramp, 2))
    envs.reset(seed=0)
    for _ in range(30):
        obs, _, terminated, _, infos = envs.step(np.zeros(2, np.int64))
        if terminated.all():
            last = infos["final_obs"][1]
    expected = envs.observation_stats.normalize(np.full((1, 1), 103.0))[0]
    np.testing.assert_allclose(last, expected, atol=0.1)
    assert last > 1 > -1 > obs[0]


def test_evaluation_freezes_the_figures_and_hands_out_raw_rewards():
    envs = NormalizedVectorEnv(make(Ramp, 2))
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(np.zeros(2, np.int64))
    other = NormalizedVectorEnv(make(Ramp, 3)).eval()
    other.load_state_dict({**envs.state_dict(), "reward_scaler": None})
    before = envs.observation_stats.mean.copy()
    obs, _ = other.reset(seed=1)
    np.testing.assert_allclose(obs, envs.observation_stats.normalize(np.full((3, 1), 100.0)))
    assert other.step(np.zeros(3, np.int64))[1].tolist() == [5.0] * 3
    np.testing.assert_array_equal(other.observation_stats.mean, before)
    assert other.observation_stats.count == envs.observation_stats.count


def test_a_restored_normalised_environment_goes_on_bit_for_bit():
    envs = NormalizedVectorEnv(make("Pendulum-v1", 3, max_episode_steps=20))
    envs.reset(seed=0)
    play(envs, 50)
    state = state_of(envs)
    expected = play(envs, 50, seed=1)
    other = NormalizedVectorEnv(make("Pendulum-v1", 3, max_episode_steps=20))
    restore(other, state)
    for mine, theirs in zip(play(other, 50, seed=1), expected, strict=True):
        for a, b in zip(mine[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a, b)


def test_images_and_choices_are_refused():
    with pytest.raises(TypeError, match="cannot be normalised"):
        NormalizedVectorEnv(make("FrozenLake-v1", 2))
    assert NormalizedVectorEnv(make("FrozenLake-v1", 2), observations=False).reset(seed=0)[0].dtype == np.int64


@pytest.mark.parametrize("vectorization", ["auto", "sync"])
def test_one_seed_seeds_the_copies_and_their_action_spaces(vectorization):
    def everything(seed):
        envs = make("Pendulum-v1", 3, vectorization=vectorization)
        obs, _ = reset_and_seed(envs, seed)
        return [obs, envs.action_space.sample(), envs.single_action_space.sample()]

    first, second, other = everything(3), everything(3), everything(4)
    for a, b, c in zip(first, second, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
    with pytest.raises(ValueError, match="non-negative"):
        reset_and_seed(make("Pendulum-v1", 1), -1)
