"""Convolutions by minimal filtering: two outputs of a filter of r taps take r + 1 products instead of 2r.

``F(2, 2)`` and ``F(2, 3)`` of Winograd (1980), nested for two dimensions (Lavin and Gray, 2016): outputs are cut into
tiles of 2x2, and with ``B``, ``G`` and ``A`` the constant matrices below, a tile is ``y = A' [(G w G') * (B x B')] A``,
summed over channels. The sum is ``(r + 1)**2`` matrix products, with 9/16 (r = 2) or 4/9 (r = 3) of the direct
multiplications. A stride of s is first made a stride of one: kernels of ``r * s`` taps see ``s * s`` interleaved images
as that many more channels. All entries are 0, 1, -1 or 1/2, so that rounding stays that of the direct sum; an infinite
input makes its whole tile infinite or NaN. The two gradients are the adjoints, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rlgrad.backend.kernels import jit
from rlgrad.backend.kernels.im2col import Geometry

Pair = tuple[int, int]
Signs = Sequence[int]
Matrix = Sequence[Signs]
Parts = Sequence[np.ndarray] | np.ndarray

INPUT = {2: ((1, -1, 0), (0, 1, 0), (0, -1, 1)), 3: ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))}
"""``B`` for each number of taps."""
WEIGHT = {2: ((1, 0), (1, 1), (0, 1)), 3: ((1, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 1))}
"""``G``, whose rows are to be scaled by ``SCALE``."""
SCALE = {2: (1, 1, 1), 3: (1, 0.5, 0.5, 1)}
OUTPUT = {2: ((1, 1, 0), (0, 1, 1)), 3: ((1, 1, 1, 0), (0, 1, -1, -1))}
"""``A'``."""

_CHUNK = 1 << 21  # bytes of transformed input at a time: they are read back from the cache
_ROWS = 256  # tiles in a matrix product, at least
# Channels and filters at least, and their product, from which on products outweigh the transforms, as measured.
_WORTHWHILE, _WORTHWHILE_COMPILED = (64, 1 << 14), (32, 1 << 10)


class Plan(NamedTuple):
    """What a convolution looks like in tiles.

    Attributes:
        taps: r in each dimension.
        stride: interleaved images in each dimension.
        low: padding before the input.
        out: extents of the output.
        tiles: tiles in each dimension.
    """

    taps: int
    stride: Pair
    low: Pair
    out: Pair
    tiles: Pair

    @property
    def blocks(self) -> Pair:
        """Extents of each interleaved image."""
        return 2 * self.tiles[0] + self.taps - 1, 2 * self.tiles[1] + self.taps - 1


def plan(geometry: Geometry, weight: tuple[int, ...], dtype: Any = np.float32) -> Plan | None:
    """How to compute a convolution with weights of this shape, or ``None`` where the direct way is the better one."""
    out, _, stride, low, dilation, groups = geometry
    if groups != 1 or len(out) != 2 or max(dilation) != 1 or min(out) < 2 or np.dtype(dtype).char not in "fd":
        return None
    taps = weight[2] // stride[0]
    if taps not in INPUT or weight[2:] != (taps * stride[0], taps * stride[1]):
        return None
    filters, width = weight[0], weight[1] * stride[0] * stride[1]
    least, product = _WORTHWHILE_COMPILED if jit.compiled() else _WORTHWHILE
    if min(filters, width) < least or filters * width < product:
        return None
    tiles = ((out[0] + 1) // 2, (out[1] + 1) // 2)
    saved = (taps + 1) ** 2 * tiles[0] * tiles[1] / (taps * taps * out[0] * out[1])
    return Plan(taps, (stride[0], stride[1]), (low[0], low[1]), (out[0], out[1]), tiles) if saved < 0.8 else None


def _terms(row: Signs, parts: Parts) -> list[tuple[int, np.ndarray]]:
    """What is to be added and subtracted, something to be added first if there is any."""
    terms = [(sign, part) for sign, part in zip(row, parts, strict=True) if sign]
    return sorted(terms, key=lambda term: -term[0])


def _combine(row: Signs, parts: Parts, out: np.ndarray) -> None:
    """Store the sum of ``parts`` with these signs in ``out``."""
    (sign, first), *rest = _terms(row, parts)
    if sign < 0:
        np.negative(first, out)
    elif not rest:
        np.copyto(out, first)
    else:
        (sign, second), *rest = rest
        (np.add if sign > 0 else np.subtract)(first, second, out)
    for sign, part in rest:
        (np.add if sign > 0 else np.subtract)(out, part, out)


def _transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))


