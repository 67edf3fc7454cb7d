"""Pools of small arrays go through a table of their windows, larger ones do not: both must do as PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops import small_pools

torch = pytest.importorskip("torch")

CASES = [
    ("max_pool1d", (2, 3, 11), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("max_pool2d", (2, 2, 6, 7), {"kernel_size": 2}),
    ("max_pool2d", (1, 2, 7, 5), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ("max_pool2d", (2, 7, 7), {"kernel_size": 2, "dilation": 2}),
    ("max_pool3d", (1, 2, 4, 5, 4), {"kernel_size": 2, "stride": 1}),
    ("adaptive_max_pool2d", (2, 2, 7, 5), {"output_size": (3, 4)}),
    ("adaptive_max_pool1d", (2, 2, 7), {"output_size": 7}),
    ("avg_pool1d", (2, 2, 9), {"kernel_size": 3, "stride": 1}),
    ("avg_pool2d", (2, 2, 7, 6), {"kernel_size": 2}),
    ("avg_pool2d", (2, 2, 7, 6), {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    ("avg_pool2d", (2, 2, 11, 10), {"kernel_size": 5}),
    ("adaptive_avg_pool2d", (2, 2, 8, 9), {"output_size": 1}),
    ("avg_pool3d", (1, 2, 4, 4, 5), {"kernel_size": 2, "ceil_mode": True}),
    ("adaptive_avg_pool2d", (2, 2, 6, 8), {"output_size": (3, 2)}),
]


def _run(library, name, array, options):
    x = library.from_numpy(array.copy()).requires_grad_()
    extra = {"return_indices": True} if "max" in name else {}
    found = getattr(library.nn.functional, name)(x, **options, **extra)
    found = found if isinstance(found, tuple) else (found,)
    (found[0] * found[0]).sum().backward()
    return [y.detach().numpy() for y in found] + [x.grad.numpy()]


@pytest.mark.parametrize("limit", [0, 2048])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_pools_of_every_size_agree_with_torch(case, limit, monkeypatch):
    monkeypatch.setattr(small_pools, "LIMIT", limit)
    name, shape, options = CASES[case]
    array = np.random.default_rng(case).integers(-3, 4, shape).astype(np.float32)  # with ties
    for ours, theirs in zip(_run(rlgrad, name, array, options), _run(torch, name, array, options), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("limit", [0, 2048])
@pytest.mark.parametrize("name", ["max_pool2d", "adaptive_max_pool2d"])
def test_a_maximum_that_is_not_a_number(name, limit, monkeypatch):
    monkeypatch.setattr(small_pools, "LIMIT", limit)
    array = np.random.default_rng(0).standard_normal((1, 2, 4, 4)).astype(np.float32)
    array[0, 0, 1, 1] = np.nan
    function = getattr(rlgrad.nn.functional, name)
    values = function(rlgrad.from_numpy(array), 2).numpy()
    expected = getattr(torch.nn.functional, name)(torch.from_numpy(array), 2).numpy()
    np.testing.assert_array_equal(values, expected)
