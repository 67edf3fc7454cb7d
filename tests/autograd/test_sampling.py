"""Random tensors: shapes, dtypes, reproducibility, moments and errors."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import rlgrad


@pytest.mark.parametrize("make", [rlgrad.rand, rlgrad.randn])
def test_size_is_given_as_numbers_a_tuple_or_a_keyword(make):
    assert make(2, 3).shape == make((2, 3)).shape == make([2, 3]).shape == make(size=(2, 3)).shape == (2, 3)
    assert make().shape == ()


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_likes_take_shape_and_dtype_of_their_input(name):
    like = rlgrad.zeros(2, 3, dtype=rlgrad.float64)
    drawn = getattr(rlgrad, name)(like, requires_grad=True)
    assert (drawn.shape, drawn.dtype, drawn.requires_grad) == (like.shape, like.dtype, True)


def test_randint_like_stays_within_its_limits():
    drawn = rlgrad.randint_like(rlgrad.zeros(200), 2, 5)
    assert drawn.dtype is rlgrad.float32
    assert set(drawn.tolist()) == {2.0, 3.0, 4.0}


def test_the_same_seed_draws_the_same():
    def draw():
        rlgrad.manual_seed(3)
        rates = rlgrad.full((4,), 3.0)
        return [
            rlgrad.poisson(rates),
            rlgrad.normal(rates, 2.0),
            rlgrad.randint(0, 9, (4,)),
            rlgrad.bernoulli(rates / 9),
        ]

    assert all(rlgrad.equal(a, b) for a, b in zip(draw(), draw(), strict=True))


def test_poisson_has_its_rate_as_mean_and_variance():
    rlgrad.manual_seed(0)
    drawn = rlgrad.poisson(rlgrad.full((20_000,), 4.0))
    assert abs(drawn.mean().item() - 4) < 0.1
    assert abs(drawn.var().item() - 4) < 0.2


def test_normal_takes_numbers_or_tensors():
    rlgrad.manual_seed(0)
    drawn = rlgrad.normal(rlgrad.full((20_000,), 2.0), 3.0)
    assert abs(drawn.mean().item() - 2) < 0.1
    assert abs(drawn.std().item() - 3) < 0.1
    assert rlgrad.normal(0.0, rlgrad.ones(3)).shape == (3,)
    assert rlgrad.normal(rlgrad.zeros(2, 1), rlgrad.ones(3)).shape == (2, 3)
    assert rlgrad.normal(0.0, 1.0, (2, 2), dtype=rlgrad.float64).dtype is rlgrad.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda: rlgrad.poisson(rlgrad.tensor([-1.0])),
        lambda: rlgrad.normal(rlgrad.zeros(2), -1.0),
        lambda: rlgrad.bernoulli(rlgrad.tensor([1.5])),
        lambda: rlgrad.multinomial(rlgrad.tensor([0.0, 0.0]), 1),
        lambda: rlgrad.randint(3, 3, (2,)),
    ],
)
def test_impossible_parameters_raise(call):
    with pytest.raises(RuntimeError):
        call()


def test_a_program_without_draws_does_not_import_them():
    code = (
        "import sys, rlgrad; print('numpy.random' in sys.modules); rlgrad.rand(1); print('numpy.random' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "True"]


def test_threads_that_draw_first_share_one_stream():
    for _ in range(50):
        generator = rlgrad.Generator()
        with ThreadPoolExecutor(4) as pool:
            drawn = [x.item() for x in pool.map(lambda _, g=generator: rlgrad.rand((), generator=g), range(8))]
        assert len(set(drawn)) == 8


def test_unseeded_generators_differ():
    assert rlgrad.Generator().initial_seed() != rlgrad.Generator().initial_seed()
