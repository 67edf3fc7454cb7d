"""Images and sequences rearranged: padding, windows as columns, pixels to channels and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.writing import combine_at, renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _pad_forward(xp: Any, a: Any, pads: tuple[tuple[int, int], ...], value: float) -> Any:
    shape = tuple([n + low + high for n, (low, high) in zip(a.shape, pads, strict=True)])
    out = xp.full(shape, value, a.dtype)
    place = tuple([slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(shape, pads, strict=True)])
    part = tuple([slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(a.shape, pads, strict=True)])
    out[place] = a[part]
    return out


_pad = Op(
    "constant_pad_nd",
    _pad_forward,
    (lambda ns, g, pads: ns.constant_pad_nd(g, tuple([(-low, -high) for low, high in pads]), 0),),
)


def _borders(n: int, low: int, high: int, mode: str) -> list[tuple[slice, slice]]:
    """Where the border elements of a dimension of extent ``n`` go, and where in the padded one they come from."""
    end = low + n
    pairs: list[tuple[slice, slice]] = []
    if low:
        source = {"reflect": slice(2 * low, low, -1), "replicate": slice(low, low + 1), "circular": slice(n, end)}[mode]
        pairs.append((slice(0, low), source))
    if high:
        last = end - 2 - high
        backwards = slice(end - 2, last if last >= 0 else None, -1)
        source = {"reflect": backwards, "replicate": slice(end - 1, end), "circular": slice(low, low + high)}[mode]
        pairs.append((slice(end, end + high), source))
    return pairs


def _border(xp: Any, a: Any, pads: tuple[tuple[int, int], ...], mode: str) -> Any:
    """The array with its borders continued, one dimension after the other."""
    shape = tuple([n + low + high for n, (low, high) in zip(a.shape, pads, strict=True)])
    out = xp.empty(shape, a.dtype)
    out[tuple([slice(low, low + n) for n, (low, _) in zip(a.shape, pads, strict=True)])] = a
    place = [slice(low, low + n) for n, (low, _) in zip(a.shape, pads, strict=True)]
    for dim, (n, (low, high)) in enumerate(zip(a.shape, pads, strict=True)):
        lead = tuple(place[:dim])
        rest = tuple(place[dim + 1 :])
        for target, source in _borders(n, low, high, mode):
            out[(*lead, target, *rest)] = out[(*lead, source, *rest)]
        place[dim] = slice(0, n + low + high)
    return out


def _border_gradient(xp: Any, g: Any, pads: tuple[tuple[int, int], ...], mode: str) -> Any:
    """The adjoint: what went to the borders is added where it came from, in the opposite order."""
    g = g.copy()
    extents = [n - low - high for n, (low, high) in zip(g.shape, pads, strict=True)]
    for dim in reversed(range(g.ndim)):
        n, (low, high) = extents[dim], pads[dim]
        for target, source in reversed(_borders(n, low, high, mode)):
            part = g[(slice(None),) * dim + (target,)]
            if mode == "replicate":
                part = part.sum(axis=dim, keepdims=True)
            g[(slice(None),) * dim + (source,)] += part
        g = g[(slice(None),) * dim + (slice(low, low + n),)]
    return xp.ascontiguousarray(g)


_border_op = Op(
    "border",
    _border,
    (lambda ns, g, pads, mode: ns.border_gradient(g, pads, mode),),
)
Op("border_gradient", _border_gradient, (lambda ns, g, pads, mode: ns.border(g, pads, mode),))


def _take_axis(xp: Any, a: Any, index: Any, dim: int) -> Any:
    return a.take(index, dim)


def _add_axis(xp: Any, g: Any, index: Any, size: int, dim: int) -> Any:
    """The adjoint of taking along one dimension: sums of the entries that came from one place."""
    shape = (*g.shape[:dim], size, *g.shape[dim + 1 :])
    out = xp.zeros(shape, g.dtype)
    lead = (slice(None),) * dim
    if xp is not np:
        combine_at(xp, "add", out, (*lead, index), g)
    elif len(index):
        if (index[1:] < index[:-1]).any():
            order = np.argsort(index, kind="stable")
            index, g = index[order], np.take(g, order, dim)
        starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
        out[(*lead, index[starts])] = g if len(starts) == len(index) else np.add.reduceat(g, starts, axis=dim)
    return out


_take = Op(
    "take_axis",
    _take_axis,
    (lambda ns, g, index, a_shape, dim: ns.add_axis(g, index, a_shape[dim], dim), None),
    node="IndexSelectBackward0",
)
_add_axis_op = Op("add_axis", _add_axis, (lambda ns, g, index, dim: ns.take_axis(g, index, dim), None))


def _chosen(input: Tensor, index: np.ndarray, dim: int) -> Tensor:
    xp = module_of(input._array)
    return apply(_take, (input, wrap(xp.asarray(index))), (dim,))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Lengthen the last dimensions, or shorten them where an amount is negative.

    Args:
        pad: ``(left, right)`` of the last dimension, then of the one before it, and so on.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: of the new elements with ``"constant"``.
    """
    amounts = [int(n) for n in pad]
    shape = input._array.shape
    ndim, count = len(shape), len(amounts) // 2
    if len(amounts) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {list(amounts)}")
    if count > ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {ndim}"
        )
    pairs = [(0, 0)] * (ndim - count) + [(amounts[2 * i], amounts[2 * i + 1]) for i in reversed(range(count))]
    least = 1 if mode in ("reflect", "replicate") else 0
    for dim, (n, (low, high)) in enumerate(zip(shape, pairs, strict=True)):
        if n + low + high < least and (low, high) != (0, 0):
            raise RuntimeError(
                f"The input size {n}, plus negative padding {low} and {high} resulted in an output size of {n + low + high}, which is "
                f"invalid. Check dimension {dim} of your input."
            )
    if mode == "constant":
        return apply(_pad, (input,), (tuple(pairs), 0.0 if value is None else value))
    if value is not None:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got {ndim}D with {len(amounts)}"
        )
    cut = tuple([(min(low, 0), min(high, 0)) for low, high in pairs])
    longer = tuple([(max(low, 0), max(high, 0)) for low, high in pairs])
    shorter = any(low or high for low, high in cut)
    if mode == "circular" and shorter:  # what is cut off is not repeated
        input, shorter = apply(_pad, (input,), (cut, 0.0)), False
    for dim, (n, (low, high)) in enumerate(zip(input._array.shape, longer, strict=True)):
        if mode == "reflect" and max(low, high) >= n and low + high:
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {dim} of input {list(shape)}"
            )
        if mode == "circular" and max(low, high) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
    if any(low or high for low, high in longer):
        input = apply(_border_op, (input,), (longer, mode))
    elif not shorter and not any(low or high for low, high in cut):
        input = input.clone()
    result = apply(_pad, (input,), (cut, 0.0)) if shorter else input
    if mode == "circular":
        return renamed(result, "torch::autograd::CopySlices")
    return renamed(result, f"{'Reflection' if mode == 'reflect' else 'Replication'}Pad{count}DBackward0")


