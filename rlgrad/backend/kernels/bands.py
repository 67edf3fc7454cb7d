"""Products with matrices most of whose elements are zero, as interpolation and means of windows make them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SPAN = 64  # elements of the input that one block of rows should reach over: a block is a product BLAS is good at
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

    __slots__ = ("_typed", "matrix")

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self._typed: dict[Any, list[tuple[slice, slice, Any]]] = {}

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
        count = self.matrix.shape[0]
        lead, rest = a.shape[:dim], a.shape[dim + 1 :]
        blocks = self._blocks(xp, a.dtype, math.prod(lead) * math.prod(rest))
        if not rest:
            flat = a.reshape(-1, a.shape[dim])
            out = xp.empty((len(flat), count), a.dtype)
            for rows, columns, part in blocks:
                xp.matmul(flat[:, columns], part.T, out=out[:, rows])
        else:
            flat = a.reshape(math.prod(lead), a.shape[dim], math.prod(rest))
            out = xp.empty((flat.shape[0], count, flat.shape[2]), a.dtype)
            for rows, columns, part in blocks:
                xp.matmul(part, flat[:, columns], out=out[:, rows])
        return out.reshape(*lead, count, *rest)

    def back(self, xp: Any, g: Any, dim: int) -> Any:
        """The adjoint: multiply by the transposed matrix, which makes the extent ``size`` again."""
        size = self.matrix.shape[1]
        lead, rest = g.shape[:dim], g.shape[dim + 1 :]
        blocks = self._blocks(xp, g.dtype, math.prod(lead) * math.prod(rest))
        if not rest:
            flat = g.reshape(-1, g.shape[dim])
            out = xp.zeros((len(flat), size), g.dtype)
            for rows, columns, part in blocks:
                out[:, columns] += flat[:, rows] @ part
        else:
            flat = g.reshape(math.prod(lead), g.shape[dim], math.prod(rest))
            out = xp.zeros((flat.shape[0], size, flat.shape[2]), g.dtype)
            for rows, columns, part in blocks:
                out[:, columns] += part.T @ flat[:, rows]
        return out.reshape(*lead, size, *rest)
