"""Convolutions as a gather of windows and matrix products, a few samples at a time (im2col: Chellapilla et al., 2006).

Windows are gathered from a copy with the channels last, where one row of a kernel is a single run of memory, and in
chunks that stay in the cache.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

Extents = tuple[int, ...]

_CHUNK = 1 << 20  # bytes of gathered windows at a time: they are read back from the cache
_ROWS = 64  # points of a sample from which on a matrix product for each sample is worth its while


def _chunk(xp: Any, batch: int, bytes_each: int) -> int:
    return max(min(batch, _CHUNK // max(bytes_each, 1)), 1) if xp is np else max(batch, 1)


def _needed(out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Extents:
    """How much of the padded input the windows cover."""
    return tuple([(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in zip(out, kernel, stride, dilation, strict=True)])


def _inner(spatial: Extents, cover: Extents, low: Extents) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where the input lies in the padded buffer, and which part of the input that is."""
    ends = [max(min(n, c - p), 0) for n, c, p in zip(spatial, cover, low, strict=True)]
    return tuple([slice(p, p + e) for p, e in zip(low, ends, strict=True)]), tuple([slice(0, e) for e in ends])


def _channels_last(xp: Any, x: Any, cover: Extents, low: Extents, groups: int) -> Any:
    """The padded input as ``(batch, *cover, groups, channels / groups)``."""
    batch, channels, *spatial = x.shape
    place, part = _inner(tuple(spatial), cover, low)
    whole = all(s.start == 0 and s.stop == c for s, c in zip(place, cover, strict=True))
    buffer = (xp.empty if whole else xp.zeros)((batch, *cover, channels), x.dtype)
    buffer[(slice(None), *place)] = xp.moveaxis(x[(slice(None), slice(None), *part)], 1, -1)
    return buffer.reshape(batch, *cover, groups, channels // groups)


def _windows(xp: Any, buffer: Any, out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Any:
    """A view ``(batch, groups, *out, *kernel, channels)`` of every window."""
    first, *steps, group, channel = buffer.strides
    return xp.lib.stride_tricks.as_strided(
        buffer,
        (buffer.shape[0], buffer.shape[-2], *out, *kernel, buffer.shape[-1]),
        (
            first,
            group,
            *[n * s for n, s in zip(steps, stride, strict=True)],
            *[n * d for n, d in zip(steps, dilation, strict=True)],
            channel,
        ),
    )


def _gathered(xp: Any, windows: Any, columns: Any, points: int) -> Any:
    """All windows of each group as the rows of one matrix, stored in ``columns``."""
    groups = windows.shape[1]
    chunk = columns[: windows.size].reshape(groups, len(windows), *windows.shape[2:])
    chunk[...] = xp.swapaxes(windows, 0, 1)
    return chunk.reshape(groups, len(windows) * points, windows.size // max(groups * len(windows) * points, 1))


def _weight_rows(xp: Any, w: Any, groups: int) -> Any:
    """Weights ``(out, in / groups, *kernel)`` as ``(groups, out / groups, kernel elements * in / groups)``."""
    rows = xp.ascontiguousarray(xp.moveaxis(w, 1, -1))
    return rows.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))


def out_extents(
    spatial: Extents, kernel: Extents, stride: Extents, low: Extents, high: Extents, dilation: Extents
) -> Extents:
    return tuple(
        [
            (n + a + b - d * (k - 1) - 1) // s + 1
            for n, k, s, a, b, d in zip(spatial, kernel, stride, low, high, dilation, strict=True)
        ]
    )


def forward(
    xp: Any,
    x: Any,
    w: Any,
    out: Extents,
    stride: Extents,
    low: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    """The convolution of ``x (batch, channels, *spatial)`` with ``w (filters, channels / groups, *kernel)``.

    Args:
        out: extents of the result.
        low: zeros before the input in each dimension.
    """
    batch, kernel = x.shape[0], w.shape[2:]
    points, rows = math.prod(out), _weight_rows(xp, w, groups)
    result = xp.empty((batch, groups, w.shape[0] // groups, points), x.dtype)
    cover = _needed(out, kernel, stride, dilation)
    size = _chunk(xp, batch, points * groups * rows.shape[2] * x.itemsize)
    length, filters = rows.shape[2], rows.shape[1]
    columns = xp.empty(size * groups * points * length, x.dtype)
    for start in range(0, batch, size):
        part = x[start : start + size]
        count = len(part)
        windows = _windows(xp, _channels_last(xp, part, cover, low, groups), out, kernel, stride, dilation)
        if xp is not np or points >= _ROWS:
            chunk = columns[: windows.size].reshape(windows.shape)
            chunk[...] = windows
            flat = chunk.reshape(count, groups, points, length)
            xp.matmul(rows, flat.swapaxes(2, 3), out=result[start : start + count])
        else:
            flat = _gathered(xp, windows, columns, points)
            product = xp.matmul(flat, rows.swapaxes(1, 2)).reshape(groups, count, points, filters)
            result[start : start + count] = product.transpose(1, 0, 3, 2)
    return result.reshape(batch, w.shape[0], *out)


def input_gradient(
    xp: Any,
    g: Any,
    w: Any,
    spatial: Extents,
    stride: Extents,
    low: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    """What :func:`forward` is the adjoint of in ``x``: each point of ``g`` adds its kernel to the output."""
    batch, out, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    points, inner, rank = math.prod(out), w.shape[1], len(kernel)
    rows = _weight_rows(xp, w, groups)
    cover = _needed(out, kernel, stride, dilation)
    # Kernels that are whole multiples of the stride are added block by block: fewer and longer runs.
    blocked = all(k % s == 0 and d == 1 for k, s, d in zip(kernel, stride, dilation, strict=True))
    steps = tuple([k // s for k, s in zip(kernel, stride, strict=True)]) if blocked else kernel
    place, part = _inner(spatial, cover, low)
    result = xp.zeros((batch, groups * inner, *spatial), g.dtype)
    size = _chunk(xp, batch, points * groups * rows.shape[2] * g.itemsize)
    length = rows.shape[2]
    memory = xp.empty(size * groups * points * length, g.dtype)
    g = g.reshape(batch, groups, w.shape[0] // groups, points)
    for start in range(0, batch, size):
        count = min(size, batch - start)
        # The points of all samples as rows, so that the products are few and large.
        points_first = g[start : start + size].transpose(1, 0, 3, 2).reshape(groups, count * points, rows.shape[1])
        product = memory[: count * groups * points * length].reshape(groups, count * points, length)
        xp.matmul(points_first, rows, out=product)
        columns = xp.swapaxes(product.reshape(groups, count, *out, length), 0, 1)
        buffer = xp.zeros((count, *cover, groups, inner), g.dtype)
        if blocked:
            split = columns.reshape(
                count, groups, *out, *[n for k, s in zip(kernel, stride, strict=True) for n in (k // s, s)], inner
            )
            whole = buffer.reshape(
                count, *[n for c, s in zip(cover, stride, strict=True) for n in (c // s, s)], groups, inner
            )
            # (batch, groups, *out, block, within, block, within, .., channels) to the order of the buffer
            order = [0]
            for i in range(rank):
                order += [2 + i, 2 + rank + 2 * i + 1]
            order += [1, 2 + 3 * rank]
            blocks = [2 + rank + 2 * i for i in range(rank)]
            for offsets in itertools.product(*map(range, steps)):
                index: list[Any] = [slice(None)] * split.ndim
                for axis, offset in zip(blocks, offsets, strict=True):
                    index[axis] = slice(offset, offset + 1)
                piece = split[tuple(index)].transpose((*order, *blocks))[(..., *[0] * rank)]
                where = [slice(None)]
                for offset, n in zip(offsets, out, strict=True):
                    where += [slice(offset, offset + n), slice(None)]
                whole[tuple(where)] += piece
        else:
            split = xp.moveaxis(columns.reshape(count, groups, *out, *kernel, inner), 1, -2)
            for offsets in itertools.product(*map(range, steps)):
                where = [slice(None)]
                for offset, n, s, d in zip(offsets, out, stride, dilation, strict=True):
                    where.append(slice(offset * d, offset * d + (n - 1) * s + 1, s))
                buffer[tuple(where)] += split[(slice(None),) * (1 + rank) + offsets]
        flat = buffer.reshape(count, *cover, groups * inner)
        result[(slice(start, start + count), slice(None), *part)] = xp.moveaxis(flat[(slice(None), *place)], -1, 1)
    return result


def weight_gradient(
    xp: Any,
    g: Any,
    x: Any,
    kernel: Extents,
    stride: Extents,
    low: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    """The adjoint of :func:`forward` in ``w``."""
    batch, out = g.shape[0], g.shape[2:]
    points, inner = math.prod(out), x.shape[1] // groups
    length = math.prod(kernel) * inner
    cover = _needed(out, kernel, stride, dilation)
    g = g.reshape(batch, groups, g.shape[1] // groups, points)
    total = xp.zeros((groups, g.shape[2], length), g.dtype)
    size = _chunk(xp, batch, points * groups * length * g.itemsize)
    columns = xp.empty((groups * size * points * length,), g.dtype)
    for start in range(0, batch, size):
        part = x[start : start + size]
        count = len(part)
        buffer = _channels_last(xp, part, cover, low, groups)
        flat = _gathered(xp, _windows(xp, buffer, out, kernel, stride, dilation), columns, points)
        total += xp.matmul(
            g[start : start + size].transpose(1, 2, 0, 3).reshape(groups, g.shape[2], count * points), flat
        )
    total = total.reshape(groups * g.shape[2], *kernel, inner)
    return xp.ascontiguousarray(xp.moveaxis(total, -1, 1))
