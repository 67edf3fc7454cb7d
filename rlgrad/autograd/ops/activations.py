"""Activation functions that are piecewise linear, gated, learned or random, and those that overwrite their input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, require_floating, unary
from rlgrad.autograd.ops.inplace import check_inplace, maybe_inplace
from rlgrad.autograd.ops.pointwise import relu
from rlgrad.autograd.ops.smooth_activations import celu, elu, selu
from rlgrad.autograd.ops.softmax import softmax
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.constants import ONE, ZERO, Constant, limited
from rlgrad.backend.devices import module_of
from rlgrad.backend.kernels.selecting import select
from rlgrad.backend.logistic import logistic
from rlgrad.backend.random import default_generator

# Constant outside an interval, or zero inside one

Op("strictly_within", lambda xp, a, low, high: (~((a <= low) | (a >= high))).astype(a.dtype), inputs=1)
Op("outside", lambda xp, a, limit: (~(abs(a) <= limit)).astype(a.dtype), inputs=1)


def _hard_gate(xp: Any, a: Any) -> Any:
    """``relu6(a + 3) / 6``."""
    if xp is not np or a.size > 512:
        gate = xp.asarray(a + 3)
        gate = gate.clip(0, 6, out=gate)
        gate /= 6
        return gate
    gate = np.maximum(a + _THREE[a.dtype], ZERO[a.dtype])
    return np.minimum(gate, _SIX[a.dtype]) / _SIX[a.dtype]


def _hardswish_forward(xp: Any, a: Any) -> Any:
    gate = _hard_gate(xp, a)
    gate *= a
    return gate


_THREE, _SIX = Constant(3), Constant(6)
_SIXTH = float(np.float32(1 / 6))  # PyTorch's slope is of single precision
_hardtanh = Op(
    "hardtanh",
    limited,
    (lambda ns, g, a, low, high: g * ns.strictly_within(a, low, high),),
)


def _leaky_relu_forward(xp: Any, a: Any, slope: float) -> Any:
    below = xp.asarray(a * slope)
    if 0 <= slope <= 1:
        return xp.maximum(a, below, out=below if below.dtype == a.dtype else None)
    return select(xp, a > 0, a, below)


_leaky_relu = Op(
    "leaky_relu",
    lambda xp, a, slope: _leaky_relu_forward(xp, a, slope),
    (lambda ns, g, a, slope: ns.leaky_relu_gradient(g, a, slope),),
)


def _leaky_relu_gradient(xp: Any, g: Any, a: Any, slope: float) -> Any:
    factor = (a > 0).astype(g.dtype)  # arithmetic is several times as fast as where()
    factor *= 1 - slope
    factor += slope
    factor *= g
    return factor


Op(
    "leaky_relu_gradient",
    _leaky_relu_gradient,
    (lambda ns, g, a, slope: ns.leaky_relu_gradient(g, a, slope), None),
)
_threshold = Op(
    "threshold",
    lambda xp, a, threshold, value: select(xp, a <= threshold, a.dtype.type(value), a),
    (lambda ns, g, a, threshold: ns.where(ns.at_most(a, threshold), 0, g),),
)
_hardshrink = Op(
    "hardshrink",
    lambda xp, a, lambd: select(xp, abs(a) <= lambd, ZERO.beside(xp, a), a),
    (lambda ns, g, a, lambd: g * ns.outside(a, lambd),),
)
_softshrink = Op(
    "softshrink",
    lambda xp, a, lambd: a - limited(xp, a, -lambd, lambd),
    (lambda ns, g, a, lambd: g * ns.outside(a, lambd),),
)
_hardsigmoid = unary(
    "hardsigmoid",
    lambda xp, a: _hard_gate(xp, a),
    lambda ns, g, a: g * ns.strictly_within(a, -3, 3) * _SIXTH,
    methods=False,
    in_place=False,
)
_hardswish = unary(
    "hardswish",
    lambda xp, a: _hardswish_forward(xp, a),
    lambda ns, g, a: g * ns.hardswish_slope(a),
    methods=False,
    in_place=False,
)
Op(
    "hardswish_slope",
    lambda xp, a: select(
        xp, a <= -3, ZERO.beside(xp, a), select(xp, a < 3, a / 3 + a.dtype.type(0.5), ONE.beside(xp, a))
    ),
    (lambda ns, g, a: g * ns.strictly_within(a, -3, 3) * (1 / 3),),
)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[min_val, max_val]``; unlike that of ``clamp``, its derivative is zero at both ends.

    Raises:
        ValueError: ``min_val`` exceeds ``max_val``.
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    if input._array.dtype.kind != "f":
        min_val, max_val = int(min_val), int(max_val)
    return maybe_inplace(input, apply_one(_hardtanh, input, (min_val, max_val)), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return hardtanh(input, 0, 6, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it exceeds ``threshold``, ``value`` elsewhere."""
    return maybe_inplace(input, apply_one(_threshold, input, (threshold, value)), inplace)


