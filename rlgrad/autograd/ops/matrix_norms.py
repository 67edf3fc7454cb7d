"""Norms of matrices. ``rlgrad.linalg`` is where users find them."""

from __future__ import annotations

import math
from typing import Any

from rlgrad.autograd.ops.define import many_dims, one_dim, public
from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.linalg import vector_norm
from rlgrad.autograd.ops.matrices import matrix_argument
from rlgrad.autograd.ops.spectra import svdvals
from rlgrad.autograd.tensor import Tensor


@with_out()
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A norm of matrices that lie along two dimensions.

    Args:
        ord: ``"fro"``, ``"nuc"``, ``inf``, ``-inf``, 1, -1, 2 or -2.
    """
    if dtype is not None:
        A = A.to(dtype)
    if A.ndim < 2 or not A.is_floating_point():
        matrix_argument("matrix_norm", A)
    row, column = [one_dim(d, A.ndim) for d in dim]
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((row, column), (-2, -1)))
        if ord == "nuc" or not values.shape[-1]:
            result = values.sum(-1)
        else:
            result = values.amax(-1) if ord == 2 else values.amin(-1)
        return result.unsqueeze(-1).unsqueeze(-1).movedim((-2, -1), (row, column)) if keepdim else result
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (row, column) if abs(ord) == 1 else (column, row)
        sums = A.abs().sum(first, keepdim=keepdim)
        second -= 0 if keepdim or second < first else 1
        if not sums.shape[second]:
            sums = sums.new_zeros([1 if d == second else n for d, n in enumerate(sums.shape)]) + sums.sum()
        return sums.amax(second, keepdim) if ord > 0 else sums.amin(second, keepdim)
    raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")


@with_out()
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector norm, or a matrix norm where ``ord`` is given and two dimensions are meant."""
    if ord is not None:
        if dim is not None and not isinstance(dim, int) and len(dim) == 2:
            return matrix_norm(A, ord, dim, keepdim, dtype=dtype)
        if dim is None and A.ndim == 2:
            return matrix_norm(A, ord, (-2, -1), keepdim, dtype=dtype)
        if isinstance(ord, str) or (dim is None and A.ndim != 1):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
            )
        many_dims(dim, A.ndim)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


__all__ = public(globals())
