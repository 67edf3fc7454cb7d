"""Distances between the rows of two matrices, or of one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rlgrad.autograd.ops.linalg import norm_forward, sum_to, vector_norm
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import module_of

_BLOCK = 1 << 15  # differences of coordinates at a time: they should stay in the cache
_GPU_BLOCK = 1 << 24


def _euclidean_forward(xp: Any, a: Any, b: Any) -> Any:
    squares = xp.matmul(a * -2, xp.swapaxes(b, -1, -2))
    squares += (a * a).sum(-1)[..., :, None]
    squares += (b * b).sum(-1)[..., None, :]
    return xp.sqrt(xp.maximum(squares, 0))


def _pulls(ns: Any, g: Any, out: Any) -> Any:
    """The gradient of each distance over the distance; nothing where two rows are one."""
    zero = out == 0
    return ns.where(zero, ns.zeros_like(out), g / ns.where(zero, ns.zeros_like(out) + 1, out))


def _euclidean_first(ns: Any, g: Any, a: Any, b: Any, out: Any, a_shape: Any) -> Any:
    pulls = _pulls(ns, g, out)
    return sum_to(ns, a * ns.sum(pulls, (pulls.ndim - 1,), True) - ns.bmm(pulls, b), a_shape)


def _euclidean_second(ns: Any, g: Any, a: Any, b: Any, out: Any, b_shape: Any) -> Any:
    pulls = ns.transpose(_pulls(ns, g, out), g.ndim - 2, g.ndim - 1)
    return sum_to(ns, b * ns.sum(pulls, (pulls.ndim - 1,), True) - ns.bmm(pulls, a), b_shape)


_euclidean = Op("euclidean", _euclidean_forward, (_euclidean_first, _euclidean_second), node="ViewBackward0")


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The ``p``-distances between all rows of ``x1 (*, n, d)`` and of ``x2 (*, m, d)``, as ``(*, n, m)``.

    Args:
        compute_mode: whether Euclidean distances come from inner products, which is fast but exact to the square root of
            the precision only: ``"use_mm_for_euclid_dist"``, ``"donot_use_mm_for_euclid_dist"`` or, for more than 25 rows,
            ``"use_mm_for_euclid_dist_if_necessary"`` (also ``None``).
    """
    for position, x in ((1, x1), (2, x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{position} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    rows = max(x1.shape[-2], x2.shape[-2])
    by_products = (
        p == 2
        and x1.numel()
        and x2.numel()
        and (
            compute_mode == "use_mm_for_euclid_dist"
            or (rows > 25 and compute_mode in (None, "use_mm_for_euclid_dist_if_necessary"))
        )
    )
    if by_products and x1.dtype == x2.dtype:
        return apply(_euclidean, (x1, x2))
    return renamed(vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1), "CdistBackward0")


def _row_blocks(xp: Any, count: int, features: int) -> Iterator[tuple[slice, slice, Any, slice]]:
    """All pairs of ``count`` rows, the first of a pair above the second, a few first rows at a time.

    Yields:
        The first rows, the rows below the first of them, which of those lie below each ``(first rows, rows below)``,
        and where the distances of these pairs stand among all.
    """
    height = max(1, (_BLOCK if xp is np else _GPU_BLOCK) // max(count * features, 1))
    done = 0
    for start in range(0, count - 1, height):
        stop = min(start + height, count - 1)
        below = xp.arange(stop - start)[:, None] <= xp.arange(count - 1 - start)
        pairs = (stop - start) * (2 * count - 1 - start - stop) // 2
        yield slice(start, stop), slice(start + 1, count), below, slice(done, done + pairs)
        done += pairs


def _pdist_forward(xp: Any, a: Any, p: float) -> Any:
    count, features = a.shape
    out = xp.zeros(count * (count - 1) // 2, a.dtype)
    if features:
        columns = xp.ascontiguousarray(a.T)
        for first, second, below, pairs in _row_blocks(xp, count, features):
            difference = columns[:, first, None] - columns[:, None, second]
            out[pairs] = norm_forward(xp, difference, p, (0,), False)[below]
    return out


def _distance_slope(ns: Any, g: Any, difference: Any, out: Any, p: float) -> Any:
    """The gradient of distances ``out`` with respect to the differences that they are norms of; zero at zero."""
    if p == 2:
        return difference * _pulls(ns, g, out)
    if p == 1:
        return g * ns.where(difference == difference, ns.sign(difference), difference)
    if p == math.inf:  # all that have the norm's magnitude share in it in full, and what is not a number stays that
        return g * ns.sign(difference) * (1 - ns.minimum(ns.ceil(ns.abs(ns.abs(difference) - out)), 1.0))
    ones, zero, same = ns.zeros_like(out) + 1, out == 0, difference == 0
    share = ns.where(same, ns.zeros_like(difference) + 1, ns.abs(difference)) / ns.where(zero, ones, out)
    return ns.where(zero, ns.zeros_like(g), g) * ns.sign(difference) * share ** (p - 1)


def _pdist_vjp(ns: Any, g: Any, a: Any, out: Any, p: float) -> Any:
    count, features = a.shape
    if p == 0 or not features or count < 2:
        return ns.zeros_like(a)
    if ns.recorded:
        first, second = module_of(ns.array(a)).triu_indices(count, 1)
        difference = ns.take_axis(a, first, 0) - ns.take_axis(a, second, 0)
        slope = _distance_slope(ns, ns.reshape(g, (-1, 1)), difference, ns.reshape(out, (-1, 1)), p)
        return ns.add_axis(slope, first, count, 0) - ns.add_axis(slope, second, count, 0)
    xp = ns.xp
    columns = xp.ascontiguousarray(a.T)
    total = xp.zeros_like(columns)
    for first, second, below, pairs in _row_blocks(xp, count, features):
        difference = columns[:, first, None] - columns[:, None, second]
        height = below.shape[0]
        xp.copyto(difference[:, :, :height], xp.asarray(0, a.dtype), where=~below[:, :height])  # infinities too
        pull, distance = xp.zeros(below.shape, a.dtype), xp.ones(below.shape, a.dtype)
        pull[below], distance[below] = g[pairs], out[pairs]
        slope = _distance_slope(ns, pull, difference, distance, p)
        total[:, first] += ns.sum(slope, (2,), False)
        total[:, second] -= ns.sum(slope, (1,), False)
    return xp.ascontiguousarray(total.T)


_pdist = Op("pdist", _pdist_forward, (_pdist_vjp,))


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The ``p``-norm distances of every pair of rows of ``input (rows, features)``, as ``(rows * (rows - 1) / 2,)``.

    Raises:
        RuntimeError: ``input`` is no matrix of floating point numbers, or ``p`` is negative.
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {input.dtype!r}")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input._array.dtype.itemsize < 4:  # squares of halves overflow
        return pdist(input.float(), p).to(input.dtype)
    return apply(_pdist, (input,), (float(p),))


__all__ = ["cdist", "pdist"]
