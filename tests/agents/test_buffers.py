import numpy as np
import pytest

from rlgrad.agents.buffers import PrioritizedReplay, ReplayBuffer
from rlgrad.agents.sum_tree import SumTree

GAMMA = 0.9


def fill(buffer, steps, seed=0, over=0.25):
    """Adds steps whose observation is a count, so that every row tells where it came from; returns the rows."""
    rng, envs = np.random.default_rng(seed), buffer.num_envs
    history = []
    for step in range(steps):
        obs = 1000.0 * np.arange(envs)[:, None] + step
        terminated, truncated = rng.random(envs) < over, rng.random(envs) < over
        row = (obs, rng.integers(5, size=envs), rng.standard_normal(envs), obs + 0.5, terminated, truncated)
        buffer.add(*row)
        history.append(row)
    return history


def make(kind=ReplayBuffer, capacity=60, num_envs=3, **options):
    return kind(capacity, num_envs, (1,), np.float32, (), np.int64, gamma=GAMMA, **options)


@pytest.mark.parametrize("kind", [ReplayBuffer, PrioritizedReplay])
@pytest.mark.parametrize("n_steps", [1, 3, 7])
@pytest.mark.parametrize("steps", [5, 20, 33])
def test_returns_over_several_steps_equal_brute_force(kind, n_steps, steps):
    buffer = make(kind, n_steps=n_steps)
    history = fill(buffer, steps)
    batch = buffer.sample(400, np.random.default_rng(1))
    assert len(np.unique(batch.index)) == buffer.size
    for i in range(400):
        env, start = divmod(int(batch.obs[i, 0]), 1000)
        assert steps - start <= 20
        total, discount = 0.0, 1.0
        for step in range(start, min(start + n_steps, steps)):
            _, _, rewards, next_obs, terminated, truncated = history[step]
            total += discount * rewards[env]
            discount *= GAMMA
            if terminated[env] or truncated[env]:
                break
        assert batch.actions[i] == history[start][1][env]
        assert batch.rewards[i] == pytest.approx(total, abs=1e-5)
        assert batch.next_obs[i, 0] == np.float32(next_obs[env, 0])
        assert batch.discounts[i] == pytest.approx(0.0 if terminated[env] else discount, abs=1e-6)


def test_many_batches_are_the_uniform_draws_of_one_stream():
    buffer = make()
    fill(buffer, 20)
    counts = np.zeros(60)
    for batch in buffer.batches(200, 60, np.random.default_rng(0)):
        assert len(batch.rewards) == len(batch.obs) == 60
        np.testing.assert_array_equal(batch.obs, buffer.gather(batch.index).obs)
        counts += np.bincount(batch.index, minlength=60)
    assert counts.sum() == 12_000
    # Pearson's statistic has 59 degrees of freedom: above 110 with probability 6e-5.
    assert ((counts - 200) ** 2 / 200).sum() < 110


def test_images_stay_bytes():
    buffer = ReplayBuffer(10, 2, (4, 4), np.uint8, (1,), np.float32)
    over = np.zeros(2, bool)
    images = np.full((2, 4, 4), 200, np.uint8)
    buffer.add(images, np.zeros((2, 1)), np.zeros(2), images + 1, over, over)
    batch = next(iter(buffer.batches(3, 5, np.random.default_rng(0))))
    assert batch.obs.dtype == batch.next_obs.dtype == buffer.state_dict()["obs"].dtype == np.uint8
    assert (batch.obs == 200).all()
    assert (batch.next_obs == 201).all()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 5000])
def test_the_sum_tree_draws_what_the_cumulative_sum_says(size):
    rng = np.random.default_rng(0)
    tree, plain = SumTree(size), np.zeros(size)
    for _ in range(5):
        index = rng.integers(size, size=200)
        values = rng.random(200) * (rng.random(200) < 0.7) + 1e-9
        tree.update(index, values)
        for i, value in zip(index, values, strict=True):
            plain[i] = value
        np.testing.assert_array_equal(tree.priorities, plain)
        assert tree.total == pytest.approx(plain.sum())
        # The same shares of the total, looked up in the cumulative sum.
        state = rng.bit_generator.state
        drawn = tree.sample(300, rng)
        rng.bit_generator.state = state
        mass = (np.arange(300) + rng.random(300)) * plain.sum() / 300
        expected = np.searchsorted(plain.cumsum(), mass, side="right")
        assert (drawn == expected).mean() > 0.99
        assert (plain[drawn] > 0).all()


def test_nothing_of_priority_zero_is_drawn_where_rounding_could():
    tree = SumTree(200)
    tree.update(np.arange(0, 130), np.full(130, 0.1))
    assert tree.sample(100_000, np.random.default_rng(0)).max() < 130
    with pytest.raises(ValueError, match="All priorities are 0"):
        SumTree(3).sample(1, np.random.default_rng(0))


def test_priorities_and_weights_equal_their_formulas():
    alpha, beta, epsilon = 0.7, 0.5, 1e-6
    buffer = make(PrioritizedReplay, alpha=alpha, beta=beta, epsilon=epsilon)
    fill(buffer, 10)
    generator = np.random.default_rng(0)
    assert (buffer.sample(5, generator).weights == 1).all()
    errors = np.random.default_rng(1).standard_normal(30) * 4
    buffer.update_priorities(np.arange(30), errors)
    fill(buffer, 2, seed=3)
    p = np.zeros(36)
    p[:30] = np.abs(errors) + epsilon
    p[30:] = p[:30].max()
    probability = p**alpha / (p**alpha).sum()
    batch = buffer.sample(8000, generator)
    counts = np.bincount(batch.index, minlength=36)
    # Stratified draws: the count of an entry is within 2 of its expectation.
    np.testing.assert_allclose(counts, 8000 * probability, atol=2.01)
    weights = (36 * probability[batch.index]) ** -beta
    np.testing.assert_allclose(batch.weights, weights / weights.max(), rtol=1e-5)


@pytest.mark.parametrize("kind", [ReplayBuffer, PrioritizedReplay])
@pytest.mark.parametrize("steps", [7, 33])
def test_a_restored_buffer_goes_on_bit_for_bit(kind, steps):
    first = make(kind, n_steps=3)
    fill(first, steps)
    if kind is PrioritizedReplay:
        first.sample(4, np.random.default_rng(0))
        first.update_priorities(np.arange(10), np.linspace(-3, 3, 10))
    state = first.state_dict()
    second = make(kind, n_steps=3)
    fill(second, 40, seed=9)
    second.load_state_dict(state)
    for buffer in (first, second):
        fill(buffer, 4, seed=5)
    a, b = (buffer.sample(50, np.random.default_rng(2)) for buffer in (first, second))
    for name in ("obs", "actions", "rewards", "next_obs", "discounts", "index"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert first.metrics() == second.metrics()
    if kind is PrioritizedReplay:
        np.testing.assert_array_equal(a.weights, b.weights)
    assert state["position"] == 3 * steps % 60  # what was saved is a copy


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no room for one step of 3 copies"):
        make(capacity=2)
    with pytest.raises(ValueError, match="n_steps must be at least 1"):
        make(n_steps=0)
    small, large = make(capacity=30), make(capacity=60)
    fill(large, 20)
    with pytest.raises(ValueError, match="does not fit a buffer of"):
        small.load_state_dict(large.state_dict())