def _every_second(a: np.ndarray, axis: int, start: int, count: int) -> np.ndarray:
    return a[(*(slice(None),) * axis, slice(start, start + 2 * count - 1, 2))]


def _cut(matrix: Matrix, whole: np.ndarray, axis: int, tiles: int, outs: Parts) -> None:
    """Cut an axis into tiles that overlap, and store the transform of each."""
    parts = [_every_second(whole, axis, k, tiles) for k in range(len(matrix))]
    for row, out in zip(matrix, outs, strict=True):
        _combine(row, parts, out)


def _join(matrix: Matrix, parts: Parts, whole: np.ndarray, axis: int, tiles: int) -> None:
    """The adjoint of :func:`_cut`: add the tiles up where they overlap."""
    whole[(*(slice(None),) * axis, slice(2 * tiles, None))] = 0
    for k, row in enumerate(_transposed(matrix)):
        target = _every_second(whole, axis, k, tiles)
        if k < 2:
            _combine(row, parts, target)
        else:
            for sign, part in _terms(row, parts):
                (np.add if sign > 0 else np.subtract)(target, part, target)


def _place(p: Plan, spatial: tuple[int, ...]) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where the input lies in its padded buffer, and which part of the input that is."""
    (a, b), (low, left) = (
        [
            max(min(n, blocks * s - first), 0)
            for n, blocks, s, first in zip(spatial, p.blocks, p.stride, p.low, strict=True)
        ],
        p.low,
    )
    return (slice(low, low + a), slice(left, left + b)), (slice(0, a), slice(0, b))


def _images(p: Plan, batch: int, channels: int) -> tuple[int, ...]:
    (rows, columns), (s, z) = p.blocks, p.stride
    return batch, rows, s, columns, z, channels


def _halves(p: Plan, batch: int, channels: int) -> tuple[int, ...]:
    return batch, p.tiles[0], p.stride[0], p.blocks[1], p.stride[1], channels


def _ordered(tiles: np.ndarray) -> list[np.ndarray]:
    """Each entry of a row of tiles with its interleaved images where :func:`_halves` has them."""
    return [tile.transpose(0, 1, 3, 2, 4, 5) for tile in tiles]


def _compiled_geometry(p: Plan, spatial: tuple[int, ...]) -> tuple[int, ...]:
    _, (rows, columns) = _place(p, spatial)
    return (*p.stride, *p.low, rows.stop, columns.stop, *p.tiles)


def _input_tiles(p: Plan, x: np.ndarray, out: np.ndarray) -> None:
    """``B x B'`` of every tile, as ``(r + 1, r + 1, batch, *tiles, *stride, channels)``."""
    batch, channels = x.shape[:2]
    if jit.suits(x, out):
        x, flat = np.ascontiguousarray(x), out.reshape((p.taps + 1) ** 2, -1, channels * p.stride[0] * p.stride[1])
        arguments = (x, p.taps + 1, *_compiled_geometry(p, x.shape[2:]), flat)
        jit.shared(jit.kernels().input_tiles, batch, out.size, *arguments)
        return
    (place, part), (rows, columns), (s, z) = _place(p, x.shape[2:]), p.blocks, p.stride
    buffer = np.zeros((batch, rows * s, columns * z, channels), x.dtype)
    buffer[(slice(None), *place)] = x[(slice(None), slice(None), *part)].transpose(0, 2, 3, 1)
    halves = np.empty((p.taps + 1, *_halves(p, batch, channels)), x.dtype)
    _cut(INPUT[p.taps], buffer.reshape(_images(p, batch, channels)), 1, p.tiles[0], halves)
    for half, tiles in zip(halves, out, strict=True):
        _cut(INPUT[p.taps], half, 3, p.tiles[1], _ordered(tiles))


