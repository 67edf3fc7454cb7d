"""Products with matrices most of whose elements are zero, as interpolation and means of windows make them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SPAN = 64  # elements of the input that one block of rows should reach over: a block is a product BLAS is good at
_FEW = 4  # where only one in so many elements has a weight, or fewer, these are taken out first
_BLOCK_COST = 2e5  # multiplications for which another block's call would have time


class Bands:
    """A constant matrix ``(out, size)`` whose elements lie in a band around its diagonal, multiplied in blocks of rows.

    A dense product would cost ``size`` multiplications for each element of the result, of which all but a few are with
    zero; a block costs as many as its rows reach over.

    Attributes:
        matrix: the elements, in double precision.

    Example:
        >>> import numpy as np
        >>> halves = Bands(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
        >>> halves.along(np, np.array([1.0, 3.0, 5.0]), 0)
        array([2., 4.])
    """

    __slots__ = ("_few", "_typed", "matrix")

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self._typed: dict[Any, list[tuple[slice, slice, Any]]] = {}
        used = np.flatnonzero(matrix.any(0))
        few = 0 < _FEW * used.size <= matrix.shape[1]
        self._few = (used, Bands(np.ascontiguousarray(matrix[:, used]))) if few else None

    def _blocks(self, xp: Any, dtype: Any, vectors: int) -> list[tuple[slice, slice, Any]]:
        """Rows, columns and elements of each block, or of the one that is the whole matrix where that costs less."""
        out, size = self.matrix.shape
        height = max(8, min(64, math.ceil(_SPAN * out / size)))
        whole = vectors * out * max(size - 2 * _SPAN, 0) < -(-out // height) * _BLOCK_COST
        key = xp.__name__, dtype, whole
        found = self._typed.get(key)
        if found is None:
            found = self._typed[key] = []
            for start in range(0, out, out if whole else height):
                rows = slice(start, out if whole else min(start + height, out))
                used = np.flatnonzero(self.matrix[rows].any(0))
                low, high = (int(used[0]), int(used[-1]) + 1) if used.size and not whole else (0, size)
                columns = slice(low, high)
                found.append((rows, columns, xp.asarray(self.matrix[rows, columns], dtype)))
        return found

    def along(self, xp: Any, a: Any, dim: int) -> Any:
        """Multiply every vector along ``dim``: its extent becomes ``out``."""
        if self._few is not None:
            used, bands = self._few
            return bands.along(xp, a.take(xp.asarray(used), dim), dim)
        out = xp.empty((*a.shape[:dim], self.matrix.shape[0], *a.shape[dim + 1 :]), a.dtype)
        vectors, results = _columns(a, dim), _columns(out, dim)
        for rows, columns, part in self._blocks(xp, a.dtype, len(vectors) * vectors.shape[2]):
            xp.matmul(part, vectors[:, columns], out=results[:, rows])
        return out

    def back(self, xp: Any, g: Any, dim: int) -> Any:
        """The adjoint: multiply by the transposed matrix, which makes the extent ``size`` again."""
        out = xp.zeros((*g.shape[:dim], self.matrix.shape[1], *g.shape[dim + 1 :]), g.dtype)
        if self._few is not None:
            used, bands = self._few
            out[(*(slice(None),) * dim, xp.asarray(used))] = bands.back(xp, g, dim)
            return out
        vectors, results = _columns(g, dim), _columns(out, dim)
        for rows, columns, part in self._blocks(xp, g.dtype, len(vectors) * vectors.shape[2]):
            reached = results[:, columns]
            reached += xp.matmul(part.T, vectors[:, rows], out=xp.empty_like(reached))
        return out


def _columns(a: Any, dim: int) -> Any:
    """Matrices ``(*, extent of dim, vectors)`` whose columns are the vectors along ``dim``, in the array's own memory."""
    lead, rest = math.prod(a.shape[:dim]), math.prod(a.shape[dim + 1 :])
    if dim == a.ndim - 1:
        return a.reshape(1, lead, a.shape[dim]).swapaxes(1, 2)
    return a.reshape(lead, a.shape[dim], rest)