@method
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    result = apply_one(_leaky_relu, require_floating(input, "leaky_relu"), (negative_slope,))
    return maybe_inplace(input, result, inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` outside ``[-lambd, lambd]``, zero inside."""
    return apply_one(_hardshrink, require_floating(input, "hardshrink"), (lambd,))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards zero by ``lambd``, zero where it is nearer.

    Raises:
        RuntimeError: ``lambd`` is negative.
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return apply_one(_softshrink, require_floating(input, "softshrink"), (lambd,))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6`` (Howard et al., 2019)."""
    return maybe_inplace(input, _hardsigmoid(require_floating(input, "hardsigmoid")), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6`` (Howard et al., 2019)."""
    return maybe_inplace(input, _hardswish(require_floating(input, "hardswish")), inplace)


def _glu_forward(xp: Any, a: Any, dim: int) -> Any:
    lead, half = (slice(None),) * dim, a.shape[dim] // 2
    gate = logistic(xp, a[(*lead, slice(half, None))])
    gate *= a[(*lead, slice(half))]
    return gate


def _glu_vjp(ns: Any, g: Any, a: Any, a_shape: Any, dim: int) -> Any:
    half = a_shape[dim] // 2
    gate = ns.sigmoid(ns.narrow(a, dim, half, half))
    slope = g * gate
    return ns.cat([slope, slope * (1 - gate) * ns.narrow(a, dim, 0, half)], dim, (half, half))


_glu = Op("glu", _glu_forward, (_glu_vjp,))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of ``input`` along ``dim`` times the sigmoid of the second (Dauphin et al., 2017).

    Raises:
        RuntimeError: ``input`` has no dimension to halve, or an odd number of elements along ``dim``.
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = one_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    return apply_one(_glu, require_floating(input, "glu"), (dim,))


_prelu = Op(
    "prelu",
    lambda xp, a, weight: limited(xp, a, 0, None) + limited(xp, a, None, 0) * weight,
    (
        lambda ns, g, a, weight: g * (ns.positive(a) * (1 - weight) + weight),
        lambda ns, g, a: g * ns.where(ns.positive(a), 0, a),
    ),
    node="PreluKernelBackward0",
)


@method
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere (He et al., 2015).

    Args:
        input: ``(batch, channels, *)``.
        weight: one number or ``(channels,)``.
    """
    x, w = input._array, weight._array
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.dtype is not x.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype!r} and {weight.dtype!r}")
    count = w.size
    if count != 1:
        if x.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if count != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size "
                f"= {channels}."
            )
    along = (1, count, *[1] * (x.ndim - 2)) if x.ndim > 1 else (1,) * x.ndim
    return apply(_prelu, (require_floating(input, "prelu"), weight.reshape(along)))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """:func:`leaky_relu` whose slope is drawn for every element from ``[lower, upper]`` (Xu et al., 2015).

    Args:
        training: draw slopes; otherwise the slope is ``(lower + upper) / 2``.
    """
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    require_floating(input, "rrelu")
    if not training:
        return renamed(leaky_relu(input, (lower + upper) / 2, inplace), "RreluWithNoiseBackward0")
    if inplace:
        check_inplace(input)
    array = input._array
    xp = module_of(array)
    slopes = default_generator.on(xp).random(array.shape) * (upper - lower) + lower
    factor = xp.where(array > 0, 1, slopes).astype(array.dtype)
    return maybe_inplace(input, renamed(input * wrap(factor), "RreluWithNoiseBackward0"), inplace)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from the Gumbel-softmax distribution (Jang et al., 2017; Maddison et al., 2017).

    Args:
        logits: unnormalised log-probabilities ``(*, classes)``.
        tau: temperature.
        hard: round to one-hot, keeping the gradient of the smooth sample.
        dim: where the classes are.
    """
    noise = -logits.detach().clone().exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    rounded = soft.detach() * 0
    rounded.scatter_(dim, soft.detach().argmax(dim, keepdim=True), 1.0)
    return rounded - soft.detach() + soft


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    call.__name__ = call.__qualname__ = function.__name__ + "_"
    call.__module__ = __name__
    call.__doc__ = f":func:`{function.__name__}`, written into ``input``."
    return call


celu_, elu_, hardtanh_, leaky_relu_ = _in_place(celu), _in_place(elu), _in_place(hardtanh), _in_place(leaky_relu)
rrelu_, selu_, threshold_ = _in_place(rrelu), _in_place(selu), _in_place(threshold)


def relu_(input: Tensor) -> Tensor:
    """``max(input, 0)``, written into ``input``."""
    return maybe_inplace(input, relu(input), True)


__all__: Sequence[str] = [
    "celu_",
    "elu_",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu_",
    "softshrink",
    "threshold",
    "threshold_",
]