def _input_tiles_adjoint(p: Plan, tiles: np.ndarray, out: np.ndarray) -> None:
    """Add up in ``out (batch, channels, height, width)`` what each tile gives to it."""
    batch, channels = out.shape[:2]
    (place, part), (rows, columns), (s, z) = _place(p, out.shape[2:]), p.blocks, p.stride
    if part != tuple(map(slice, (0, 0), out.shape[2:])):
        out[...] = 0
    if jit.suits(tiles, out):
        flat = tiles.reshape((p.taps + 1) ** 2, -1, channels * s * z)
        arguments = (flat, p.taps + 1, *_compiled_geometry(p, out.shape[2:]), out)
        jit.shared(jit.kernels().input_tiles_adjoint, batch, tiles.size, *arguments)
        return
    halves = np.empty((p.taps + 1, *_halves(p, batch, channels)), tiles.dtype)
    for half, row in zip(halves, tiles, strict=True):
        _join(INPUT[p.taps], _ordered(row), half, 3, p.tiles[1])
    images = np.empty(_images(p, batch, channels), tiles.dtype)
    _join(INPUT[p.taps], halves, images, 1, p.tiles[0])
    buffer = images.reshape(batch, rows * s, columns * z, channels)
    out[(slice(None), slice(None), *part)] = buffer[(slice(None), *place)].transpose(0, 3, 1, 2)


def _weight_tiles(p: Plan, w: np.ndarray) -> np.ndarray:
    """``G w G'``, as ``((r + 1)**2, filters, stride * stride * channels)``."""
    (filters, channels), r, (s, z) = w.shape[:2], p.taps, p.stride
    taps = np.ascontiguousarray(w.reshape(filters, channels, r, s, r, z).transpose(2, 4, 0, 3, 5, 1))
    out = np.empty((r + 1, r + 1, *taps.shape[2:]), w.dtype)
    half = np.empty(taps.shape[1:], w.dtype)
    for row, tiles, first in zip(WEIGHT[r], out, SCALE[r], strict=True):
        _combine(row, taps, half)
        for column, tile, second in zip(WEIGHT[r], tiles, SCALE[r], strict=True):
            _combine(column, half, tile)
            if first * second != 1:
                tile *= first * second
    return out.reshape((r + 1) ** 2, filters, s * z * channels)


