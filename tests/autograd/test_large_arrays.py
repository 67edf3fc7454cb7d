"""Ways of computing that only large arrays take, as samples are small: values and gradients are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops import distances, triangular

torch = pytest.importorskip("torch")


def agree(function: Callable[[Any], Callable[..., Any]], *arrays: np.ndarray, second: bool = False) -> None:
    """Compare values and gradients; with ``second`` also the gradients that are recorded for a second derivative."""
    found = []
    for library in (rlgrad, torch):
        leaves = [library.from_numpy(a.copy()).requires_grad_() for a in arrays]
        out = function(library)(*leaves)
        seed = library.from_numpy(np.random.default_rng(1).standard_normal(tuple(out.shape)))
        gradients = library.autograd.grad(out, leaves, seed, retain_graph=True)
        found.append([out, *gradients])
        if second and library is rlgrad:
            recorded = rlgrad.autograd.grad(out, leaves, seed, create_graph=True)
            for plain, other in zip(gradients, recorded, strict=True):
                np.testing.assert_allclose(other.detach().numpy(), plain.numpy(), rtol=1e-9, atol=1e-9)
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_distances_of_a_few_rows_at_a_time(monkeypatch, p):
    monkeypatch.setattr(distances, "_BLOCK", 100)
    x = np.random.default_rng(0).standard_normal((13, 3))
    agree(lambda library: lambda a: library.pdist(a, p), x, second=True)
    with_ties = np.round(x)
    with_ties[4] = with_ties[2]
    agree(lambda library: lambda a: library.pdist(a, p), with_ties, second=True)
    x[0, 1] = math.inf
    agree(lambda library: lambda a: library.pdist(a, p), x)


@pytest.mark.parametrize(
    ("shape", "kernel"), [((2, 3, 23, 31), (5, 6)), ((2, 3, 20, 9), (20, 9)), ((2, 1, 1, 40), (1, 20))]
)
def test_means_of_large_windows(shape, kernel):
    agree(
        lambda library: lambda a: library.nn.functional.avg_pool2d(a, kernel),
        np.random.default_rng(0).normal(size=shape),
        second=True,
    )


@pytest.mark.parametrize("scipy", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_triangles_of_many_rows(monkeypatch, upper, unit, scipy):
    if not scipy:
        monkeypatch.setattr(triangular, "_blas", lambda: None)
    rng = np.random.default_rng(0)
    a, b = np.eye(60) + 0.05 * rng.standard_normal((2, 1, 60, 60)), rng.standard_normal((3, 60, 2))
    agree(lambda t: lambda a, b: t.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit), a, b, second=True)
    agree(lambda t: lambda a, b: t.linalg.solve_triangular(a.mT, b, upper=upper, unitriangular=unit), a, b)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("ties", [False, True])
def test_order_statistics_without_sorting(dim, ties):
    rows = np.random.default_rng(0).standard_normal((70, 90)).astype(np.float32)
    rows = np.round(rows) if ties else rows
    for holes in (False, True):
        if holes:
            rows[5, 7] = np.nan
        mine, theirs = rlgrad.from_numpy(rows), torch.from_numpy(rows)
        for name, *arguments in (
            ("median",),
            ("nanmedian",),
            ("median", dim),
            ("nanmedian", dim),
            ("kthvalue", 9, dim),
        ):
            found, expected = getattr(mine, name)(*arguments), getattr(theirs, name)(*arguments)
            if arguments:
                np.testing.assert_array_equal(found.values.numpy(), expected.values.numpy())
                again = np.take_along_axis(rows, np.expand_dims(found.indices.numpy(), dim), dim).squeeze(dim)
                np.testing.assert_array_equal(again, found.values.numpy())
            else:
                np.testing.assert_array_equal(found.numpy(), expected.numpy())
    order = np.argsort(rows, dim, kind="stable")
    np.testing.assert_array_equal(mine.kthvalue(9, dim).indices.numpy(), order.take(8, dim))


def test_parts_of_an_unsafe_split_share_memory_and_no_versions():
    outcomes = []
    for library in (rlgrad, torch):
        leaf = library.ones(6, requires_grad=True)
        whole = leaf * 1
        first, second = library.unsafe_chunk(whole, 2)
        first.mul_(3)
        (first.sum() + 2 * second.sum()).backward()
        outcomes.append((whole.tolist(), whole._version, first._version, first._is_view(), leaf.grad.tolist()))
    assert outcomes[0] == outcomes[1]
