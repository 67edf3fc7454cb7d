"""Convolutions as a gather of windows and matrix products, a few samples at a time (im2col: Chellapilla et al., 2006).

Windows are gathered from a copy with the channels last, where one row of a kernel is a single run of memory, and in
chunks that stay in the cache.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from rlgrad.backend.kernels import jit

Extents = tuple[int, ...]

_CHUNK = 1 << 21  # bytes of gathered windows at a time: they are read back from the cache
_ROWS = 64  # points of a sample from which on a matrix product for each sample is worth its while
_FEW = 4096  # elements of windows that are scattered by their places in memory
_FEW_CHANNELS = 4  # up to which windows are scattered plane by plane


class Geometry(NamedTuple):
    """Where the windows of a convolution lie.

    Attributes:
        out: how many windows in each dimension.
        kernel, stride, dilation: extents of a window, and the distances between windows and between their elements.
        low: zeros before the input in each dimension.
        groups: of channels that are convolved with kernels of their own.
    """

    out: Extents
    kernel: Extents
    stride: Extents
    low: Extents
    dilation: Extents
    groups: int

    @property
    def points(self) -> int:
        return math.prod(self.out)

    @property
    def cover(self) -> Extents:
        """How much of the padded input the windows cover."""
        extents = zip(self.out, self.kernel, self.stride, self.dilation, strict=True)
        return tuple([(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in extents])

    def part(self, spatial: Extents) -> Extents:
        """How much of an input of these extents some window covers, counted from its beginning."""
        return tuple([max(min(n, c - p), 0) for n, c, p in zip(spatial, self.cover, self.low, strict=True)])


def out_extents(
    spatial: Extents, kernel: Extents, stride: Extents, low: Extents, high: Extents, dilation: Extents
) -> Extents:
    """How many windows fit into an input of these extents, padded by ``low`` and ``high``."""
    return tuple(
        [
            (n + a + b - d * (k - 1) - 1) // s + 1
            for n, k, s, a, b, d in zip(spatial, kernel, stride, low, high, dilation, strict=True)
        ]
    )


def _chunk(xp: Any, batch: int, bytes_each: int) -> int:
    return max(min(batch, _CHUNK // max(bytes_each, 1)), 1) if xp is np else max(batch, 1)


def _weight_rows(xp: Any, w: Any, groups: int) -> Any:
    """Weights ``(out, in / groups, *kernel)`` as ``(groups, out / groups, kernel elements * in / groups)``."""
    rows = xp.ascontiguousarray(_channels_last(w))
    return rows.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))


def _places(low: Extents, part: Extents) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where the input lies in its padded buffer, and which part of the input that is."""
    return tuple([slice(p, p + n) for p, n in zip(low, part, strict=True)]), tuple([slice(0, n) for n in part])


def _channels_last(a: Any) -> Any:
    """The second dimension moved behind the others; NumPy's ``moveaxis`` takes ten times as long."""
    return a.transpose(0, *range(2, a.ndim), 1)


def _channels_second(a: Any) -> Any:
    """The last dimension moved to the second place."""
    return a.transpose(0, a.ndim - 1, *range(1, a.ndim - 1))


def _compiled(xp: Any, geometry: Geometry, *arrays: Any) -> bool:
    return xp is np and geometry.groups == 1 and len(geometry.out) == 2 and jit.suits(*arrays)


