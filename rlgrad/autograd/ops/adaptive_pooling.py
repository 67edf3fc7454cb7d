"""Pools that are given how many windows to make instead of how large ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops import small_pools
from rlgrad.autograd.ops.average_pooling import _avg_pool
from rlgrad.autograd.ops.convolution import Extents
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.max_pooling import _max_pool, _plane_gather_op
from rlgrad.autograd.ops.resampling import along_dims, area_matrix
from rlgrad.autograd.ops.windows import spatial_extents
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _adaptive(name: str, input: Tensor, output_size: Any, rank: int) -> tuple[Extents, Extents]:
    sizes = (output_size,) * rank if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(sizes) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank} numbers, got {output_size}")
    if rank > 1 and input.ndim <= rank and sizes is output_size:
        raise ValueError(f"Input dimension should be at least {rank + 1}, got {input.ndim}")
    spatial = spatial_extents(name, input, rank)
    out = tuple([n if m is None else int(m) for n, m in zip(spatial, sizes, strict=True)])
    if min(out) < 0 or 0 in spatial:
        raise RuntimeError(f"{name}: cannot pool an input of shape {list(input.shape)} to {list(out)}")
    require_floating(input, name)
    return spatial, out


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _adaptive_avg(name: str, input: Tensor, output_size: Any, rank: int) -> Tensor:
    spatial, out = _adaptive(name, input, output_size, rank)
    node = "SqueezeBackward1" if rank == 1 else f"AdaptiveAvgPool{rank}DBackward0"
    if all(m and n % m == 0 for n, m in zip(spatial, out, strict=True)):
        kernel = tuple([n // m for n, m in zip(spatial, out, strict=True)])
        result = apply(_avg_pool, (input,), (kernel, kernel, (0,) * rank, out, 1.0 / math.prod(kernel)))
        return renamed(result, "MeanBackward1" if rank > 1 and math.prod(out) == 1 else node)
    bands = [area_matrix(n, m) for n, m in zip(spatial, out, strict=True)]
    return along_dims(input, bands, node)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover ``input (batch, channels, length)``."""
    return _adaptive_avg("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover ``input (batch, channels, height, width)``; ``None`` keeps an extent."""
    return _adaptive_avg("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover each volume; ``None`` keeps an extent."""
    return _adaptive_avg("adaptive_avg_pool3d", input, output_size, 3)


def _adaptive_max(name: str, input: Tensor, output_size: Any, rank: int, return_indices: bool) -> Any:
    spatial, out = _adaptive(name, input, output_size, rank)
    node = "SqueezeBackward1" if rank == 1 else f"AdaptiveMaxPool{rank}DBackward0"
    array = input._array
    xp = module_of(array)
    if xp is np and 0 < array.size <= small_pools.LIMIT and min(out):
        table = small_pools.adaptive_windows(spatial, out)
        found = None if table is None else small_pools.maxima(array, table, out)
        if found is not None:
            places = wrap(found[1])
            values = renamed(apply(_plane_gather_op, (input, places), (rank,)), node)
            return (values, places) if return_indices else values
    indices = wrap(_places_of_maxima(xp, array, out))
    values = renamed(apply(_plane_gather_op, (input, indices), (rank,)), node)
    return (values, indices) if return_indices else values


def _places_of_maxima(xp: Any, array: Any, out: Extents) -> Any:
    """Where in its plane the first largest element of each window lies, found along one dimension after the other."""
    rank = len(out)
    if 0 in out:
        return xp.zeros((*array.shape[:-rank], *out), np.int64)
    if all(n % m == 0 for n, m in zip(array.shape[-rank:], out, strict=True)):
        kernel = tuple([n // m for n, m in zip(array.shape[-rank:], out, strict=True)])
        return _max_pool.forward(xp, array, kernel, kernel, (0,) * rank, (1,) * rank, out)[1]
    values, places = array, None
    for axis in range(array.ndim - 1, array.ndim - 1 - rank, -1):
        size, below = array.shape[axis], math.prod(array.shape[axis + 1 :])
        lead = (slice(None),) * axis
        parts = []
        for start, end in _bounds(size, out[axis - array.ndim]):
            part = (*lead, slice(start, end))
            best = xp.expand_dims(values[part].argmax(axis), axis)
            inner = 0 if places is None else xp.take_along_axis(places[part], best, axis)
            parts.append((xp.take_along_axis(values[part], best, axis), (best + start) * below + inner))
        values, places = (xp.concatenate(some, axis) for some in zip(*parts, strict=True))
    return places


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover ``input (batch, channels, length)``."""
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover ``input (batch, channels, height, width)``."""
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover each volume; ``None`` keeps an extent."""
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


__all__: Sequence[str] = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]
