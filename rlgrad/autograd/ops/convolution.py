"""Convolutions in one, two and three dimensions.

A convolution ``y = conv(x, w)`` is linear in both operands, so its three gradients are convolutions of each other:
``convolution_input`` (also the transposed convolution), ``convolution_weight`` and ``convolution`` itself. Derivatives
of every order stay within these three. Each is computed by minimal filtering where that pays, and otherwise as a gather
of windows and a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import kernels

Extents = tuple[int, ...]


def _add_bias(result: Any, bias: Any) -> Any:
    if bias is not None:
        result += bias.reshape(-1, *[1] * (result.ndim - 2))
    return result


def _forward(
    xp: Any,
    x: Any,
    w: Any,
    bias: Any,
    stride: Extents,
    low: Extents,
    high: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    kernel = w.shape[2:]
    geometry = kernels.im2col.Geometry(
        kernels.im2col.out_extents(x.shape[2:], kernel, stride, low, high, dilation),
        kernel,
        stride,
        low,
        dilation,
        groups,
    )
    plan = kernels.winograd.plan(geometry, w.shape, w.dtype) if xp is np else None
    found = kernels.im2col.forward(xp, geometry, x, w) if plan is None else kernels.winograd.forward(plan, x, w)
    return _add_bias(found, bias)


def _input(
    xp: Any,
    g: Any,
    w: Any,
    bias: Any,
    spatial: Extents,
    stride: Extents,
    low: Extents,
    high: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    geometry = kernels.im2col.Geometry(g.shape[2:], w.shape[2:], stride, low, dilation, groups)
    plan = kernels.winograd.plan(geometry, w.shape, w.dtype) if xp is np else None
    if plan is None:
        return _add_bias(kernels.im2col.input_gradient(xp, geometry, g, w, spatial), bias)
    return _add_bias(kernels.winograd.input_gradient(plan, g, w, spatial), bias)


def _weight(
    xp: Any,
    g: Any,
    x: Any,
    kernel: Extents,
    stride: Extents,
    low: Extents,
    high: Extents,
    dilation: Extents,
    groups: int,
) -> Any:
    geometry = kernels.im2col.Geometry(g.shape[2:], kernel, stride, low, dilation, groups)
    shape = (g.shape[1], x.shape[1] // groups, *kernel)
    plan = kernels.winograd.plan(geometry, shape, x.dtype) if xp is np else None
    return (
        kernels.im2col.weight_gradient(xp, geometry, g, x)
        if plan is None
        else kernels.winograd.weight_gradient(plan, g, x, shape)
    )


def _sum_channels(ns: Any, g: Any) -> Any:
    return ns.sum(g, (0, *range(2, g.ndim)), False)


_convolution = Op(
    "convolution",
    _forward,
    (
        lambda ns, g, w, x_shape, stride, low, high, dilation, groups: ns.convolution_input(
            g, w, None, x_shape[2:], stride, low, high, dilation, groups
        ),
        lambda ns, g, x, w_shape, stride, low, high, dilation, groups: ns.convolution_weight(
            g, x, w_shape[2:], stride, low, high, dilation, groups
        ),
        lambda ns, g: _sum_channels(ns, g),
    ),
)
_convolution_input = Op(
    "convolution_input",
    _input,
    (
        lambda ns, g, w, stride, low, high, dilation, groups: ns.convolution(
            g, w, None, stride, low, high, dilation, groups
        ),
        # its first operand is also called g: the gradient of a convolution
        lambda ns, grad, g, w_shape, stride, low, high, dilation, groups: ns.convolution_weight(
            g, grad, w_shape[2:], stride, low, high, dilation, groups
        ),
        lambda ns, g: _sum_channels(ns, g),
    ),
    node="ConvolutionBackward0",
)
Op(
    "convolution_weight",
    _weight,
    (
        lambda ns, grad, x, stride, low, high, dilation, groups: ns.convolution(
            x, grad, None, stride, low, high, dilation, groups
        ),
        lambda ns, grad, g, x_shape, stride, low, high, dilation, groups: ns.convolution_input(
            g, grad, None, x_shape[2:], stride, low, high, dilation, groups
        ),
    ),
    node="ConvolutionBackwardBackward0",
)


def extents(value: Any, rank: int, name: str) -> Extents:
    """One number for all dimensions, or one for each."""
    if isinstance(value, int):
        return (value,) * rank
    given = tuple([int(n) for n in value])
    if len(given) == 1:
        given = given * rank
    if len(given) != rank:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {rank} values, but got {value}")
    return given


def _checked(
    name: str, rank: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, dilation: Any, channels: int
) -> tuple[Tensor, Extents, Extents]:
    """The batched input, stride and dilation, after the checks that both directions share."""
    x, w = input._array, weight._array
    if w.ndim != rank + 2 or x.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)} with a weight of size {list(w.shape)}"
        )
    for other, role in ((weight, "weight"), (bias, "bias")):
        if other is not None and other._array.dtype != x.dtype:
            raise RuntimeError(
                f"Input type ({input.dtype!r}) and {role} type ({other.dtype!r}) should be the same; convert one with .to()"
            )
    steps, spread = extents(stride, rank, "stride"), extents(dilation, rank, "dilation")
    if min(steps) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(spread) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if bias is not None and bias._array.shape != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with {channels} elements, but got bias "
            f"of size {list(bias.shape)} instead"
        )
    if 0 in x.shape[-rank - 1 :] and x.size == 0 and 0 in x.shape[-rank:]:
        raise RuntimeError(f"Expected {name} input with non-zero spatial extents, but got {list(x.shape)}")
    return (input if x.ndim == rank + 2 else input.unsqueeze(0)), steps, spread


def _convolve(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    w = weight._array
    batched, steps, spread = _checked(name, rank, input, weight, bias, stride, dilation, w.shape[0] if w.ndim else 0)
    x, kernel = batched._array, w.shape[2:]
    if groups <= 0 or w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"{list(w.shape)} instead"
        )
    if x.shape[1] != w.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{w.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if isinstance(padding, str):
        if padding == "same":
            if max(steps) > 1:
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            total = [d * (k - 1) for d, k in zip(spread, kernel, strict=True)]
            low, high = tuple([t // 2 for t in total]), tuple([t - t // 2 for t in total])
        elif padding == "valid":
            low = high = (0,) * rank
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'; use 'same' or 'valid'")
    else:
        low = high = extents(padding, rank, "padding")
        if min(low) < 0:
            raise RuntimeError("negative padding is not supported")
    padded = [n + a + b for n, a, b in zip(x.shape[2:], low, high, strict=True)]
    spanned = [d * (k - 1) + 1 for d, k in zip(spread, kernel, strict=True)]
    if any(n < k for n, k in zip(padded, spanned, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, spanned))}). Kernel size can't be greater than actual input size"
        )
    result = apply(_convolution, (batched, weight, bias), (steps, low, high, spread, groups))
    return result if batched is input else result.squeeze(0)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences with kernels.

    Args:
        input: ``(batch, in_channels, length)``, or without the batch.
        weight: ``(out_channels, in_channels / groups, kernel)``.
        bias: ``(out_channels,)``.
        padding: zeros at both ends, ``"same"`` or ``"valid"``.
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images with kernels.

    Args:
        input: ``(batch, in_channels, height, width)``, or without the batch.
        weight: ``(out_channels, in_channels / groups, kernel_height, kernel_width)``.
        bias: ``(out_channels,)``.
        padding: zeros on every side, ``"same"`` or ``"valid"``.
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes with kernels.

    Args:
        input: ``(batch, in_channels, depth, height, width)``, or without the batch.
        weight: ``(out_channels, in_channels / groups, kernel_depth, kernel_height, kernel_width)``.
        bias: ``(out_channels,)``.
        padding: zeros on every side, ``"same"`` or ``"valid"``.
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolve_transposed(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    w = weight._array
    channels = w.shape[1] * groups if w.ndim > 1 else 0
    batched, steps, spread = _checked(name, rank, input, weight, bias, stride, dilation, channels)
    x, kernel = batched._array, w.shape[2:]
    if groups <= 0 or w.shape[0] % groups or x.shape[1] != w.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.shape)}, expected input{list(x.shape)} to have {w.shape[0]} "
            f"channels, but got {x.shape[1]} channels instead (groups={groups})"
        )
    low, extra = extents(padding, rank, "padding"), extents(output_padding, rank, "output_padding")
    if min(low) < 0:
        raise RuntimeError("negative padding is not supported")
    if any(e < 0 or e >= max(s, d) for e, s, d in zip(extra, steps, spread, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding {extra}, stride {steps} "
            f"and dilation {spread}"
        )
    spatial = tuple(
        [
            (n - 1) * s - 2 * p + d * (k - 1) + e + 1
            for n, s, p, d, k, e in zip(x.shape[2:], steps, low, spread, kernel, extra, strict=True)
        ]
    )
    if min(spatial) <= 0:
        raise RuntimeError(
            f"Given input size per channel: {list(x.shape[2:])}. Calculated output size per channel: {list(spatial)}. Output "
            "size is too small"
        )
    high = tuple([p - e for p, e in zip(low, extra, strict=True)])
    result = apply(_convolution_input, (batched, weight, bias), (spatial, steps, low, high, spread, groups))
    return result if batched is input else result.squeeze(0)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of :func:`conv1d`: every element adds a scaled kernel to the output.

    Args:
        input: ``(batch, in_channels, length)``, or without the batch.
        weight: ``(in_channels, out_channels / groups, kernel)``.
        padding: taken off both ends of the output.
        output_padding: added to its far end.
    """
    return _convolve_transposed(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of :func:`conv2d`.

    Args:
        input: ``(batch, in_channels, height, width)``, or without the batch.
        weight: ``(in_channels, out_channels / groups, kernel_height, kernel_width)``.
        padding: taken off every side of the output.
        output_padding: added to its far sides.
    """
    return _convolve_transposed(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of :func:`conv3d`, with arguments as for :func:`conv_transpose2d`."""
    return _convolve_transposed(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


__all__: Sequence[str] = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]
