"""Determinants and their logarithms, with derivatives that singular matrices have too."""

from __future__ import annotations

import math
from typing import Any

from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.matrices import matrix_argument, mt, scalar_of
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor


def _cofactor(xp: Any, a: Any) -> Any:
    """The matrix of cofactors ``det(a) * inv(a).T``, also of a singular matrix, from the singular values."""
    n = a.shape[-1]
    u, s, vh = xp.linalg.svd(a)
    ones = xp.ones_like(s)
    rest = xp.stack([xp.where(xp.arange(n) == i, ones, s).prod(-1) for i in range(n)], -1) if n else s
    sign = xp.linalg.det(u) * xp.linalg.det(vh)
    return sign[..., None, None] * ((u * rest[..., None, :]) @ vh)


def _cofactor_vjp(ns: Any, g: Any, a: Any, out: Any) -> Any:
    raw = ns.array(a)
    if (
        not ns.recorded
        and raw.size
        and bool((abs(ns.det(raw)) <= _NEARLY * abs(raw).max((-2, -1)) ** raw.shape[-1]).any())
    ):
        return ns.second_cofactor(g, a)
    inverse = mt(ns, ns.inv(a))
    scaled = ns.sum(g * inverse, (g.ndim - 2, g.ndim - 1), True) * out
    return scaled - out @ mt(ns, g) @ inverse


_NEARLY = 1e-10  # below this share of the largest a determinant could be, the inverse is not the way to its derivatives


def _second_cofactor(xp: Any, g: Any, a: Any) -> Any:
    """The derivative of ``sum(g * cofactor(a))``, also of singular matrices, from the singular values.

    With ``a = u s vh`` and ``c = u^T g vh^T`` it is ``u d vh``, in which ``d[i, i]`` sums ``c[k, k]`` times the product
    of the singular values other than ``i`` and ``k``, and ``d[i, j]`` is ``-c[j, i]`` times that of those other than
    ``i`` and ``j``.
    """
    n = a.shape[-1]
    u, s, vh = xp.linalg.svd(a)
    rest = xp.ones((*s.shape, n), s.dtype)
    for k in range(n):
        mine = (xp.arange(n)[:, None] != k) & (xp.arange(n)[None, :] != k)
        rest = rest * xp.where(mine, s[..., k, None, None], 1)
    rest = rest * (1 - xp.eye(n, dtype=s.dtype))
    c = xp.swapaxes(u, -1, -2) @ g @ xp.swapaxes(vh, -1, -2)
    diagonal = (rest * xp.diagonal(c, 0, -2, -1)[..., None, :]).sum(-1)
    d = diagonal[..., None] * xp.eye(n, dtype=s.dtype) - xp.swapaxes(c, -1, -2) * rest
    sign = xp.linalg.det(u) * xp.linalg.det(vh)
    return sign[..., None, None] * (u @ d @ vh)


Op("second_cofactor", _second_cofactor, inputs=2)


_det = Op(
    "det",
    lambda xp, a: xp.linalg.det(a),
    (lambda ns, g, a: scalar_of(ns, g) * ns.cofactor(a),),
    node="LinalgDetBackward0",
)


Op("cofactor", _cofactor, (_cofactor_vjp,))


_slogdet = Op(
    "slogdet",
    lambda xp, a: tuple(xp.linalg.slogdet(a)),
    (lambda ns, grads, a: scalar_of(ns, grads[1]) * mt(ns, ns.inv(a)) if 1 in grads else None,),
    multiple=True,
    node="LinalgSlogdetBackward0",
)


@with_out()
def det(A: Tensor) -> Tensor:
    """Determinants ``(*)`` of square matrices ``(*, n, n)``."""
    return apply_one(_det, matrix_argument("det", A, True))


_Slogdet = results("linalg_slogdet", "sign logabsdet")


@with_out()
def slogdet(A: Tensor) -> Any:
    """Sign of the determinant and logarithm of its absolute value."""
    sign, logabsdet = apply(_slogdet, (matrix_argument("slogdet", A, True),))
    return _Slogdet(sign, logabsdet)


def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant; NaN where it is negative."""
    sign, logabsdet = slogdet(matrix_argument("logdet", input, True))
    return where(sign < 0, math.nan, logabsdet)


Tensor.det = det  # type: ignore[attr-defined]
Tensor.slogdet = slogdet  # type: ignore[attr-defined]
Tensor.logdet = logdet  # type: ignore[attr-defined]

__all__ = ["det", "logdet", "slogdet"]