def _weight_tiles_adjoint(p: Plan, tiles: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    (filters, channels), r, (s, z) = shape[:2], p.taps, p.stride
    tiles = tiles.reshape(r + 1, r + 1, filters, s, z, channels)
    for row, first in zip(tiles, SCALE[r], strict=True):
        for tile, second in zip(row, SCALE[r], strict=True):
            if first * second != 1:
                tile *= first * second
    taps = np.empty((r, r, filters, s, z, channels), tiles.dtype)
    half = np.empty(tiles.shape[1:], tiles.dtype)
    for row, tap in zip(_transposed(WEIGHT[r]), taps, strict=True):
        _combine(row, tiles, half)
        for column, out in zip(_transposed(WEIGHT[r]), tap, strict=True):
            _combine(column, half, out)
    return np.ascontiguousarray(taps.transpose(2, 5, 0, 3, 1, 4)).reshape(shape)


def _output(p: Plan, tiles: np.ndarray, out: np.ndarray) -> None:
    """``A' tile A`` of every tile, in its place in ``out (batch, filters, *out)``."""
    batch, filters = out.shape[:2]
    if jit.suits(tiles, out):
        flat = tiles.reshape((p.taps + 1) ** 2, -1, filters)
        jit.shared(jit.kernels().output, batch, tiles.size, flat, p.taps + 1, *p.tiles, out)
        return
    whole = np.empty((batch, p.tiles[0], 2, p.tiles[1], 2, filters), out.dtype)
    half = np.empty(tiles.shape[1:], out.dtype)
    for a, row in enumerate(OUTPUT[p.taps]):
        _combine(row, tiles, half)
        for b, column in enumerate(OUTPUT[p.taps]):
            _combine(column, half, whole[:, :, a, :, b])
    image = whole.reshape(batch, 2 * p.tiles[0], 2 * p.tiles[1], filters)
    out[...] = image[:, : p.out[0], : p.out[1]].transpose(0, 3, 1, 2)


def _output_adjoint(p: Plan, g: np.ndarray, out: np.ndarray) -> None:
    """``A g A'`` of every tile, as ``(r + 1, r + 1, batch, *tiles, filters)``."""
    batch, filters = g.shape[:2]
    if jit.suits(g, out):
        flat = out.reshape((p.taps + 1) ** 2, -1, filters)
        arguments = (np.ascontiguousarray(g), p.taps + 1, *p.tiles, flat)
        jit.shared(jit.kernels().output_adjoint, batch, out.size, *arguments)
        return
    image = np.zeros((batch, 2 * p.tiles[0], 2 * p.tiles[1], filters), g.dtype)
    image[:, : p.out[0], : p.out[1]] = g.transpose(0, 2, 3, 1)
    whole = image.reshape(batch, p.tiles[0], 2, p.tiles[1], 2, filters)
    half = np.empty((batch, p.tiles[0], p.tiles[1], 2, filters), g.dtype)
    turned = _transposed(OUTPUT[p.taps])
    for row, tiles in zip(turned, out, strict=True):
        _combine(row, (whole[:, :, 0], whole[:, :, 1]), half)
        for column, tile in zip(turned, tiles, strict=True):
            _combine(column, (half[:, :, :, 0], half[:, :, :, 1]), tile)


class _Scratch:
    """Memory for the tiles of some samples at a time: in matrices for the products, and by position for the transforms."""

    def __init__(self, p: Plan, batch: int, channels: int, filters: int, dtype: Any) -> None:
        self.plan, self.count = p, (p.taps + 1) ** 2
        self.points = p.tiles[0] * p.tiles[1]
        self.channels, self.filters = channels, filters
        self.width = channels * p.stride[0] * p.stride[1]
        bytes_each = self.count * self.points * self.width * np.dtype(dtype).itemsize
        self.size = max(min(batch, max(_CHUNK // bytes_each, -(-_ROWS // self.points))), 1)
        self._input = np.empty(self.count * self.size * self.points * self.width, dtype)
        self._output = np.empty(self.count * self.size * self.points * filters, dtype)

    def input(self, samples: int) -> tuple[np.ndarray, np.ndarray]:
        flat = self._input[: self.count * samples * self.points * self.width]
        n, p = self.plan.taps + 1, self.plan
        return (
            flat.reshape(self.count, samples * self.points, self.width),
            flat.reshape(n, n, samples, *p.tiles, *p.stride, self.channels),
        )

    def output(self, samples: int) -> tuple[np.ndarray, np.ndarray]:
        flat = self._output[: self.count * samples * self.points * self.filters]
        n, p = self.plan.taps + 1, self.plan
        return (
            flat.reshape(self.count, samples * self.points, self.filters),
            flat.reshape(n, n, samples, *p.tiles, self.filters),
        )


def forward(p: Plan, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The convolution of ``x (batch, channels, height, width)`` with ``w (filters, channels, *kernel)``."""
    scratch = _Scratch(p, len(x), w.shape[1], w.shape[0], x.dtype)
    kernels = _weight_tiles(p, w).swapaxes(1, 2)
    result = np.empty((len(x), w.shape[0], *p.out), x.dtype)
    for start in range(0, len(x), scratch.size):
        part = x[start : start + scratch.size]
        (matrices, tiles), (products, outs) = scratch.input(len(part)), scratch.output(len(part))
        _input_tiles(p, part, tiles)
        np.matmul(matrices, kernels, out=products)
        _output(p, outs, result[start : start + len(part)])
    return result


def input_gradient(p: Plan, g: np.ndarray, w: np.ndarray, spatial: tuple[int, ...]) -> np.ndarray:
    """The adjoint of :func:`forward` in ``x``."""
    scratch = _Scratch(p, len(g), w.shape[1], w.shape[0], g.dtype)
    kernels = _weight_tiles(p, w)
    result = np.empty((len(g), w.shape[1], *spatial), g.dtype)
    for start in range(0, len(g), scratch.size):
        part = g[start : start + scratch.size]
        (matrices, tiles), (products, outs) = scratch.input(len(part)), scratch.output(len(part))
        _output_adjoint(p, part, outs)
        np.matmul(products, kernels, out=matrices)
        _input_tiles_adjoint(p, tiles, result[start : start + len(part)])
    return result


def weight_gradient(p: Plan, g: np.ndarray, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The adjoint of :func:`forward` in ``w``, whose shape is given."""
    scratch = _Scratch(p, len(x), shape[1], shape[0], x.dtype)
    total = None
    for start in range(0, len(x), scratch.size):
        part = x[start : start + scratch.size]
        (matrices, tiles), (products, outs) = scratch.input(len(part)), scratch.output(len(part))
        _input_tiles(p, part, tiles)
        _output_adjoint(p, g[start : start + len(part)], outs)
        found = np.matmul(products.swapaxes(1, 2), matrices)
        total = found if total is None else np.add(total, found, total)
    if total is None:
        return np.zeros(shape, x.dtype)
    return _weight_tiles_adjoint(p, total, shape)
