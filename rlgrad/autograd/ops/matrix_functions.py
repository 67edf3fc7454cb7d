"""The matrix exponential, condition numbers, and what treats tensors as matrices. ``rlgrad.linalg`` offers them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import one_dim, public
from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.matrices import LinAlgError, matrix_argument, mt
from rlgrad.autograd.ops.matrix_norms import matrix_norm
from rlgrad.autograd.ops.products import vdot
from rlgrad.autograd.ops.solving import inv, solve
from rlgrad.autograd.ops.spectra import svdvals
from rlgrad.autograd.ops.strided import diagonal as diagonal_of
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip


_Dual = tuple[Any, Any]  # matrices, and their derivatives in one direction, which may be None


def _times(x: _Dual, y: _Dual) -> _Dual:
    return x[0] @ y[0], None if x[1] is None else x[0] @ y[1] + x[1] @ y[0]


def _sum(terms: Sequence[tuple[float, _Dual]]) -> _Dual:
    """A linear combination."""
    total: Any = 0
    slope: Any = 0
    for factor, (x, change) in terms:
        total = total + factor * x
        slope = None if change is None else slope + factor * change
    return total, slope


def _exponential(xp: Any, a: Any, change: Any = None) -> _Dual:
    """The exponentials of matrices, and their derivatives in the direction ``change``.

    Scaling and squaring with the Pade approximant of degree 13 (Higham 2005, algorithm 2.3), every product of which is
    differentiated (Al-Mohy and Higham 2009, section 4).
    """
    wide = a.astype(np.float64)
    norm = abs(wide).sum(-2).max(-1)
    norm = xp.where(xp.isfinite(norm), norm, 1)  # what is not finite makes the result NaN in any case
    steps = xp.maximum(xp.ceil(xp.log2(xp.maximum(norm, 1e-300) / 5.37)), 0)
    scale = (2.0**steps)[..., None, None]
    x = (wide / scale, None if change is None else change.astype(np.float64) / scale)
    one = (xp.eye(a.shape[-1]), None if change is None else 0)
    x2 = _times(x, x)
    x4 = _times(x2, x2)
    x6 = _times(x4, x2)
    b = [float(c) for c in _PADE]
    powers = (x6, x4, x2)
    odd, even = (
        _sum([(1.0, _times(x6, _sum([*zip(high, powers, strict=True)]))), *zip(low, (*powers, one), strict=True)])
        for high, low in ((b[13:8:-2], b[7::-2]), (b[12:7:-2], b[6::-2]))
    )
    odd = _times(x, odd)
    below, above = _sum([(1.0, even), (-1.0, odd)]), _sum([(1.0, even), (1.0, odd)])
    result = xp.linalg.solve(below[0], above[0])
    slope = None if change is None else xp.linalg.solve(below[0], above[1] - below[1] @ result)
    for step in range(int(steps.max())):
        going_on = (steps > step)[..., None, None]
        squared, changed = _times((result, slope), (result, slope))
        result = xp.where(going_on, squared, result)
        slope = None if change is None else xp.where(going_on, changed, slope)
    return result, slope


def _matrix_exp_forward(xp: Any, a: Any) -> Any:
    return _exponential(xp, a)[0].astype(a.dtype) if a.size else a.copy()


def _matrix_exp_slope(xp: Any, g: Any, a: Any) -> Any:
    """The derivative of the exponential in the direction ``g``."""
    return _exponential(xp, a, g)[1].astype(a.dtype) if a.size else g.copy()


def _matrix_exp_curvature(ns: Any, grad: Any, wants: Any, g: Any, a: Any, a_shape: Any) -> tuple[Any, Any]:
    """By ``[[a, g], [0, a]]``, in whose exponential the slope is the upper right block (Higham 2008, theorem 3.6)."""
    n, last = a_shape[-1], len(a_shape) - 1
    zero = ns.zeros_like(a)

    def square(blocks: Sequence[Sequence[Any]]) -> Any:
        return ns.cat([ns.cat(row, last, (n, n)) for row in blocks], last - 1, (n, n))

    def part(i: int, j: int) -> Any:
        return ns.narrow(ns.narrow(whole, last - 1, i * n, n), last, j * n, n)

    whole = ns.matrix_exp_slope(square([[zero, grad], [zero, zero]]), mt(ns, square([[a, g], [zero, a]])))
    return part(0, 1), part(0, 0) + part(1, 1)


Op("matrix_exp_slope", _matrix_exp_slope, _matrix_exp_curvature, inputs=2)
_matrix_exp = Op(
    "matrix_exp",
    _matrix_exp_forward,
    (lambda ns, g, a: ns.matrix_exp_slope(g, mt(ns, a)),),
    node="LinalgMatrixExpBackward0",
)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices ``(*, n, n)``."""
    if A.is_floating_point() and A.element_size() < 4:
        return matrix_exp(A.float()).to(A.dtype)
    return apply_one(_matrix_exp, matrix_argument("matrix_exp", A, True))