def _gather(xp: Any, geometry: Geometry, x: Any, memory: Any) -> Any:
    """The windows of each group as rows: ``(groups, batch * points, kernel elements * channels / groups)``."""
    out, kernel, stride, low, dilation, groups = geometry
    (batch, channels), cover, part = x.shape[:2], geometry.cover, geometry.part(x.shape[2:])
    inner = channels // groups
    length = math.prod(kernel) * inner
    memory = memory[: groups * batch * geometry.points * length]
    if _compiled(xp, geometry, x, memory):
        rows = memory.reshape(batch, geometry.points, length)
        arguments = (xp.ascontiguousarray(x), kernel, stride, dilation, low, part, cover, out, rows)
        jit.shared(jit.kernels().gather, batch, rows.size, *arguments)
        return memory.reshape(1, batch * geometry.points, length)
    place, part_of_x = _places(low, part)
    buffer = (xp.empty if part == cover else xp.zeros)((batch, *cover, channels), x.dtype)
    buffer[(slice(None), *place)] = _channels_last(x[(slice(None), slice(None), *part_of_x)])
    if xp is np and groups == 1 and memory.size <= _FEW:
        buffer.reshape(-1).take(_buffer_places(geometry, batch, channels), out=memory, mode="clip")
        return memory.reshape(1, batch * geometry.points, length)
    buffer = buffer.reshape(batch, *cover, groups, inner)
    first, *steps, group, channel = buffer.strides
    windows = xp.lib.stride_tricks.as_strided(
        buffer,
        (groups, batch, *out, *kernel, inner),
        (
            group,
            first,
            *[n * s for n, s in zip(steps, stride, strict=True)],
            *[n * d for n, d in zip(steps, dilation, strict=True)],
            channel,
        ),
    )
    memory.reshape(windows.shape)[...] = windows
    return memory.reshape(groups, batch * geometry.points, length)


