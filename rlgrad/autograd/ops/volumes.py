"""Pools of volumes ``(batch, channels, depth, height, width)``, as those of images in :mod:`rlgrad.autograd.ops.pooling`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rlgrad.autograd.ops.convolution import extents
from rlgrad.autograd.ops.pooling import _adaptive_avg, _adaptive_max, _pool_avg, _pool_max
from rlgrad.autograd.tensor import Tensor


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of each window of ``input (batch, channels, depth, height, width)``.

    Args:
        return_indices: return also where each maximum lies among the ``depth * height * width`` elements of its
            channel.
    """
    return _pool_max("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of ``input (batch, channels, depth, height, width)``.

    Args:
        count_include_pad: whether zeros of the padding count as elements.
        divisor_override: divide sums by this instead of by the window's size.
    """
    return _pool_avg(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window of ``input (batch, channels, depth, height, width)``."""
    count = math.prod(extents(kernel_size, 3, "kernel_size"))
    mean = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of ``output_size`` windows that cover each volume; ``None`` keeps an extent."""
    return _adaptive_avg("adaptive_avg_pool3d", input, output_size, 3)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows that cover each volume; ``None`` keeps an extent."""
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


__all__: Sequence[str] = ["adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "lp_pool3d", "max_pool3d"]
