"""Maxima of windows: a selection, whose gradient goes to the chosen element, and so on for every order.

The windows lie along the last one, two or three dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops import small_pools
from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.windows import absent, covered, out_extents, padded, spatial_extents, window_parts
from rlgrad.autograd.ops.writing import renamed, weigh_by_index
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.kernels import jit


def _max_forward(
    xp: Any, a: Any, kernel: Extents, stride: Extents, pad: Extents, dilation: Extents, windows: Extents
) -> tuple[Any, Any]:
    out, rank = windows, len(kernel)
    if xp is np and 0 < a.size <= small_pools.LIMIT and max(dilation) == 1:
        table = small_pools.windows(a.shape[-rank:], out, kernel, stride, pad)
        found = None if table is None else small_pools.maxima(a, table, out)
        if found is not None:
            return found
    if xp is np and rank < 3 and a.size and jit.suits(a):
        return _max_compiled(a, kernel, stride, pad, dilation, out)
    spatial = a.shape[-rank:]
    buffer = padded(xp, a, pad, covered(out, kernel, stride, dilation), -math.inf)
    steps, parts = zip(*window_parts(out, kernel, stride, dilation), strict=True)
    values = [buffer[part] for part in parts]
    best = values[0].copy()
    for value in values[1:]:
        xp.maximum(best, value, out=best)
    # Which element of its window each maximum is: the first of equals, and the last that is not a number.
    chosen = xp.zeros(best.shape, np.int16)
    for i in range(len(values) - 1, -1, -1):
        xp.copyto(chosen, chosen.dtype.type(i), where=values[i] == best)
    if bool((best != best).any()):
        for i, value in enumerate(values):
            xp.copyto(chosen, chosen.dtype.type(i), where=value != value)
    within = np.zeros(len(values), np.int64)
    first: Any = 0
    inside: Any = True
    for i in range(rank):
        offsets = np.array([step[i] * dilation[i] for step in steps])
        start = xp.arange(out[i]) * stride[i] - pad[i]
        start = start.reshape([-1 if j == i else 1 for j in range(rank)])
        first, within = first * spatial[i] + start, within * spatial[i] + offsets
        place = start + xp.asarray(offsets).reshape(-1, *[1] * rank)
        inside = inside & (place >= 0) & (place < spatial[i])
    low = best == -math.inf
    if any(pad) and bool(low.any()):  # the padding is no element
        for i in range(len(values) - 1, -1, -1):
            xp.copyto(chosen, chosen.dtype.type(i), where=low & inside[i])
    index = xp.asarray(within)[chosen]
    index += first
    return best, index


def _max_compiled(
    a: Any, kernel: Extents, stride: Extents, pad: Extents, dilation: Extents, out: Extents
) -> tuple[Any, Any]:
    rank = len(kernel)
    lead = a.shape[:-rank]
    best, index = np.empty((*lead, *out), a.dtype), np.empty((*lead, *out), np.int64)
    ones, zeros = (1,) * (2 - rank), (0,) * (2 - rank)
    planes = np.ascontiguousarray(a).reshape(-1, *ones, *a.shape[-rank:])
    results = best.reshape(-1, *ones, *out), index.reshape(-1, *ones, *out)
    window = ((*ones, *kernel), (*ones, *stride), (*zeros, *pad), (*ones, *dilation))
    jit.shared(jit.kernels().max_pool, len(planes), best.size * math.prod(kernel), planes, *window, *results)
    return best, index


def flat_planes(a: Any, rank: int) -> tuple[int, ...]:
    """The shape in which each plane (or volume) is one vector."""
    return (*a.shape[:-rank], math.prod(a.shape[-rank:]))


def _plane_gather(xp: Any, a: Any, index: Any, rank: int) -> Any:
    if xp is np and 0 < a.size <= small_pools.LIMIT:
        planes = math.prod(a.shape[:-rank])
        return a.reshape(-1)[small_pools.numbers(planes, a.size // planes, index.reshape(planes, -1))].reshape(
            index.shape
        )
    flat = xp.take_along_axis(a.reshape(flat_planes(a, rank)), index.reshape(flat_planes(index, rank)), -1)
    return flat.reshape(index.shape)


def _plane_scatter(xp: Any, g: Any, index: Any, spatial: Extents, distinct: bool) -> Any:
    """Add each element at its index in its plane of extents ``spatial``."""
    rank, size = len(spatial), math.prod(spatial)
    lead = g.shape[:-rank]
    planes = math.prod(lead)
    small = xp is np and g.size <= small_pools.LIMIT
    if xp is np and not small and jit.suits(g):
        out = np.zeros((planes, size), g.dtype)
        values, places = (np.ascontiguousarray(a).reshape(planes, -1) for a in (g, index))
        jit.shared(jit.kernels().plane_scatter, planes, g.size, values, places, distinct, out)
        return out.reshape(*lead, *spatial)
    places = index.reshape(planes, math.prod(g.shape[-rank:]))
    where = small_pools.numbers(planes, size, places) if small else xp.arange(planes)[:, None] * size + places
    where = where.reshape(-1)
    values = g.reshape(-1)
    if distinct:
        out = xp.zeros(planes * size, g.dtype)
        out[where] = values
    else:
        out = weigh_by_index(xp, where, values, planes * size).astype(g.dtype)
    return out.reshape(*lead, *spatial)


def _max_vjp(ns: Any, grads: Any, out1: Any, a_shape: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    distinct = all(s >= d * (k - 1) + 1 for s, k, d in zip(stride, kernel, dilation, strict=True))
    return ns.plane_scatter(grads[0], out1, a_shape[-len(kernel) :], distinct)


_max_pool = Op("max_pool", _max_forward, (_max_vjp,), multiple=True, node="MaxPool2DWithIndicesBackward0")


_plane_gather_op = Op(
    "plane_gather",
    _plane_gather,
    (lambda ns, g, index, a_shape, rank: ns.plane_scatter(g, index, a_shape[len(a_shape) - rank :], False), None),
)


_plane_scatter_op = Op(
    "plane_scatter",
    _plane_scatter,
    (lambda ns, g, index, spatial, distinct: ns.plane_gather(g, index, len(spatial)), None),
)


def _max_pooling(rank: int, dims: str) -> Callable[..., Any]:
    """The public function for windows of ``rank`` dimensions, which are called ``dims``."""
    name = f"max_pool{rank}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        spatial = spatial_extents(name, input, rank)
        kernel = extents(kernel_size, rank, "kernel_size")
        if 0 in input._array.shape[-rank - 1 :]:
            raise RuntimeError(
                f"{name}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for "
                f"input, but got {list(input.shape)}: its non-batch dimensions should have positive length"
            )
        steps = kernel if absent(stride) else extents(stride, rank, "stride")
        pad, spread = extents(padding, rank, "padding"), extents(dilation, rank, "dilation")
        out = out_extents(name, spatial, kernel, steps, pad, spread, ceil_mode)
        if rank == 1 or input._array.dtype == np.bool_:
            require_floating(input, name)
        values, indices = apply(_max_pool, (input,), (kernel, steps, pad, spread, out))
        if rank != 2:
            renamed(values, "SqueezeBackward1" if rank == 1 else "MaxPool3DWithIndicesBackward0")
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""Largest element of each window of ``input (batch, channels, {dims})``.

    Args:
        kernel_size, stride, padding, dilation: one number, or one for each of ``{dims}``; the stride is the window's
            extent unless given.
        ceil_mode: let windows start inside the input and reach past its end.
        return_indices: return also where each maximum lies among the elements of its channel, counted row by row.
    """
    return pool


max_pool1d = _max_pooling(1, "length")
max_pool2d = _max_pooling(2, "height, width")
max_pool3d = _max_pooling(3, "depth, height, width")

__all__: Sequence[str] = ["max_pool1d", "max_pool2d", "max_pool3d"]
