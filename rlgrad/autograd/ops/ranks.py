"""Elements by their place in a sorted order, without sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

_ENOUGH = 64  # elements from which on a partition costs less than sorting


def place_of_rank(xp: Any, a: Any, rank: int, dim: int) -> Any:
    """Where the element is that a stable sort along ``dim`` puts at ``rank``; NaN counts as the largest.

    Example:
        >>> import numpy as np
        >>> place_of_rank(np, np.array([3.0, 1.0, 2.0]), 0, 0)
        np.int64(1)
    """
    if xp is np and a.shape[dim] >= _ENOUGH:
        values = np.partition(a, rank, dim).take([rank], dim)
        if np.count_nonzero(values == values) == values.size:
            hits = a == values
            if np.count_nonzero(hits) > values.size:  # of equal elements the one that comes so many after the first
                before = np.count_nonzero(a < values, dim, keepdims=True)
                hits &= np.cumsum(hits, dim, np.int64) == rank - before + 1
            return hits.argmax(dim)
    return a.argsort(axis=dim, kind="stable").take(rank, dim)