def _columns(xp: Any, a: Any, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents) -> Any:
    batch, channels, height, width = a.shape
    rows, cols = _grid((height, width), kernel, stride, pads, dilation)
    buffer = xp.zeros((batch, channels, height + 2 * pads[0], width + 2 * pads[1]), a.dtype)
    buffer[:, :, pads[0] : pads[0] + height, pads[1] : pads[1] + width] = a
    out = xp.empty((batch, channels, *kernel, rows, cols), a.dtype)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        out[:, :, i, j] = buffer[(slice(None), slice(None), *_lattice((i, j), (rows, cols), stride, dilation))]
    return out.reshape(batch, channels * kernel[0] * kernel[1], rows * cols)


def _uncolumns(
    xp: Any, g: Any, spatial: Extents, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents
) -> Any:
    rows, cols = _grid(spatial, kernel, stride, pads, dilation)
    g = g.reshape(g.shape[0], g.shape[1] // math.prod(kernel), *kernel, rows, cols)
    height, width = spatial
    buffer = xp.zeros((g.shape[0], g.shape[1], height + 2 * pads[0], width + 2 * pads[1]), g.dtype)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        buffer[(slice(None), slice(None), *_lattice((i, j), (rows, cols), stride, dilation))] += g[:, :, i, j]
    return xp.ascontiguousarray(buffer[:, :, pads[0] : pads[0] + height, pads[1] : pads[1] + width])


def _lattice(offset: Extents, out: Extents, stride: Extents, dilation: Extents) -> tuple[slice, ...]:
    return tuple(
        [slice(o * d, o * d + (n - 1) * s + 1, s) for o, n, s, d in zip(offset, out, stride, dilation, strict=True)]
    )


def _grid(spatial: Extents, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents) -> Extents:
    return tuple(
        [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(spatial, kernel, stride, pads, dilation, strict=True)
        ]
    )


_unfold = Op(
    "im2col",
    _columns,
    (lambda ns, g, a_shape, kernel, stride, pads, dilation: ns.col2im(g, a_shape[2:], kernel, stride, pads, dilation),),
    node="Im2ColBackward0",
)
_fold = Op(
    "col2im",
    _uncolumns,
    (lambda ns, g, kernel, stride, pads, dilation: ns.im2col(g, kernel, stride, pads, dilation),),
    node="Col2ImBackward0",
)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of an image as a column.

    Args:
        input: ``(batch, channels, height, width)``, or without the batch.

    Returns:
        ``(batch, channels * window elements, windows)``.
    """
    if input.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if input.ndim != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor for input, but got: {list(input.shape)}")
    kernel, steps = extents(kernel_size, 2, "kernel_size"), extents(stride, 2, "stride")
    pads, spread = extents(padding, 2, "padding"), extents(dilation, 2, "dilation")
    grid = _grid(input._array.shape[2:], kernel, steps, pads, spread)
    if min(grid) < 1:
        raise RuntimeError(
            f"Given input with spatial size {list(input.shape[2:])}, kernel_size={kernel}, dilation={spread}, "
            f"padding={pads}, calculated shape of the array of sliding blocks as {grid}, but its components must be at least one."
        )
    return apply(_unfold, (input,), (kernel, steps, pads, spread))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sum columns, as :func:`unfold` makes them, back into images of ``output_size``."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    spatial, kernel = extents(output_size, 2, "output_size"), extents(kernel_size, 2, "kernel_size")
    steps, pads = extents(stride, 2, "stride"), extents(padding, 2, "padding")
    spread = extents(dilation, 2, "dilation")
    grid = _grid(spatial, kernel, steps, pads, spread)
    if input.ndim != 3 or input.shape[1] % math.prod(kernel) or input.shape[2] != math.prod(grid) or min(grid) < 1:
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={spread}, padding={pads}, stride={steps}, expected "
            f"input of shape (batch, a multiple of {math.prod(kernel)}, {math.prod(grid)}), but got {list(input.shape)}"
        )
    return apply(_fold, (input,), (spatial, kernel, steps, pads, spread))


# Elements in another order: an array seen in more dimensions, which are permuted and merged again


def _rearranging(name: str) -> Op:
    return Op(
        name,
        lambda xp, a, split, order, shape: a.reshape(split).transpose(order).copy().reshape(shape),
        (
            lambda ns, g, a_shape, split, order: ns.rearrange(
                g, tuple([split[i] for i in order]), tuple([order.index(i) for i in range(len(order))]), a_shape
            ),
        ),
    )


_rearranging("rearrange")
_pixel_shuffle, _pixel_unshuffle = _rearranging("pixel_shuffle"), _rearranging("pixel_unshuffle")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)`` (Shi et al., 2016)."""
    r, shape = upscale_factor, input._array.shape
    if len(shape) < 3 or shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input of shape {list(shape)} is not divisible by {r * r}"
        )
    lead, (c, h, w) = shape[:-3], shape[-3:]
    k = len(lead)
    split, order = (*lead, c // (r * r), r, r, h, w), (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return apply(_pixel_shuffle, (input,), (split, order, (*lead, c // (r * r), h * r, w * r)))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``, the inverse of :func:`pixel_shuffle`."""
    r, shape = downscale_factor, input._array.shape
    if len(shape) < 3 or shape[-1] % r or shape[-2] % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by {r}, but got {list(shape)}")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    k = len(lead)
    split, order = (*lead, c, h // r, r, w // r, r), (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return apply(_pixel_unshuffle, (input,), (split, order, (*lead, c * r * r, h // r, w // r)))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of ``groups`` groups of ``(batch, channels, *)`` (Zhang et al., 2018)."""
    shape = tuple(input.shape)
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups: {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    split = input.reshape(shape[0], groups, shape[1] // groups, *shape[2:])
    return renamed(split.transpose(1, 2).contiguous().view(shape), "ChannelShuffleBackward0")


__all__: Sequence[str] = ["channel_shuffle", "fold", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]
