"""Normalisation layers: to zero mean and unit variance over some dimensions, then a learned scale and shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.define import assign
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap

# The input is seen in a shape in which the statistics are taken over whole axes, and the weights in one that broadcasts.


def _forward(
    xp: Any,
    x: Any,
    weight: Any,
    bias: Any,
    inner: tuple[int, ...],
    axes: tuple[int, ...],
    affine: tuple[int, ...],
    eps: float,
) -> tuple[Any, Any, Any, Any]:
    """The result, the normalised input, one over its spread, and the mean."""
    a = x.reshape(inner)
    mean = a.mean(axis=axes, keepdims=True)
    normal = a - mean
    variance = (normal * normal).mean(axis=axes, keepdims=True)
    variance += eps
    rstd = 1 / xp.sqrt(variance)
    normal *= rstd
    out = normal if weight is None else normal * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine) if weight is None else xp.add(out, bias.reshape(affine), out=out)
    if out is normal:
        out = normal.copy()
    return out.reshape(x.shape), normal, rstd, mean


def _vjp(
    ns: Any,
    grads: Any,
    wants: Sequence[bool],
    weight: Any,
    bias: Any,
    out1: Any,
    out2: Any,
    x_shape: Any,
    inner: Any,
    axes: Any,
    affine: Any,
    eps: float,
) -> list[Any]:
    """Ba et al. (2016), section 3; also of the normalised input and the spread, for second derivatives."""
    dx = dw = db = None
    g = ns.reshape(grads[0], inner) if 0 in grads else None
    wide = tuple([i for i, n in enumerate(affine) if n == 1])
    count = 1
    for axis in axes:
        count *= inner[axis]
    count = count or 1  # of an empty batch
    if g is not None and wide == axes and 1 not in grads and 2 not in grads:
        # The sums that the weights need serve the input too: two passes instead of four.
        along, total = ns.sum(g * out1, axes, True), ns.sum(g, axes, True)
        if wants[0]:
            scale = out2 if weight is None else out2 * ns.reshape(weight, affine)
            dx = (g - out1 * (along * (1.0 / count)) - total * (1.0 / count)) * scale
            dx = ns.reshape(dx, x_shape)
        dw = ns.reshape(along, weight.shape) if wants[1] else None
        return [dx, dw, ns.reshape(total, bias.shape) if wants[2] else None]
    if g is not None and wants[1]:
        dw = ns.reshape(ns.sum(g * out1, wide, True), weight.shape)
    if g is not None and wants[2]:
        db = ns.reshape(ns.sum(g, wide, True), bias.shape)
    if wants[0]:
        h = None if g is None else g if weight is None else g * ns.reshape(weight, affine)
        if 1 in grads:
            h = grads[1] if h is None else h + grads[1]
        if h is not None:
            dx = (h - ns.mean(h, axes, True) - out1 * ns.mean(h * out1, axes, True)) * out2
        if 2 in grads:
            part = grads[2] * (out2 * out2) * out1 * (-1.0 / count)
            dx = part if dx is None else dx + part
        if dx is not None:
            dx = ns.reshape(dx, x_shape)
    return [dx, dw, db]


def _entry(name: str, node: str) -> Op:
    return Op(name, _forward, _vjp, inputs=3, multiple=True, node=node)


_layer_norm = _entry("layer_norm", "NativeLayerNormBackward0")
_group_norm = _entry("group_norm", "NativeGroupNormBackward0")
_batch_norm = _entry("batch_norm", "NativeBatchNormBackward0")


def _vector(name: str, x: Tensor, channels: int, **given: Tensor | None) -> None:
    for role, value in given.items():
        if value is not None and value._array.shape != (channels,):
            raise RuntimeError(
                f"{name}: expected {role} to be a vector of size equal to the number of channels in input, but got {role} of "
                f"shape {list(value.shape)} and input of shape {list(x.shape)}"
            )


def _extents(name: str, input: Tensor, normalized_shape: Any, **given: Tensor | None) -> tuple[int, ...]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(shape)}"
        )
    for role, value in given.items():
        if value is not None and value._array.shape != shape:
            raise RuntimeError(
                f"Expected {role} to be of same shape as normalized_shape, but got {role} of shape {list(value.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if input._array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got "
            f"input of size {list(input.shape)}"
        )
    return shape


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Zero mean and unit variance over the last dimensions of every sample (Ba et al., 2016).

    Args:
        input: ``(*, *normalized_shape)``.
        weight, bias: ``normalized_shape``.
    """
    shape = _extents("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    inner = input._array.shape
    lead = len(inner) - len(shape)
    axes = tuple(range(lead, len(inner)))
    affine = (1,) * lead + shape
    if shape == (1,) * len(shape):  # a scale over extents of one is not told from broadcasting by its shape
        return _plain_affine(apply(_layer_norm, (input, None, None), (inner, axes, affine, eps))[0], weight, bias)
    if 1 in shape:
        whole = (*inner[:lead], int(np.prod(shape)))
        axes, affine = (lead,), (*(1,) * lead, whole[-1])
        return apply(_layer_norm, (input, weight, bias), (whole, axes, affine, eps))[0]
    return apply(_layer_norm, (input, weight, bias), (inner, axes, affine, eps))[0]


def _plain_affine(result: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Zero mean and unit variance over each group of channels of every sample (Wu and He, 2018).

    Args:
        input: ``(batch, channels, *)``.
        weight, bias: ``(channels,)``.
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    batch, channels = shape[:2]
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)} and "
            f"num_groups={num_groups}"
        )
    _vector("group_norm", input, channels, weight=weight, bias=bias)
    points = int(np.prod(shape[2:]))
    if batch * channels // num_groups * num_groups and batch * points * (channels // num_groups) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    inner = (batch, num_groups, channels // num_groups, points)
    return apply(_group_norm, (input, weight, bias), (inner, (2, 3), (1, num_groups, channels // num_groups, 1), eps))[
        0
    ]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of every channel (Ioffe and Szegedy, 2015).

    Args:
        input: ``(batch, channels, *)``.
        running_mean, running_var: ``(channels,)``; used in evaluation, moved by ``momentum`` in training.
        weight, bias: ``(channels,)``.
        training: normalise by the batch's own statistics.
    """
    shape = input._array.shape
    if shape == (0,):
        return input.clone()
    if len(shape) < 2:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got input of shape {list(shape)}")
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    channels = shape[1]
    _vector("batch_norm", input, channels, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    affine = (1, channels, *[1] * (len(shape) - 2))
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: expected running_mean and running_var to be defined when training=False")
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        result = (input - running_mean.reshape(affine)) * scale.reshape(affine)
        return result if bias is None else result + bias.reshape(affine)
    points = int(np.prod(shape[2:]))
    count = shape[0] * points
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})"
        )
    inner = (shape[0], channels, points)
    out, _, rstd, mean = apply(_batch_norm, (input, weight, bias), (inner, (0, 2), (1, channels, 1), eps))
    if count and (running_mean is not None or running_var is not None):
        with no_grad():
            if running_mean is not None:
                _move(running_mean, mean._array.reshape(-1), momentum)
            if running_var is not None:
                variance = (1 / (rstd._array * rstd._array) - eps).reshape(-1) * (count / (count - 1))
                _move(running_var, variance, momentum)
    return out


def _move(running: Tensor, value: Any, momentum: float) -> None:
    array = running._array
    assign(running, wrap((array * (1 - momentum) + value * momentum).astype(array.dtype)))


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of every channel of every sample (Ulyanov et al., 2016).

    Args:
        input: ``(batch, channels, *)``.
        weight, bias: ``(channels,)``.
        use_input_stats: normalise by the input's statistics; otherwise by the running ones.
    """
    shape = input._array.shape
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    batch, channels, points = shape[0], shape[1], int(np.prod(shape[2:]))
    if points == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(shape)})"
        )
    _vector("instance_norm", input, channels, weight=weight, bias=bias)
    inner = (batch, channels, points)
    out, _, rstd, mean = apply(_batch_norm, (input, weight, bias), (inner, (2,), (1, channels, 1), eps))
    with no_grad():
        if running_mean is not None:
            _move(running_mean, mean._array.mean(0).reshape(-1), momentum)
        if running_var is not None:
            variance = (1 / (rstd._array * rstd._array) - eps) * (points / (points - 1))
            _move(running_var, variance.mean(0).reshape(-1), momentum)
    return out


def _rms_forward(xp: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    return a / xp.sqrt((a * a).mean(axis=axes, keepdims=True) + eps)


def _rms_vjp(ns: Any, g: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    rstd = ns.rsqrt(ns.mean(a * a, axes, True) + eps)
    normal = a * rstd
    return (g - normal * ns.mean(g * normal, axes, True)) * rstd


_rms_norm = Op("rms_norm", _rms_forward, (_rms_vjp,), node="FusedRmsNormBackward0")


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Division by the root mean square of the last dimensions (Zhang and Sennrich, 2019).

    Args:
        input: ``(*, *normalized_shape)``.
        weight: ``normalized_shape``.
        eps: added to the mean square; the dtype's resolution when not given.
    """
    shape = _extents("rms_norm", input, normalized_shape, weight=weight)
    ndim = input._array.ndim
    if eps is None:
        eps = float(np.finfo(input._array.dtype).eps)
    result = apply(_rms_norm, (input,), (tuple(range(ndim - len(shape), ndim)), eps))
    return result if weight is None else result * weight


__all__: Sequence[str] = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
