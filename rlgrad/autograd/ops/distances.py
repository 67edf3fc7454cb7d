"""Distances between the rows of two matrices."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.linalg import sum_to, vector_norm
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor


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


__all__ = ["cdist"]
