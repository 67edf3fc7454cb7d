"""Numbers as 0-d arrays, which NumPy takes as an operand in half the time that a Python number costs."""

from __future__ import annotations

from typing import Any

import numpy as np


class Constant(dict[Any, Any]):
    """One number as a read-only 0-d array of every dtype that was asked for.

    Only NumPy's arrays can meet it: CuPy takes no array of the host's as an operand, but Python's numbers.

    Example:
        >>> import numpy as np
        >>> half = Constant(0.5)
        >>> np.ones(2, np.float32) * half[np.dtype(np.float32)]
        array([0.5, 0.5], dtype=float32)
    """

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, dtype: np.dtype[Any]) -> np.ndarray:
        array = np.asarray(self.value, dtype)
        array.flags.writeable = False
        self[dtype] = array
        return array

    def beside(self, xp: Any, array: Any) -> Any:
        """The number as an operand beside an array of this library."""
        return self[array.dtype] if xp is np else self.value


ZERO, HALF, ONE, INFINITY = Constant(0), Constant(0.5), Constant(1), Constant(float("inf"))


def limited(xp: Any, a: Any, low: float | None, high: float | None) -> Any:
    """``a.clip(low, high)``: for few numbers by two ufuncs, as the method spends a microsecond on its arguments."""
    if xp is not np or a.dtype.kind != "f":
        return a.clip(low, high)
    if a.size > 512:  # with one limit it is a third as fast
        return a.clip(-np.inf if low is None else low, np.inf if high is None else high)
    if low is not None:
        a = np.maximum(a, np.asarray(low, a.dtype))
    return a if high is None else np.minimum(a, np.asarray(high, a.dtype))
