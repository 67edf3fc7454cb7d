"""Pools of small arrays: all windows at once through a table of their elements, which is made once for each geometry."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Extents = tuple[int, ...]
LIMIT = 2048
"""Elements of all windows of one plane, and of the input, up to which the table pays."""


def _table(axes: Sequence[np.ndarray], spatial: Extents) -> np.ndarray:
    """From the places ``(windows, elements)`` in each dimension, the places in the flat plane."""
    rank, place = len(spatial), np.zeros((1,) * (2 * len(spatial)), np.int64)
    for i, (places, size) in enumerate(zip(axes, spatial, strict=True)):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = places.shape
        place = place * size + places.reshape(shape)
    return np.ascontiguousarray(place.reshape(math.prod(place.shape[:rank]), -1))


@functools.lru_cache(64)
def windows(spatial: Extents, out: Extents, kernel: Extents, stride: Extents, pad: Extents) -> np.ndarray | None:
    """The elements ``(windows, elements of one)`` of a pool; padding counts as its neighbour. ``None`` for too many."""
    if math.prod(out) * math.prod(kernel) > LIMIT:
        return None
    axes = []
    for n, m, k, s, p in zip(spatial, out, kernel, stride, pad, strict=True):
        axes.append(np.clip((np.arange(m) * s - p)[:, None] + np.arange(k), 0, n - 1))
    return _table(axes, spatial)


def inner_windows(
    xp: Any, a: Any, spatial: Extents, kernel: Extents, stride: Extents, pad: Extents, out: Extents, cover: Extents
) -> Any:
    """:func:`windows` for a small array, if none of the windows, which end at ``cover``, reaches into padding."""
    if xp is not np or not 0 < a.size <= LIMIT or any(pad):
        return None
    if any(c > n for c, n in zip(cover, spatial, strict=True)):
        return None
    return windows(spatial, out, kernel, stride, pad)


@functools.lru_cache(64)
def adaptive_windows(spatial: Extents, out: Extents) -> np.ndarray | None:
    """The same for windows of nearly equal extents that cover each plane; shorter ones repeat their last element."""
    axes = []
    for n, m in zip(spatial, out, strict=True):
        start = np.arange(m) * n // m
        end = -(-(np.arange(m) + 1) * n // m)
        axes.append(np.minimum(start[:, None] + np.arange((end - start).max()), end[:, None] - 1))
    if math.prod(axis.size for axis in axes) > LIMIT:
        return None
    return _table(axes, spatial)


@functools.lru_cache(64)
def _rows(count: int) -> np.ndarray:
    return np.arange(count)


def maxima(a: np.ndarray, table: np.ndarray, out: Extents) -> tuple[Any, Any] | None:
    """The largest element of each window and its place; ``None`` if one is not a number.

    Args:
        a: ``(*, *spatial)``.
        table: elements of each window, of which the first largest counts.
        out: windows in each dimension.
    """
    lead = a.shape[: a.ndim - len(out)]
    parts = a.reshape(math.prod(lead), -1).take(table, 1)
    best = np.maximum.reduce(parts, -1)
    flat = best.ravel()
    check = flat.dot(flat)
    if check != check:
        return None
    index = table[_rows(len(table)), parts.argmax(-1)]
    shape = (*lead, *out)
    return best.reshape(shape), index.reshape(shape)


def sums(a: np.ndarray, table: np.ndarray, out: Extents) -> Any:
    """The sum of each window; arguments as for :func:`maxima`."""
    lead = a.shape[: a.ndim - len(out)]
    return np.add.reduce(a.reshape(math.prod(lead), -1).take(table, 1), -1).reshape(*lead, *out)


def spread(g: np.ndarray, table: np.ndarray, spatial: Extents) -> Any:
    """The adjoint of :func:`sums` for windows that have no element in common."""
    lead = g.shape[: g.ndim - len(spatial)]
    planes = math.prod(lead)
    out = np.zeros((planes, math.prod(spatial)), g.dtype)
    out[:, table] = g.reshape(planes, -1, 1)
    return out.reshape(*lead, *spatial)


def numbers(planes: int, size: int, index: np.ndarray) -> np.ndarray:
    """Places ``index (planes, *)`` in planes of ``size`` elements as places in all of them together."""
    return index + _starts(planes, size)


@functools.lru_cache(64)
def _starts(planes: int, size: int) -> np.ndarray:
    return (np.arange(planes) * size)[:, None]
