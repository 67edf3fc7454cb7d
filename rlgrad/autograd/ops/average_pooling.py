"""Means of windows along the last one, two or three dimensions, and norms made from them.

Means are linear, so their adjoint spreads what they gathered.
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
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor

_MANY = 16  # elements of a window from which on one reduction beats a pass for each of them


def _side_by_side(a: Any, kernel: Extents, stride: Extents, pad: Extents, out: Extents) -> Any:
    """An array seen as large windows next to each other, two extents for each dimension; ``None`` if they lie otherwise."""
    rank = len(kernel)
    if math.prod(kernel) <= _MANY or stride != kernel or any(pad):
        return None
    whole = tuple([m * k for m, k in zip(out, kernel, strict=True)])
    if any(n > m for n, m in zip(whole, a.shape[a.ndim - rank :], strict=True)):
        return None
    inside = a[(Ellipsis, *[slice(n) for n in whole])]
    pairs = [n for pair in zip(out, kernel, strict=True) for n in pair]
    return inside.reshape(*a.shape[: a.ndim - rank], *pairs)


def _totals(xp: Any, windows: Any, rank: int) -> Any:
    """The sum of each of the windows of :func:`_side_by_side`.

    Products with ones take a fifth of the time of a reduction along a dimension that is short or not the last.
    """
    if windows.dtype.char not in "fd":
        return windows.sum(tuple(range(1 - 2 * rank, 0, 2)))
    for axis in range(windows.ndim - 1, windows.ndim - 1 - 2 * rank, -2):
        count, rest = windows.shape[axis], windows.shape[axis + 1 :]
        lead = windows.shape[:axis]
        ones = xp.ones((1, count), windows.dtype)
        windows = xp.matmul(ones, windows.reshape(-1, count, math.prod(rest))) if rest else windows @ ones[0]
        windows = windows.reshape(*lead, *rest)
    return windows


def _window_sum(xp: Any, a: Any, kernel: Extents, stride: Extents, pad: Extents, windows: Extents, scale: Any) -> Any:
    out, ones = windows, (1,) * len(kernel)
    cover = covered(out, kernel, stride, ones)
    table = small_pools.inner_windows(xp, a, a.shape[a.ndim - len(kernel) :], kernel, stride, pad, out, cover)
    if table is not None:
        total = small_pools.sums(a, table, out)
        total *= _scale(xp, scale, total.dtype)
        return total
    large = _side_by_side(a, kernel, stride, pad, out)
    if large is not None:
        total = _totals(xp, large, len(kernel))
        return total * _scale(xp, scale, total.dtype)
    buffer = padded(xp, a, pad, cover, 0)
    total = None
    for _, part in window_parts(out, kernel, stride, ones):
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
    cover = covered(out, kernel, stride, ones)
    g = g * _scale(xp, scale, g.dtype)
    if all(s >= k for s, k in zip(stride, kernel, strict=True)):
        table = small_pools.inner_windows(xp, g, spatial, kernel, stride, pad, out, cover)
        if table is not None:
            return small_pools.spread(g, table, spatial)
    full = tuple([max(p + n, c) for p, n, c in zip(pad, spatial, cover, strict=True)])
    buffer = xp.zeros((*g.shape[: -len(kernel)], *full), g.dtype)
    large = _side_by_side(buffer, kernel, stride, pad, out)
    if large is not None:
        large[...] = g[(Ellipsis, *[i for _ in kernel for i in (slice(None), None)])]
    else:
        for _, part in window_parts(out, kernel, stride, ones):
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
    spatial = spatial_extents(name, input, rank)
    kernel = extents(kernel_size, rank, "kernel_size")
    steps = kernel if absent(stride) else extents(stride, rank, "stride")
    pad = extents(padding, rank, "padding")
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if input._array.dtype != np.int64:
        require_floating(input, name)
    else:  # means of integers are rounded towards zero
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor)
        return _pool_avg(name, rank, input.double(), *options).trunc().to(input.dtype)
    out = out_extents(name, spatial, kernel, steps, pad, (1,) * rank, ceil_mode)
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
    result = apply(_avg_pool, (input,), (kernel, steps, pad, out, scale))
    return result if rank == 2 else renamed(result, "SqueezeBackward1" if rank == 1 else "AvgPool3DBackward0")


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of ``input (batch, channels, length)``, as :func:`avg_pool2d` takes it."""
    return _pool_avg("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _avg_pooling(rank: int, dims: str) -> Callable[..., Tensor]:
    """The public function for windows of ``rank`` dimensions, which are called ``dims``."""
    name = f"avg_pool{rank}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return _pool_avg(name, rank, input, *options)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""Mean of each window of ``input (batch, channels, {dims})``.

    Args:
        kernel_size, stride, padding: one number, or one for each of ``{dims}``; the stride is the window's extent
            unless given.
        ceil_mode: let windows start inside the input and reach past its end.
        count_include_pad: count the zeros of the padding as elements.
        divisor_override: divide sums by this instead of by the number of elements.
    """
    return pool


avg_pool2d = _avg_pooling(2, "height, width")
avg_pool3d = _avg_pooling(3, "depth, height, width")


def _lp_pool(
    pool: Callable[..., Tensor], rank: int, input: Tensor, p: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    count = math.prod(extents(kernel_size, rank, "kernel_size"))
    mean = pool(input.pow(p), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / p)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """The ``norm_type``-norm of each window, for inputs of one sign."""
    if not isinstance(kernel_size, int):
        raise TypeError(f"lp_pool1d(): kernel_size must be an int, not {type(kernel_size).__name__}")
    return _lp_pool(avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window, for inputs of one sign."""
    return _lp_pool(avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window of ``input (batch, channels, depth, height, width)``."""
    return _lp_pool(avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)


__all__: Sequence[str] = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d"]
