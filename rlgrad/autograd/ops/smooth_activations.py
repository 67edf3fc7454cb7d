"""Activation functions with an exponential in them: linear units with a smooth tail, and gates by a distribution function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import require_floating, unary
from rlgrad.autograd.ops.inplace import maybe_inplace
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.constants import ZERO
from rlgrad.backend.kernels import elementary
from rlgrad.backend.kernels.selecting import select
from rlgrad.backend.logistic import logistic

Op("at_most", lambda xp, a, limit: a <= limit, inputs=1)
_softplus = Op(
    "softplus",
    lambda xp, a, beta, threshold: _softplus_forward(xp, a, beta, threshold),
    (lambda ns, g, a, beta, threshold: g * ns.where(ns.above(a, threshold / beta), 1, ns.sigmoid(a * beta)),),
)
Op("above", lambda xp, a, limit: a > limit, inputs=1)


def _softplus_forward(xp: Any, a: Any, beta: float, threshold: float) -> Any:
    scaled = a if beta == 1 else a * beta
    if xp is np and a.size <= 512:  # one pass, which costs more per element
        smooth = np.asarray(np.logaddexp(scaled, ZERO[a.dtype]))
        if beta != 1:
            smooth /= beta
        if threshold < 50:
            np.copyto(smooth, a, where=scaled > np.asarray(threshold, a.dtype))
        return smooth
    smooth = xp.log1p(xp.exp(-abs(scaled)))
    smooth += xp.maximum(scaled, 0)
    if beta != 1:
        smooth /= beta
    return select(xp, scaled > threshold, a, smooth) if threshold < 50 else smooth


def _silu_vjp(ns: Any, g: Any, a: Any) -> Any:
    gate = ns.sigmoid(a)
    return g * (gate * (a * (1 - gate) + 1))


silu = unary(
    "silu",
    lambda xp, a: a * logistic(xp, a),
    lambda ns, g, a: _silu_vjp(ns, g, a),
    kind="same",
    refuses="biu",
    methods=False,
    in_place=False,
)
logsigmoid = unary(
    "logsigmoid",
    lambda xp, a: xp.minimum(a, ZERO.beside(xp, a)) - xp.log1p(xp.exp(-abs(a))),
    lambda ns, g, a: g * ns.sigmoid(-a),
    node="LogSigmoidBackward0",
    kind="same",
    refuses="biu",
    methods=False,
    in_place=False,
)


def _exponential_tail(xp: Any, a: Any, alpha: float, scale: float, rate: float) -> Any:
    """``scale * a`` where positive, ``scale * alpha * (exp(rate * a) - 1)`` elsewhere; the other part is zero."""
    zero = ZERO.beside(xp, a)
    below, above = xp.minimum(a, zero), xp.maximum(a, zero)
    out = xp.expm1(below if rate == 1 else below * rate)
    if alpha * scale != 1:
        out *= alpha * scale
    out += above if scale == 1 else above * scale
    return out


def _tail_slope(xp: Any, g: Any, a: Any, alpha: float, scale: float, rate: float) -> Any:
    slope = xp.exp(xp.fmin(a, 0) * rate)
    slope *= alpha * scale * rate
    slope -= scale
    slope *= a <= 0
    slope += scale
    slope *= g
    return slope


def _tail_curvature(ns: Any, g: Any, grad: Any, a: Any, alpha: float, scale: float, rate: float) -> Any:
    tail = ns.at_most(a, 0)
    return g * grad * tail * ns.exp(ns.where(tail, a, 0) * rate) * (alpha * scale * rate * rate)


_TAIL_VJP = (lambda ns, g, a, alpha, scale, rate: ns.exponential_tail_slope(g, a, alpha, scale, rate),)
Op(
    "exponential_tail_slope",
    lambda xp, grad, a, alpha, scale, rate: _tail_slope(xp, grad, a, alpha, scale, rate),
    (
        lambda ns, g, a, alpha, scale, rate: ns.exponential_tail_slope(g, a, alpha, scale, rate),
        _tail_curvature,
    ),
)
_elu = Op("elu", _exponential_tail, _TAIL_VJP)
_selu = Op("selu", _exponential_tail, _TAIL_VJP, node="EluBackward0")
_celu = Op("celu", _exponential_tail, _TAIL_VJP)
_mish = unary(
    "mish",
    lambda xp, a: a * xp.tanh(_softplus_forward(xp, a, 1.0, math.inf)),
    lambda ns, g, a: _mish_vjp(ns, g, a),
    methods=False,
    in_place=False,
)


def _mish_vjp(ns: Any, g: Any, a: Any) -> Any:
    gate = ns.tanh(ns.softplus(a, 1.0, math.inf))
    return g * (gate + a * ns.sigmoid(a) * (1 - gate * gate))


def _erf(xp: Any, a: Any) -> Any:
    if xp is not np:
        from cupyx.scipy.special import erf

        return erf(a)
    found = elementary.erf(a)
    if found is not None:
        return found
    try:
        from scipy.special import erf
    except ImportError:
        return np.vectorize(math.erf, otypes=[a.dtype])(a)
    return erf(a).astype(a.dtype, copy=False)


def _gelu_forward(xp: Any, a: Any) -> tuple[Any, Any]:
    """The result, and the normal distribution function at ``a``, which the derivative needs again."""
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    cdf = _erf(xp, wide * math.sqrt(0.5))
    cdf += 1
    cdf *= 0.5
    if wide is not a:
        return (wide * cdf).astype(a.dtype), cdf.astype(a.dtype)
    return a * cdf, cdf


def _gelu_vjp(ns: Any, grads: Any, a: Any, out1: Any) -> Any:
    density = ns.exp(a * a * -0.5) * (1 / math.sqrt(2 * math.pi))
    total = grads[0] * (a * density + out1) if 0 in grads else None
    if 1 in grads:
        total = grads[1] * density if total is None else total + grads[1] * density
    return total


_gelu = Op("gelu", _gelu_forward, (_gelu_vjp,), multiple=True)
_ROOT, _CUBIC = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh_forward(xp: Any, a: Any) -> Any:
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    out = xp.tanh((wide + wide * wide * wide * _CUBIC) * _ROOT)
    out += 1
    out *= wide * 0.5
    return out.astype(a.dtype, copy=False)


def _gelu_tanh_vjp(ns: Any, g: Any, a: Any) -> Any:
    square = a * a
    curve = ns.tanh((a + a * square * _CUBIC) * _ROOT)
    return g * ((curve + 1) * 0.5 + a * 0.5 * (1 - curve * curve) * ((square * (3 * _CUBIC) + 1) * _ROOT))


_gelu_tanh = Op("gelu_tanh", _gelu_tanh_forward, (_gelu_tanh_vjp,), node="GeluBackward0")
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, linear where ``beta * input`` exceeds ``threshold``."""
    return apply_one(_softplus, require_floating(input, "softplus"), (beta, threshold))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere (Clevert et al., 2016)."""
    return maybe_inplace(input, apply_one(_elu, require_floating(input, "elu"), (alpha, 1.0, 1.0)), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled exponential units that keep zero mean and unit variance (Klambauer et al., 2017)."""
    return maybe_inplace(
        input, apply_one(_selu, require_floating(input, "selu"), (_SELU_ALPHA, _SELU_SCALE, 1.0)), inplace
    )


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(input, 0) + min(alpha * (exp(input / alpha) - 1), 0)`` (Barron, 2017).

    Raises:
        RuntimeError: ``alpha`` is zero.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return maybe_inplace(input, apply_one(_celu, require_floating(input, "celu"), (alpha, 1.0, 1.0 / alpha)), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input`` times the normal distribution function at it (Hendrycks and Gimpel, 2016).

    Args:
        approximate: ``"tanh"`` for ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.
    """
    if approximate == "tanh":
        return apply_one(_gelu_tanh, require_floating(input, "gelu"))
    if approximate != "none":
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return apply(_gelu, (require_floating(input, "gelu"),))[0]


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra, 2019)."""
    return maybe_inplace(input, _mish(require_floating(input, "mish")), inplace)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


__all__: Sequence[str] = [
    "celu",
    "elu",
    "gelu",
    "logsigmoid",
    "mish",
    "selu",
    "silu",
    "softplus",
    "softsign",
    "tanhshrink",
]
