"""Samplers give the indices that they promise, from generators of their own."""

import numpy as np
import pytest

import rlgrad
from rlgrad.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

torch = pytest.importorskip("torch")


def generator(seed=0):
    return rlgrad.Generator().manual_seed(seed)


def test_first_to_last():
    assert list(SequentialSampler("abc")) == [0, 1, 2]


@pytest.mark.parametrize("wanted", [None, 3, 10, 23])
def test_a_shuffle_has_every_index_once_in_each_round(wanted):
    sampler = RandomSampler(range(10), num_samples=wanted, generator=generator())
    seen = list(sampler)
    assert len(seen) == len(sampler) == (wanted or 10)
    for start in range(0, len(seen) - 9, 10):
        assert sorted(seen[start : start + 10]) == list(range(10))
    assert len(set(seen[-(len(seen) % 10) :])) == (len(seen) % 10 or 10)
    assert list(sampler) != seen, "the next pass has another order"


def test_draws_with_replacement_are_uniform():
    seen = list(RandomSampler(range(5), replacement=True, num_samples=20000, generator=generator()))
    np.testing.assert_allclose(np.bincount(seen) / 20000, 0.2, atol=0.015)


def test_some_indices_shuffled():
    sampler = SubsetRandomSampler([7, 3, 5], generator=generator())
    orders = {tuple(sampler) for _ in range(60)}
    assert len(orders) == 6
    assert all(sorted(order) == [3, 5, 7] for order in orders)


def test_weights_are_the_odds():
    weights = [1.0, 0.0, 3.0]
    seen = list(WeightedRandomSampler(weights, 20000, generator=generator()))
    np.testing.assert_allclose(np.bincount(seen, minlength=3) / 20000, [0.25, 0, 0.75], atol=0.015)
    firsts = [list(WeightedRandomSampler(weights, 2, False, generator(seed))) for seed in range(2000)]
    assert all(sorted(pair) == [0, 2] for pair in firsts)
    assert np.mean([pair[0] == 2 for pair in firsts]) == pytest.approx(0.75, abs=0.04)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 3, 10, 11])
def test_batches_are_torchs(size, drop_last):
    for source in (SequentialSampler(range(10)), range(10)):
        mine = BatchSampler(source, size, drop_last)
        other = torch.utils.data.BatchSampler(range(10), size, drop_last)
        assert list(mine) == list(other)
        assert len(mine) == len(other)


def test_generators_are_owned():
    def order(disturb):
        rlgrad.manual_seed(5)
        sampler = RandomSampler(range(20))
        if disturb:
            rlgrad.rand(100)
        return list(sampler)

    assert order(disturb=True) == order(disturb=False)
    assert list(RandomSampler(range(20), generator=generator(1))) == list(
        RandomSampler(range(20), generator=generator(1))
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: RandomSampler(range(3), num_samples=0),
        lambda: RandomSampler(range(3), num_samples=1.5),
        lambda: WeightedRandomSampler([1.0, 2.0], 0),
        lambda: WeightedRandomSampler([1.0, -2.0], 1),
        lambda: WeightedRandomSampler([[1.0]], 1),
        lambda: WeightedRandomSampler([0.0, 0.0], 1),
        lambda: WeightedRandomSampler([1.0, 0.0], 2, replacement=False),
        lambda: BatchSampler(range(3), 0, False),
        lambda: BatchSampler(range(3), True, False),
        lambda: BatchSampler(range(3), 2, 1),
    ],
)
def test_mistakes_are_refused(build):
    with pytest.raises(ValueError):  # noqa: PT011 - each names its argument
        build()
