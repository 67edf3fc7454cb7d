"""Pools that choose elements by index: maxima put back where they came from, and maxima of windows at random places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.max_pooling import _plane_gather_op, _plane_scatter_op, flat_planes
from rlgrad.autograd.ops.windows import absent, spatial_extents
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of
from rlgrad.backend.random import default_generator


def _unpooled(default: Extents, output_size: Any, stride: Extents, rank: int) -> Extents:
    if output_size is None:
        return default
    given = tuple([int(n) for n in output_size])
    if len(given) == rank + 2:
        given = given[2:]
    if len(given) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
            f"'{len(given)}'"
        )
    for n, size, s in zip(default, given, stride, strict=True):
        if not n - s < size < n + s:
            raise ValueError(f"invalid output_size {given} (dim should be between {n - s} and {n + s}, exclusive)")
    return given


def _max_unpool(
    name: str, rank: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    kernel = extents(kernel_size, rank, "kernel_size")
    steps = kernel if absent(stride) else extents(stride, rank, "stride")
    pads = extents(padding, rank, "padding")
    spatial = spatial_extents(name, input, rank)
    places = indices._array
    if places.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype!r}")
    if places.shape != input._array.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor "
            f"with shape: {list(indices.shape)}"
        )
    default = tuple([(n - 1) * s - 2 * p + k for n, s, p, k in zip(spatial, steps, pads, kernel, strict=True)])
    out = _unpooled(default, output_size, steps, rank)
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < math.prod(out):
        raise RuntimeError(f"{name}: found an invalid max index, beyond the {math.prod(out)} elements of {list(out)}")
    result = apply(_plane_scatter_op, (require_floating(input, name), indices), (out, True))
    return renamed(result, "SqueezeBackward1" if rank == 1 else f"MaxUnpool{rank}DBackward0")


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put the maxima that :func:`max_pool1d` found back into zeros (Zeiler and Fergus, 2014).

    Args:
        input: maxima ``(batch, channels, length)``, or without the batch.
        indices: where each was, in the same shape.
        output_size: length of the result, where several could have given these maxima.
    """
    return _max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put the maxima that :func:`max_pool2d` found back into zeros; arguments as for :func:`max_unpool1d`."""
    return _max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put the maxima that :func:`max_pool3d` found back into zeros; arguments as for :func:`max_unpool1d`."""
    return _max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


# Graham (2014), "Fractional max-pooling": windows overlap, and start at pseudorandom steps


def _starts(samples: Any, size: int, out: int, kernel: int) -> Any:
    """First elements of the windows, ``(batch, channels, out)``, for uniform numbers ``(batch, channels)``."""
    if out == 1:
        return np.full((*samples.shape, 1), size - kernel)
    step = (size - kernel) / (out - 1)
    sample = samples.astype(np.float64)[..., None]
    starts = ((np.arange(out) + sample) * step).astype(np.int64) - (sample * step).astype(np.int64)
    starts[..., -1] = size - kernel
    return starts


def _fractional(
    name: str,
    rank: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    random_samples: Tensor | None,
) -> Any:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    spatial = spatial_extents(name, input, rank)
    kernel = extents(kernel_size, rank, "kernel_size")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
        if len(ratios) != rank:
            raise ValueError(f"{name} requires output_ratio to either be a single number or tuple of {rank} of them.")
        output_size = [int(n * r) for n, r in zip(spatial, ratios, strict=True)]
    out = extents(output_size, rank, "output_size")
    for n, m, k in zip(spatial, out, kernel, strict=True):
        if m + k - 1 > n or m < 1:
            raise RuntimeError(f"{name}: {m} windows of {k} elements do not fit into an input of size {n}")
    require_floating(input, name)
    batched = input if input.ndim == rank + 2 else input.unsqueeze(0)
    array = batched._array
    xp = module_of(array)
    if random_samples is None:
        samples = default_generator.numpy.random((*array.shape[:2], rank))
    else:
        samples = random_samples.detach().cpu().numpy()[: array.shape[0]]
        if samples.shape != (*array.shape[:2], rank):
            raise RuntimeError(
                f"{name}: _random_samples should have the shape {[*array.shape[:2], rank]}, got {list(random_samples.shape)}"
            )
    index: Any = np.zeros((*array.shape[:2], *[1] * (2 * rank)), np.int64)
    for i, (n, m, k) in enumerate(zip(spatial, out, kernel, strict=True)):
        sample = samples[:, :, rank - 1 - i] if rank == 2 else samples[:, :, i]
        places = _starts(sample, n, m, k)[..., None] + np.arange(k)  # (batch, channels, out, kernel)
        shape = list(index.shape[:2]) + [1] * (2 * rank)
        shape[2 + i], shape[2 + rank + i] = m, k
        index = index * n + places.reshape(shape)
    index = xp.asarray(index.reshape(*array.shape[:2], math.prod(out), math.prod(kernel)))
    flat = index.reshape(*array.shape[:2], math.prod(out) * math.prod(kernel))
    windows = xp.take_along_axis(array.reshape(flat_planes(array, rank)), flat, -1)
    best = windows.reshape(index.shape).argmax(-1)
    chosen = wrap(xp.take_along_axis(index, best[..., None], -1).reshape(*array.shape[:2], *out))
    values = apply(_plane_gather_op, (batched, chosen), (rank,))
    if batched is not input:
        values, chosen = values.squeeze(0), chosen.squeeze(0)
    renamed(values, f"FractionalMaxPool{rank}DBackward0")
    return (values, chosen) if return_indices else values


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows at pseudorandom places of ``input (batch, channels, height, width)`` (Graham, 2014).

    Args:
        output_size: windows in each dimension.
        output_ratio: the same as a share of the input's extents.
        return_indices: return also where each maximum lies in its plane.
    """
    return _fractional(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows at pseudorandom places of volumes; arguments as for :func:`fractional_max_pool2d`."""
    return _fractional(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


__all__: Sequence[str] = [
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]
