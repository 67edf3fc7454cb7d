"""Normalisation layers: to zero mean and unit variance over some dimensions, then a learned scale and shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.inplace import assign
from rlgrad.autograd.ops.reductions import mean_forward
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import kernels

_POINTS = 8  # from which on a plane of a sample is worth statistics of its own

Shape = tuple[int, ...]


def _view(shape: Shape, groups: int) -> tuple[Shape, Shape, Shape]:
    """Shape, dimensions that the statistics are taken over, and dimensions that the weights are the same along.

    Args:
        shape: ``(rows, features)``, or ``(batch, channels, points)``.
        groups: of channels that have statistics of their own; 0 for channels over the whole batch. Ignored for rows.
    """
    if len(shape) == 2:
        return shape, (1,), (0,)
    batch, channels, points = shape
    if groups:
        return (batch, groups, channels // groups, points), (2, 3), (0, 3)
    return shape, (0, 2), (0, 2)


def _affine(inner: Shape, wide: Shape) -> Shape:
    return tuple([1 if i in wide else n for i, n in enumerate(inner)])


def _by_parts(xp: Any, shape: Shape, *arrays: Any) -> bool:
    """Whether the passes of ``kernels.norms`` pay for these arrays."""
    dtype = arrays[0].dtype
    if xp is not np or 0 in shape or dtype.char not in "fd" or (shape[2:] and shape[2] < _POINTS):
        return False
    return all(a is None or a.dtype is dtype for a in arrays)


def _mean(xp: Any, a: Any, axes: tuple[int, ...]) -> Any:
    if a.dtype.itemsize < 4:  # summed in single precision
        return a.mean(axis=axes, keepdims=True)
    return mean_forward(xp, a, axes, True)


def _forward(xp: Any, x: Any, weight: Any, bias: Any, shape: Shape, groups: int, eps: float) -> tuple[Any, Any, Any]:
    """The result, the mean and one over the spread."""
    inner, axes, wide = _view(shape, groups)
    affine = _affine(inner, wide)
    if _by_parts(xp, shape, x, weight, bias):
        flat = np.ascontiguousarray(x).reshape(shape)
        w, b = [None if a is None else a.reshape(-1) for a in (weight, bias)]
        found = (
            kernels.norms.rows(flat, w, b, eps) if len(shape) == 2 else kernels.norms.planes(flat, w, b, groups, eps)
        )
        out, mean, rstd = found
        kept = tuple([1 if i in axes else n for i, n in enumerate(inner)])
        return out.reshape(x.shape), mean.reshape(kept), rstd.reshape(kept)
    a = x.reshape(inner)
    mean = _mean(xp, a, axes)
    out = a - mean
    variance = _mean(xp, out * out, axes)
    variance += eps
    rstd = 1 / xp.sqrt(variance)
    out *= rstd
    if weight is not None:
        out = out * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine)
    return out.reshape(x.shape), mean, rstd


def _vjp(
    ns: Any,
    grads: Any,
    wants: Sequence[bool],
    x: Any,
    weight: Any,
    bias: Any,
    out1: Any,
    out2: Any,
    shape: Shape,
    groups: int,
    eps: float,
) -> list[Any]:
    """Ba et al. (2016), section 3; also of the mean and the spread, for second derivatives."""
    inner, axes, wide = _view(shape, groups)
    g = grads.get(0)
    only = 1 not in grads and 2 not in grads
    if only and not ns.recorded and _by_parts(ns.xp, shape, x, g, weight):
        return _vjp_by_parts(g, x, weight, bias, out1, out2, shape, groups)
    affine = _affine(inner, wide)
    count = 1
    for axis in axes:
        count *= inner[axis] or 1  # of an empty batch
    a = ns.reshape(x, inner)
    normal = (a - out1) * out2
    dx = dw = db = None
    if g is not None:
        g = ns.reshape(g, inner)
        if wants[1]:
            dw = ns.reshape(ns.sum(g * normal, wide, True), weight.shape)
        if wants[2]:
            db = ns.reshape(ns.sum(g, wide, True), bias.shape)
    if wants[0]:
        if g is not None:
            h = g if weight is None else g * ns.reshape(weight, affine)
            dx = (h - ns.mean(h, axes, True) - normal * ns.mean(h * normal, axes, True)) * out2
        for factor, part in ((1.0 / count, grads.get(1)), (-1.0 / count, grads.get(2))):
            if part is not None:
                slope = ns.expand(part, inner) if factor > 0 else part * (out2 * out2) * normal
                dx = slope * factor if dx is None else dx + slope * factor
        if dx is not None:
            dx = ns.reshape(dx, x.shape)
    return [dx, dw, db]


def _vjp_by_parts(g: Any, x: Any, weight: Any, bias: Any, mean: Any, rstd: Any, shape: Shape, groups: int) -> list[Any]:
    g, flat = np.ascontiguousarray(g).reshape(shape), np.ascontiguousarray(x).reshape(shape)
    w = None if weight is None else weight.reshape(-1)
    if len(shape) == 2:
        dx, dw, db = kernels.norms.rows_adjoint(g, flat, w, mean.reshape(-1), rstd.reshape(-1))
    else:
        kept = (shape[0], groups) if groups else (shape[1],)
        dx, dw, db = kernels.norms.planes_adjoint(g, flat, w, mean.reshape(kept), rstd.reshape(kept), groups)
    return [
        dx.reshape(x.shape),
        None if weight is None else dw.reshape(weight.shape),
        None if bias is None else db.reshape(bias.shape),
    ]


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
    features = math.prod(shape)
    rows = math.prod(input._array.shape[: input._array.ndim - len(shape)])
    return apply(_layer_norm, (require_floating(input, "layer_norm"), weight, bias), ((rows, features), 1, eps))[0]


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
    points = math.prod(shape[2:])
    if batch * channels // num_groups * num_groups and batch * points * (channels // num_groups) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    return apply(
        _group_norm, (require_floating(input, "group_norm"), weight, bias), ((batch, channels, points), num_groups, eps)
    )[0]


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
    require_floating(input, "batch_norm")
    affine = (1, channels, *[1] * (len(shape) - 2))
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: expected running_mean and running_var to be defined when training=False")
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        result = (input - running_mean.reshape(affine)) * scale.reshape(affine)
        return renamed(result if bias is None else result + bias.reshape(affine), "NativeBatchNormBackward0")
    points = math.prod(shape[2:])
    count = shape[0] * points
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})"
        )
    out, mean, rstd = apply(_batch_norm, (input, weight, bias), ((shape[0], channels, points), 0, eps))
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
        result = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        return renamed(result, "ViewBackward0")
    batch, channels, points = shape[0], shape[1], math.prod(shape[2:])
    if points == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(shape)})"
        )
    _vector("instance_norm", input, channels, weight=weight, bias=bias)
    require_floating(input, "instance_norm")
    out, mean, rstd = apply(_batch_norm, (input, weight, bias), ((batch, channels, points), channels, eps))
    with no_grad():
        if running_mean is not None:
            _move(running_mean, mean._array.mean(0).reshape(-1), momentum)
        if running_var is not None:
            variance = (1 / (rstd._array * rstd._array) - eps) * (points / (points - 1))
            _move(running_var, variance.mean(0).reshape(-1), momentum)
    return renamed(out, "ViewBackward0")


def _rms_forward(xp: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    return a / xp.sqrt((a * a).mean(axis=axes, keepdims=True) + eps)


def _rms_vjp(ns: Any, g: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    rstd = ns.rsqrt(ns.mean(a * a, axes, True) + eps)
    normal = a * rstd
    return (g - normal * ns.mean(g * normal, axes, True)) * rstd


_rms_norm = Op("rms_norm", _rms_forward, (_rms_vjp,), node="MulBackward0")


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Division by the root mean square of the last dimensions (Zhang and Sennrich, 2019).

    Args:
        input: ``(*, *normalized_shape)``.
        weight: ``normalized_shape``.
        eps: added to the mean square; the resolution of the dtype, or of single precision for half, when not given.
    """
    shape = _extents("rms_norm", input, normalized_shape, weight=weight)
    require_floating(input, "rms_norm")
    if input._array.dtype.itemsize < 4:  # squares overflow
        wide = rms_norm(input.float(), normalized_shape, None if weight is None else weight.float(), eps)
        return wide.to(input.dtype)
    ndim = input._array.ndim
    if eps is None:
        eps = float(np.finfo(input._array.dtype).eps)
    result = apply_one(_rms_norm, input, (tuple(range(ndim - len(shape), ndim)), eps))
    return result if weight is None else result * weight


__all__: Sequence[str] = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