def _scatter(xp: Any, geometry: Geometry, rows: Any, x: Any) -> None:
    """The adjoint of :func:`_gather`: add every window to its place in ``x``, which starts from zero."""
    out, kernel, stride, low, dilation, groups = geometry
    (batch, channels), cover, part = x.shape[:2], geometry.cover, geometry.part(x.shape[2:])
    if part != x.shape[2:]:
        x[...] = 0
    if _compiled(xp, geometry, rows, x):
        rows = rows.reshape(batch, geometry.points, rows.shape[-1])
        jit.shared(jit.kernels().scatter, batch, rows.size, rows, kernel, stride, dilation, low, part, cover, out, x)
        return
    rank, inner = len(out), channels // groups
    windows = xp.swapaxes(rows.reshape(groups, batch, *out, rows.shape[-1]), 0, 1)
    if xp is np and rows.size <= _FEW:
        values = windows.reshape(batch, groups, -1, inner).swapaxes(1, 2).reshape(-1)
        places = _buffer_places(geometry, batch, channels)
        buffer = np.bincount(places, values, batch * math.prod(cover) * channels).astype(x.dtype)
        _unpad(xp, buffer.reshape(batch, *cover, channels), low, part, x)
        return
    buffer = xp.zeros((batch, *cover, groups, inner), x.dtype)
    # Kernels that are whole multiples of the stride are added block by block: fewer and longer runs.
    if all(k % s == 0 and d == 1 for k, s, d in zip(kernel, stride, dilation, strict=True)):
        blocks = tuple([k // s for k, s in zip(kernel, stride, strict=True)])
        windows = windows.reshape(
            *windows.shape[:-1], *[n for pair in zip(blocks, stride, strict=True) for n in pair], inner
        )
        whole = buffer.reshape(
            batch, *[n for c, s in zip(cover, stride, strict=True) for n in (c // s, s)], groups, inner
        )
        # (batch, groups, *out, block, within, block, within, .., channels) to the order of the buffer
        order = [0]
        for i in range(rank):
            order += [2 + i, 2 + rank + 2 * i + 1]
        order += [1, 2 + 3 * rank]
        windows = windows.transpose((*[2 + rank + 2 * i for i in range(rank)], *order))
        for offsets in itertools.product(*map(range, blocks)):
            where = [slice(None)]
            for offset, n in zip(offsets, out, strict=True):
                where += [slice(offset, offset + n), slice(None)]
            whole[tuple(where)] += windows[offsets]
    else:
        windows = xp.moveaxis(windows.reshape(*windows.shape[:-1], *kernel, inner), 1, -2)
        for offsets in itertools.product(*map(range, kernel)):
            where = [slice(None)]
            for offset, n, s, d in zip(offsets, out, stride, dilation, strict=True):
                where.append(slice(offset * d, offset * d + (n - 1) * s + 1, s))
            buffer[tuple(where)] += windows[(slice(None),) * (1 + rank) + offsets]
    _unpad(xp, buffer.reshape(batch, *cover, channels), low, part, x)


def _unpad(xp: Any, buffer: Any, low: Extents, part: Extents, x: Any) -> None:
    """Write what is not padding of ``buffer (batch, *cover, channels)`` to ``x``, whose channels come first."""
    place, part_of_x = _places(low, part)
    x[(slice(None), slice(None), *part_of_x)] = _channels_second(buffer[(slice(None), *place)])


@functools.lru_cache(64)
def _buffer_places(geometry: Geometry, batch: int, channels: int) -> np.ndarray:
    """Where in ``(batch, *cover, channels)`` the elements of all windows lie, ordered as the windows are."""
    rank, place = len(geometry.out), np.zeros(1, np.int64)
    axes = zip(geometry.cover, geometry.out, geometry.kernel, geometry.stride, geometry.dilation, strict=True)
    for i, (size, m, k, s, d) in enumerate(axes):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = m, k
        place = place * size + (np.arange(m)[:, None] * s + np.arange(k) * d).reshape(shape)
    samples = np.arange(batch)[:, None, None] * math.prod(geometry.cover)
    return ((samples + place.reshape(-1, 1)) * channels + np.arange(channels)).reshape(-1)


def _scatter_planes(geometry: Geometry, g: np.ndarray, rows: np.ndarray, x: np.ndarray) -> None:
    """:func:`input_gradient` for few channels, whose runs in memory :func:`_scatter` would find too short: each place of
    the kernel adds its plane of points to every image.
    """
    out, kernel, stride, low, dilation, _ = geometry
    (batch, channels), part = x.shape[:2], geometry.part(x.shape[2:])
    planes = np.matmul(rows.T, g.reshape(batch, -1, geometry.points)).reshape(batch, *kernel, channels, *out)
    buffer = np.zeros((batch, channels, *geometry.cover), x.dtype)
    both = (slice(None), slice(None))
    for offsets in itertools.product(*map(range, kernel)):
        corners = [offset * d for offset, d in zip(offsets, dilation, strict=True)]
        where = [slice(c, c + (n - 1) * s + 1, s) for c, n, s in zip(corners, out, stride, strict=True)]
        buffer[(*both, *where)] += planes[(slice(None), *offsets)]
    place, part_of_x = _places(low, part)
    if part != x.shape[2:]:
        x[...] = 0
    x[(*both, *part_of_x)] = buffer[(*both, *place)]


def _memory(xp: Any, geometry: Geometry, batch: int, channels: int, dtype: Any) -> tuple[int, Any]:
    """How many samples to take at a time, and memory for their windows."""
    each = geometry.points * channels * math.prod(geometry.kernel)
    size = _chunk(xp, batch, each * np.dtype(dtype).itemsize)
    return size, xp.empty(size * each, dtype)


def _points_first(geometry: Geometry, g: Any) -> Any:
    """The points of all samples of ``g (batch, filters, *out)`` as rows: ``(groups, batch * points, filters / groups)``."""
    groups, filters = geometry.groups, g.shape[1] // geometry.groups
    grouped = g.reshape(len(g), groups, filters, geometry.points)
    return grouped.transpose(1, 0, 3, 2).reshape(groups, len(g) * geometry.points, filters)


def forward(xp: Any, geometry: Geometry, x: Any, w: Any) -> Any:
    """The convolution of ``x (batch, channels, *spatial)`` with ``w (filters, channels / groups, *kernel)``."""
    batch, groups, points, filters = len(x), geometry.groups, geometry.points, w.shape[0] // geometry.groups
    rows = _weight_rows(xp, w, groups)
    result = xp.empty((batch, groups, filters, points), x.dtype)
    size, memory = _memory(xp, geometry, batch, x.shape[1], x.dtype)
    for start in range(0, batch, size):
        part = x[start : start + size]
        count = len(part)
        windows = _gather(xp, geometry, part, memory)
        if xp is np and points < _ROWS:
            found = xp.matmul(windows, xp.swapaxes(rows, 1, 2)).reshape(groups, count, points, filters)
            result[start : start + count] = found.transpose(1, 0, 3, 2)
        else:
            windows = windows.reshape(groups, count, points, rows.shape[2])
            for group in range(groups):
                xp.matmul(rows[group], windows[group].swapaxes(1, 2), out=result[start : start + count, group])
    return result.reshape(batch, w.shape[0], *geometry.out)


def _turned(xp: Any, geometry: Geometry, w: Any, spatial: Extents) -> tuple[Geometry, Any] | None:
    """The adjoint as a convolution with the kernels turned round, where the stride is one and that is no more work."""
    _, kernel, stride, low, dilation, groups = geometry
    before = tuple([d * (k - 1) - p for d, k, p in zip(dilation, kernel, low, strict=True)])
    if max(stride) > 1 or min(before) < 0 or w.shape[0] > w.shape[1] * groups:
        return None
    if math.prod(spatial) > 1.2 * geometry.points:
        return None
    w = w[(slice(None), slice(None), *[slice(None, None, -1)] * len(kernel))]
    w = xp.swapaxes(w.reshape(groups, -1, *w.shape[1:]), 1, 2)
    return Geometry(spatial, kernel, stride, before, dilation, groups), w.reshape(-1, *w.shape[2:])


def input_gradient(xp: Any, geometry: Geometry, g: Any, w: Any, spatial: Extents) -> Any:
    """The adjoint of :func:`forward` in ``x``: each point of ``g`` adds its kernel to the result."""
    turned = _turned(xp, geometry, w, spatial)
    if turned is not None:
        return forward(xp, turned[0], g, turned[1])
    batch, channels = len(g), w.shape[1] * geometry.groups
    rows = _weight_rows(xp, w, geometry.groups)
    result = xp.empty((batch, channels, *spatial), g.dtype)
    by_planes = xp is np and channels <= _FEW_CHANNELS and geometry.groups == 1 and geometry.points >= _ROWS
    size, memory = _memory(xp, geometry, batch, channels, g.dtype)
    if by_planes and not _compiled(xp, geometry, g, result):
        for start in range(0, batch, size):
            _scatter_planes(geometry, g[start : start + size], rows[0], result[start : start + size])
        return result
    for start in range(0, batch, size):
        points = _points_first(geometry, g[start : start + size])
        windows = memory[: points.shape[0] * points.shape[1] * rows.shape[2]].reshape(*points.shape[:2], -1)
        xp.matmul(points, rows, out=windows)
        _scatter(xp, geometry, windows, result[start : start + size])
    return result


def weight_gradient(xp: Any, geometry: Geometry, g: Any, x: Any) -> Any:
    """The adjoint of :func:`forward` in ``w``."""
    batch, groups, inner = len(x), geometry.groups, x.shape[1] // geometry.groups
    filters = g.shape[1] // groups
    total = xp.zeros((groups, filters, math.prod(geometry.kernel) * inner), g.dtype)
    size, memory = _memory(xp, geometry, batch, x.shape[1], g.dtype)
    for start in range(0, batch, size):
        windows = _gather(xp, geometry, x[start : start + size], memory)
        part = g[start : start + size].reshape(-1, groups, filters, geometry.points)
        part = part.transpose(1, 2, 0, 3).reshape(groups, filters, windows.shape[1])
        total += xp.matmul(part, windows)
    total = total.reshape(groups * filters, *geometry.kernel, inner)
    return xp.ascontiguousarray(_channels_second(total))
