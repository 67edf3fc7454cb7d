"""Pooling in one and two dimensions.

Averages and sums of windows are linear, so their adjoint spreads what they gathered. A maximum is a selection: its
gradient goes to the chosen element, and the derivative of that is the same selection again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops import small_pools
from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.resampling import along_dim, area_matrix
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of
from rlgrad.backend.kernels import jit


def _parts(out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Any:
    """For each element of a window, the slices of the padded input that hold it, one entry for each window."""
    for offsets in itertools.product(*map(range, kernel)):
        yield (
            offsets,
            (
                Ellipsis,
                *[
                    slice(o * d, o * d + (n - 1) * s + 1, s)
                    for o, n, s, d in zip(offsets, out, stride, dilation, strict=True)
                ],
            ),
        )


def _padded(xp: Any, a: Any, pad: Extents, cover: Extents, value: float) -> Any:
    rank = len(pad)
    spatial = a.shape[-rank:]
    if all(p == 0 and c <= n for p, c, n in zip(pad, cover, spatial, strict=True)):
        return a
    full = tuple([max(p + n, c) for p, n, c in zip(pad, spatial, cover, strict=True)])
    buffer = xp.full((*a.shape[:-rank], *full), value, a.dtype)
    buffer[(Ellipsis, *[slice(p, p + n) for p, n in zip(pad, spatial, strict=True)])] = a
    return buffer


def _cover(out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Extents:
    return tuple([(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in zip(out, kernel, stride, dilation, strict=True)])


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
    buffer = _padded(xp, a, pad, _cover(out, kernel, stride, dilation), -math.inf)
    steps, parts = zip(*_parts(out, kernel, stride, dilation), strict=True)
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


def _flat(a: Any, rank: int) -> tuple[int, ...]:
    return (*a.shape[:-rank], math.prod(a.shape[-rank:]))


def _plane_gather(xp: Any, a: Any, index: Any, rank: int) -> Any:
    if xp is np and 0 < a.size <= small_pools.LIMIT:
        planes = math.prod(a.shape[:-rank])
        return a.reshape(-1)[small_pools.numbers(planes, a.size // planes, index.reshape(planes, -1))].reshape(
            index.shape
        )
    flat = xp.take_along_axis(a.reshape(_flat(a, rank)), index.reshape(_flat(index, rank)), -1)
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
        out = xp.bincount(where, values, planes * size).astype(g.dtype)
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


def _out_extents(
    name: str,
    shape: Extents,
    kernel: Extents,
    stride: Extents,
    pad: Extents,
    dilation: Extents,
    ceil_mode: bool,
) -> Extents:
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got {kernel}")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: stride should not be zero")
    if min(dilation) <= 0:
        raise RuntimeError(f"{name}: dilation must be greater than zero, but got {dilation}")
    if any(p < 0 or p > k // 2 for p, k in zip(pad, kernel, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={pad} and kernel {kernel}"
        )
    sizes = []
    for n, k, s, p, d in zip(shape, kernel, stride, pad, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        size = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (size - 1) * s >= n + p:
            size -= 1  # a window may not start in the far padding
        sizes.append(size)
    if min(sizes) <= 0:
        raise RuntimeError(
            f"Given input size: {list(shape)}. Calculated output size: {sizes}. Output size is too small ({name})"
        )
    return tuple(sizes)


def _rank(name: str, input: Tensor, rank: int) -> Extents:
    shape = input._array.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}: non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input, but got {list(shape)}"
        )
    return shape[-rank:]


def _absent(stride: Any) -> bool:
    return stride is None or (isinstance(stride, (tuple, list)) and not stride)


def _pool_max(
    name: str,
    rank: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    spatial = _rank(name, input, rank)
    kernel = extents(kernel_size, rank, "kernel_size")
    if 0 in input._array.shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got {list(input.shape)}: its non-batch dimensions should have positive length"
        )
    steps = kernel if _absent(stride) else extents(stride, rank, "stride")
    pad, spread = extents(padding, rank, "padding"), extents(dilation, rank, "dilation")
    out = _out_extents(name, spatial, kernel, steps, pad, spread, ceil_mode)
    values, indices = apply(_max_pool, (input,), (kernel, steps, pad, spread, out))
    return (values, indices) if return_indices else values


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of ``input (batch, channels, length)``, and its index if asked for."""
    return _pool_max("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of ``input (batch, channels, height, width)``.

    Args:
        return_indices: return also where each maximum lies in its plane of ``height * width`` elements.
    """
    return _pool_max("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


_MANY = 16  # elements of a window from which on one reduction beats a pass for each of them


def _in_windows(lead: Extents, out: Extents, kernel: Extents) -> Extents:
    """The shape of an array seen as windows that lie side by side: two extents for each dimension."""
    return (*lead, *[n for pair in zip(out, kernel, strict=True) for n in pair])


def _window_sum(xp: Any, a: Any, kernel: Extents, stride: Extents, pad: Extents, windows: Extents, scale: Any) -> Any:
    out, ones = windows, (1,) * len(kernel)
    cover = _cover(out, kernel, stride, ones)
    table = small_pools.inner_windows(xp, a, a.shape[a.ndim - len(kernel) :], kernel, stride, pad, out, cover)
    if table is not None:
        total = small_pools.sums(a, table, out)
        total *= _scale(xp, scale, total.dtype)
        return total
    if math.prod(kernel) > _MANY and stride == kernel and not any(pad):
        rank = len(kernel)
        whole = a[(Ellipsis, *[slice(m * k) for m, k in zip(out, kernel, strict=True)])]
        if whole.shape[a.ndim - rank :] == tuple([m * k for m, k in zip(out, kernel, strict=True)]):
            total = whole.reshape(_in_windows(a.shape[: a.ndim - rank], out, kernel)).sum(
                tuple(range(1 - 2 * rank, 0, 2))
            )
            return total * _scale(xp, scale, total.dtype)
    buffer = _padded(xp, a, pad, cover, 0)
    total = None
    for _, part in _parts(out, kernel, stride, ones):
        if total is None:
            total = buffer[part].copy()
        else:
            total += buffer[part]
    assert total is not None
    total *= _scale(xp, scale, total.dtype)
    return total


def _scale(xp: Any, scale: Any, dtype: Any) -> Any:
    """A product of one factor for each dimension."""
    if not isinstance(scale, tuple):
        return scale
    result: Any = 1
    for i, factors in enumerate(scale):
        part = xp.asarray(factors, dtype)
        result = result * part.reshape([-1 if j == i else 1 for j in range(len(scale))])
    return result


def _window_spread(
    xp: Any, g: Any, spatial: Extents, kernel: Extents, stride: Extents, pad: Extents, windows: Extents, scale: Any
) -> Any:
    out, ones = windows, (1,) * len(kernel)
    cover = _cover(out, kernel, stride, ones)
    g = g * _scale(xp, scale, g.dtype)
    if all(s >= k for s, k in zip(stride, kernel, strict=True)):
        table = small_pools.inner_windows(xp, g, spatial, kernel, stride, pad, out, cover)
        if table is not None:
            return small_pools.spread(g, table, spatial)
    full = tuple([max(p + n, c) for p, n, c in zip(pad, spatial, cover, strict=True)])
    buffer = xp.zeros((*g.shape[: -len(kernel)], *full), g.dtype)
    for _, part in _parts(out, kernel, stride, ones):
        buffer[part] += g
    return buffer[(Ellipsis, *[slice(p, p + n) for p, n in zip(pad, spatial, strict=True)])]


_avg_pool = Op(
    "avg_pool",
    _window_sum,
    (
        lambda ns, g, a_shape, kernel, stride, pad, windows, scale: ns.avg_pool_spread(
            g, a_shape[len(a_shape) - len(kernel) :], kernel, stride, pad, windows, scale
        ),
    ),
    node="AvgPool2DBackward0",
)
Op(
    "avg_pool_spread",
    _window_spread,
    (lambda ns, g, kernel, stride, pad, windows, scale: ns.avg_pool(g, kernel, stride, pad, windows, scale),),
    node="AvgPool2DBackwardBackward0",
)


def _pool_avg(
    name: str,
    rank: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None = None,
) -> Tensor:
    spatial = _rank(name, input, rank)
    kernel = extents(kernel_size, rank, "kernel_size")
    steps = kernel if _absent(stride) else extents(stride, rank, "stride")
    pad = extents(padding, rank, "padding")
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if not input.is_floating_point():  # means of integers are rounded towards zero
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor)
        return _pool_avg(name, rank, input.double(), *options).trunc().to(input.dtype)
    out = _out_extents(name, spatial, kernel, steps, pad, (1,) * rank, ceil_mode)
    if divisor is not None:
        scale: Any = 1.0 / divisor
    elif not ceil_mode and (count_include_pad or not any(pad)):
        scale = 1.0 / math.prod(kernel)
    else:
        factors = []
        for n, k, s, p, m in zip(spatial, kernel, steps, pad, out, strict=True):
            start = np.arange(m) * s - p
            end = np.minimum(start + k, n + p)
            if not count_include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, n)
            factors.append(tuple((1.0 / (end - start)).tolist()))
        scale = tuple(factors)
    return apply(_avg_pool, (input,), (kernel, steps, pad, out, scale))


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of ``input (batch, channels, length)``."""
    return _pool_avg("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of ``input (batch, channels, height, width)``.

    Args:
        count_include_pad: count the zeros of the padding as elements.
        divisor_override: divide by this instead of the number of elements.
    """
    return _pool_avg(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """The ``norm_type``-norm of each window, for inputs of one sign."""
    total = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (total.sign() * total.abs().relu()).mul(kernel_size).pow(1.0 / norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window, for inputs of one sign."""
    count = math.prod(extents(kernel_size, 2, "kernel_size"))
    total = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (total.sign() * total.abs().relu()).mul(count).pow(1.0 / norm_type)


def _adaptive(name: str, input: Tensor, output_size: Any, rank: int) -> tuple[Extents, Extents]:
    sizes = (output_size,) * rank if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(sizes) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank} numbers, got {output_size}")
    if rank > 1 and input.ndim <= rank and sizes is output_size:
        raise ValueError(f"Input dimension should be at least {rank + 1}, got {input.ndim}")
    spatial = _rank(name, input, rank)
    out = tuple([n if m is None else int(m) for n, m in zip(spatial, sizes, strict=True)])
    if min(out) < 0 or 0 in spatial:
        raise RuntimeError(f"{name}: cannot pool an input of shape {list(input.shape)} to {list(out)}")
    return spatial, out


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _adaptive_avg(name: str, input: Tensor, output_size: Any, rank: int) -> Tensor:
    spatial, out = _adaptive(name, input, output_size, rank)
    if all(m and n % m == 0 for n, m in zip(spatial, out, strict=True)):
        kernel = tuple([n // m for n, m in zip(spatial, out, strict=True)])
        return apply(_avg_pool, (input,), (kernel, kernel, (0,) * rank, out, 1.0 / math.prod(kernel)))
    for i, (n, m) in enumerate(zip(spatial, out, strict=True)):
        input = along_dim(input, area_matrix(n, m), i - rank)
    return input


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover ``input (batch, channels, length)``."""
    return _adaptive_avg("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover ``input (batch, channels, height, width)``; ``None`` keeps an extent."""
    return _adaptive_avg("adaptive_avg_pool2d", input, output_size, 2)


def _adaptive_max(name: str, input: Tensor, output_size: Any, rank: int, return_indices: bool) -> Any:
    spatial, out = _adaptive(name, input, output_size, rank)
    array = input._array
    xp = module_of(array)
    if xp is np and 0 < array.size <= small_pools.LIMIT and min(out):
        table = small_pools.adaptive_windows(spatial, out)
        found = None if table is None else small_pools.maxima(array, table, out)
        if found is not None:
            places = wrap(found[1])
            values = apply(_plane_gather_op, (input, places), (rank,))
            return (values, places) if return_indices else values
    index = xp.empty((*array.shape[:-rank], *out), np.int64)
    for cell in itertools.product(*[list(enumerate(_bounds(n, m))) for n, m in zip(spatial, out, strict=True)]):
        part = array[(Ellipsis, *[slice(*bounds) for _, bounds in cell])]
        extent = part.shape[-rank:]
        best = part.reshape(_flat(part, rank)).argmax(-1)
        place: Any = 0
        for i, (_, (start, _end)) in enumerate(cell):
            place = place * spatial[i] + start + best // math.prod(extent[i + 1 :]) % extent[i]
        index[(Ellipsis, *[i for i, _ in cell])] = place
    indices = wrap(index)
    values = apply(_plane_gather_op, (input, indices), (rank,))
    return (values, indices) if return_indices else values


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover ``input (batch, channels, length)``."""
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover ``input (batch, channels, height, width)``."""
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


__all__: Sequence[str] = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "lp_pool1d",
    "lp_pool2d",
    "max_pool1d",
    "max_pool2d",
]
