"""Systems of equations with triangular matrices, solved by substitution. ``rlgrad.linalg`` is where users find them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import public
from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.linalg import sum_to
from rlgrad.autograd.ops.matrices import matrix_argument, mt
from rlgrad.autograd.ops.solving import solvable
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor

_BLOCK = 48  # rows, beyond which products of halves are faster than a solver that takes any matrix


@functools.cache
def _blas() -> Any:
    """SciPy's functions of BLAS, of which NumPy offers no substitution; ``None`` without SciPy."""
    try:
        from scipy.linalg import blas
    except ImportError:
        return None
    return blas


def _substitute_by_blas(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """Substitution for each of a batch; BLAS reads columns, to which a triangle stored in rows is its transpose."""
    solve = _blas().strsm if a.dtype.char == "f" else _blas().dtrsm
    out = np.empty_like(b, order="C")
    for place in np.ndindex(b.shape[:-2]):
        matrix, right = a[place], b[place]
        if matrix.flags.f_contiguous:
            out[place] = solve(1.0, matrix, right, lower=not upper, diag=unit)
        else:
            out[place] = solve(1.0, matrix.T, right, lower=upper, trans_a=1, diag=unit)
    return out


def _substitute(xp: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Forward (or back) substitution: by halves in large matrices, by LAPACK in small blocks, row by row if it refuses.

    LAPACK's solver of a general system does back substitution on an upper triangle, for nothing is left to eliminate; a
    lower triangle is one when read backwards.
    """
    n = a.shape[-1]
    if n > _BLOCK:
        half = n // 2
        first, second = slice(0, half), slice(half, n)
        if upper:
            first, second = second, first
        x = _substitute(xp, a[..., first, first], b[..., first, :], upper, unit)
        rest = b[..., second, :] - a[..., second, first] @ x
        y = _substitute(xp, a[..., second, second], rest, upper, unit)
        return xp.concatenate([y, x] if upper else [x, y], -2)
    try:
        triangle = xp.triu(a if upper else a[..., ::-1, ::-1], int(unit))
        if unit:
            triangle = triangle + xp.eye(n, dtype=a.dtype)
        return xp.linalg.solve(triangle, b) if upper else xp.linalg.solve(triangle, b[..., ::-1, :])[..., ::-1, :]
    except np.linalg.LinAlgError:  # a zero on the diagonal, which gives infinities
        pass
    out = xp.array(b)
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = out[..., i, :] - (a[..., i, None, known] @ out[..., known, :])[..., 0, :]
        out[..., i, :] = row if unit else row / a[..., i, i, None]
    return out


def _solve_triangular_forward(xp: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = xp.broadcast_to(b, (*lead, *b.shape[-2:]))
    if xp is np and a.shape[-1] > _BLOCK and b.size and a.dtype.char in "fd" and _blas() is not None:
        return _substitute_by_blas(np.broadcast_to(a, (*lead, *a.shape[-2:])), b, upper, unit)
    return _substitute(xp, a, b, upper, unit)


def _solve_triangular_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, upper: bool, unit: bool) -> Any:
    back = -(ns.solve_triangular(mt(ns, a), g, not upper, unit) @ mt(ns, out))
    triangle = ns.triu(back, int(unit)) if upper else ns.tril(back, -int(unit))
    return sum_to(ns, triangle, a_shape)


_solve_triangular = Op(
    "solve_triangular",
    _solve_triangular_forward,
    (
        _solve_triangular_vjp,
        lambda ns, g, a, b_shape, upper, unit: sum_to(ns, ns.solve_triangular(mt(ns, a), g, not upper, unit), b_shape),
    ),
    node="LinalgSolveTriangularBackward0",
)


@with_out()
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The solution of ``A X = B`` (or ``X A = B``) with a triangle of ``A`` alone.

    Args:
        A: ``(*, n, n)``.
        B: ``(*, n, k)``.
        upper: use the upper triangle, otherwise the lower.
        unitriangular: take the diagonal to be ones.
    """
    matrix_argument("solve_triangular", A, True)
    solvable("solve_triangular", A, B, left)
    if not left:
        transposed = solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular)
        return renamed(transposed.mT, "LinalgSolveTriangularBackward0")
    return apply(_solve_triangular, (A, B), (upper, unitriangular))


__all__ = public(globals())