Tensor.matrix_exp = matrix_exp  # type: ignore[attr-defined]


@with_out(cast=True)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of matrices: the norm times that of the inverse, infinite for singular ones.

    Args:
        p: as for :func:`matrix_norm`; ``None`` and 2 are the ratio of the largest to the smallest singular value, -2
            its inverse.
    """
    matrix_argument("cond", A)
    if not A.numel():
        return A.new_zeros(A.shape[:-2])
    if p is None or p in (2, -2):
        values = svdvals(A)
        largest, smallest = values.select(-1, 0), values.select(-1, values.shape[-1] - 1)
        ratio = smallest / largest if p == -2 else largest / smallest
        return ratio if p == -2 else renamed(ratio, "SqueezeBackward1")
    if p not in ("fro", "nuc", math.inf, -math.inf, 1, -1):
        raise RuntimeError(f"linalg.cond: got an invalid norm type: {p}")
    matrix_argument("cond", A, True)
    try:
        return matrix_norm(A, p) * matrix_norm(inv(A), p)
    except LinAlgError:
        xp = module_of(A._array)
        singular = xp.linalg.matrix_rank(A._array) < A.shape[-1]
        safe = wrap(xp.where(singular[..., None, None], xp.eye(A.shape[-1], dtype=A._array.dtype), A._array))
        found = matrix_norm(safe, p) * matrix_norm(inv(safe), p)
        return wrap(xp.asarray(xp.where(singular, math.inf, found._array)).astype(A._array.dtype))


@with_out()
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products of vectors along ``dim``, with broadcasting."""
    if not x.is_floating_point() or not y.is_floating_point():
        raise RuntimeError(f"linalg.vecdot: expected floating point tensors, got {x.dtype!r} and {y.dtype!r}")
    return vdot(x, y) if x.ndim == y.ndim == 1 and x.shape == y.shape else (x * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices that lie along the last two dimensions."""
    return diagonal_of(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers ``x ** 0`` to ``x ** (N - 1)`` of each element along a new last dimension."""
    count = N if N is not None else x.shape[-1] if x.ndim else 1
    if N is not None and N <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {N}")
    base = (x if x.is_floating_point() else x.to(dtypes.int64)).reshape(x.shape or (1,))
    steps = base.unsqueeze(-1).expand(*base.shape, max(count - 1, 0))
    ones = base.new_ones((*base.shape, 1))
    from rlgrad.autograd.ops.joining import cat

    return cat([ones, steps.cumprod(-1)], -1)


@with_out(cast=True)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse for :func:`tensordot`: ``tensordot(tensorinv(A, ind), B, ind)`` solves ``tensordot(A, X, ...) = B``.

    Args:
        ind: the first ``ind`` extents of ``A`` must multiply to as much as the others.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(columns)} != {math.prod(rows)}"
        )
    return renamed(inv(A.reshape(math.prod(rows), math.prod(rows))).reshape(*columns, *rows), "ReshapeAliasBackward0")


@with_out(cast=True)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The ``X`` with ``tensordot(A, X, X.ndim) = B``.

    Args:
        dims: dimensions of ``A`` to move to its end first.
    """
    if dims is not None:
        ends = [one_dim(d, A.ndim) for d in dims]
        A = A.permute(*[d for d in range(A.ndim) if d not in ends], *ends)
    shape = tuple(A.shape[B.ndim :])
    if math.prod(shape) != B.numel():
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {math.prod(shape)} != {B.numel()}"
        )
    return solve(A.reshape(B.numel(), B.numel()), B.reshape(-1)).reshape(shape)


__all__ = public(globals())
