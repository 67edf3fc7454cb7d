"""Where the elements that an index tensor names lie in memory.

NumPy reads and writes by one flat index several times as fast as by an index for each dimension.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from rlgrad.backend.devices import module_of

INT64 = np.dtype(np.int64)
_UINT64 = np.dtype(np.uint64)


def broadcast(a: Any, shape: tuple[int, ...]) -> Any:
    """``broadcast_to``, but writable where the array is, and several times cheaper for one in row-major order."""
    if a.shape == shape:
        return a[...]
    if a.__class__ is np.ndarray and a.flags.c_contiguous and a.size and a.flags.writeable:
        steps = [0] * (len(shape) - a.ndim)
        for n, step in zip(a.shape, a.strides):  # noqa: B905 - equal by construction
            steps.append(step if n != 1 else 0)
        return np.ndarray(shape, a.dtype, a, 0, steps)
    out = module_of(a).broadcast_to(a, shape)
    if a.__class__ is np.ndarray and a.flags.writeable:
        out.flags.writeable = True  # filling it is allowed
    return out


def full_index(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """An index for each dimension that names, for each entry of ``index``, the element it stands for along ``dim``."""
    axes = (_axes if xp is np else _axes.__wrapped__)(xp, index.shape, dim)
    return (*axes[:dim], index, *axes[dim:])


@functools.lru_cache(64)
def _axes(xp: Any, shape: tuple[int, ...], dim: int) -> tuple[Any, ...]:
    """Positions along every dimension but one, each in a shape that broadcasts."""
    ndim = len(shape)
    return tuple(
        xp.arange(n).reshape([-1 if i == d else 1 for i in range(ndim)]) for d, n in enumerate(shape) if d != dim
    )


def flat_places(index: np.ndarray, shape: tuple[int, ...], dim: int) -> np.ndarray:
    """The numbers, in a row-major array of this shape, of the elements that ``index`` stands for along ``dim``.

    Args:
        index: non-negative, of the array's rank.
    """
    step, others = (_full_offsets if index.size <= 4096 else _offsets)(index.shape, shape, dim)
    return index + others if step is None else index * step + others


@functools.lru_cache(64)
def _full_offsets(index_shape: tuple[int, ...], shape: tuple[int, ...], dim: int) -> tuple[Any, np.ndarray]:
    """:func:`_offsets` of an index's own shape, for which NumPy need not broadcast."""
    step, others = _offsets(index_shape, shape, dim)
    return step, np.broadcast_to(others, index_shape).copy()


def _offsets(index_shape: tuple[int, ...], shape: tuple[int, ...], dim: int) -> tuple[Any, np.ndarray]:
    """The step from one entry along ``dim`` to the next (``None`` for one), and what the other dimensions add."""
    ndim = len(shape)
    steps = [math.prod(shape[d + 1 :]) for d in range(ndim)]
    others = np.zeros((1,) * ndim, np.int64)
    for d, n in enumerate(index_shape):
        if d != dim:
            others = others + (np.arange(n) * steps[d]).reshape([-1 if i == d else 1 for i in range(ndim)])
    return None if steps[dim] == 1 else np.asarray(steps[dim]), others


def gather_forward(xp: Any, a: Any, index: Any, dim: int) -> Any:
    """Elements of an array at the places that ``index`` names along one dimension."""
    if a.ndim and index.size:
        if xp is np and a.flags.c_contiguous:
            return a.reshape(-1)[flat_places(index, a.shape, dim)]
        return a[full_index(xp, index, dim)]
    return xp.broadcast_to(a, index.shape).copy() if not a.ndim else xp.zeros(index.shape, a.dtype)


def extremes(index: Any) -> tuple[int, int]:
    """The smallest and the largest entry of an index that is not empty."""
    if index.__class__ is not np.ndarray:
        return int(index.min()), int(index.max())
    return index.item(index.argmin()), index.item(index.argmax())  # in half the time of min() and max()


def largest(index: Any) -> int:
    """The largest entry of an index that is not empty, read as unsigned, so that a negative one is very large."""
    unsigned = index.view(_UINT64)
    if index.__class__ is not np.ndarray:
        return int(unsigned.max())
    return unsigned.item(unsigned.argmax())  # in half the time of max()
