"""What neural networks are made of, as single ops: the linear layer, softmax and activations."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public, unary
from rlgrad.autograd.ops.inplace import maybe_inplace, write_out
from rlgrad.autograd.ops.pointwise import sigmoid_of
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.constants import ZERO


def _linear_forward(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    out = x.dot(weight.T) if x.ndim == 2 else xp.matmul(x, weight.T)
    if bias is not None:
        out += bias
    return out


def _matrix(ns: Any, x: Any) -> Any:
    """All but the last dimension merged into one."""
    return x if x.ndim == 2 else ns.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


_linear = Op(
    "linear",
    _linear_forward,
    (
        lambda ns, g, weight, x_shape: (
            ns.reshape(ns.mm(_matrix(ns, g), weight), x_shape) if g.ndim != 2 else ns.mm(g, weight)
        ),
        lambda ns, g, x: ns.transposed_mm(_matrix(ns, g), _matrix(ns, x)),
        lambda ns, g: ns.sum_rows(_matrix(ns, g)),
    ),
    node="AddmmBackward0",
)
_transposed_mm = Op(
    "transposed_mm",
    lambda xp, a, b: a.T.dot(b),
    (lambda ns, g, b: ns.mm(b, ns.t(g)), lambda ns, g, a: ns.mm(a, g)),
)


def _sum_rows_forward(xp: Any, a: Any) -> Any:
    return sum_rows(a) if xp is np and a.dtype.itemsize >= 4 else a.sum(0)


def sum_rows(a: np.ndarray) -> np.ndarray:
    """The sum over the first dimension of a matrix."""
    return ones(len(a), a.dtype).dot(a)  # BLAS sums rows several times as fast as a reduction does


@functools.lru_cache(32)
def ones(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A vector of ones, shared between calls."""
    return np.ones(count, dtype)


_sum_rows = Op("sum_rows", _sum_rows_forward, (lambda ns, g, a_shape: ns.expand(ns.reshape(g, (1, -1)), a_shape),))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: ``(..., in_features)``.
        weight: ``(out_features, in_features)``.
        bias: ``(out_features,)``.
    """
    x, w = input._array, weight._array
    if w.ndim != 2 or x.ndim == 0 or x.shape[-1] != w.shape[1] or x.dtype is not w.dtype:
        _refuse_linear(input, weight)
    return apply(_linear, (input, weight, bias))


def _refuse_linear(input: Tensor, weight: Tensor) -> None:
    shape, w = tuple(input.shape) or (0,), tuple(weight.shape)
    if input._array.dtype != weight._array.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input.dtype!r} and {weight.dtype!r}; convert the input with "
            f".to({weight.dtype!r})"
        )
    if len(w) == 2 and shape[-1] == w[1] and input.ndim:
        return
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({math.prod(shape[:-1])}x{shape[-1]} and "
        f"{'x'.join(map(str, reversed(w)))}): linear got an input of shape {list(input.shape)} for a weight of shape "
        f"{list(w)}, whose last extents must agree"
    )


def _top(xp: Any, a: Any, dim: int) -> Any:
    return xp.maximum.reduce(a, dim, None, None, True) if xp is np else a.max(axis=dim, keepdims=True)


def _total(xp: Any, a: Any, dim: int) -> Any:
    if xp is np and a.ndim <= 2 and a.shape[dim] <= 512 and a.dtype.itemsize >= 4:  # in half the time of a reduction
        factors = ones(a.shape[dim], a.dtype)
        return a.dot(factors)[..., None] if dim == a.ndim - 1 else factors.dot(a)[None]
    return xp.add.reduce(a, dim, None, None, True) if xp is np else a.sum(axis=dim, keepdims=True)


def _softmax_forward(xp: Any, a: Any, dim: int) -> Any:
    if a.ndim == 0:
        return xp.ones_like(a)
    e = a - _top(xp, a, dim) if a.size else a.copy()
    xp.exp(e, e)
    e /= _total(xp, e, dim)
    return e


def _log_softmax_forward(xp: Any, a: Any, dim: int) -> Any:
    if a.ndim == 0:
        return xp.zeros_like(a)
    z = a - _top(xp, a, dim) if a.size else a.copy()
    z -= xp.log(_total(xp, xp.exp(z), dim))
    return z


def _dims(a_shape: tuple[int, ...], dim: int) -> Any:
    return (dim,) if a_shape else None


_softmax = Op(
    "softmax",
    _softmax_forward,
    (lambda ns, g, out, a_shape, dim: out * (g - ns.sum(g * out, _dims(a_shape, dim), True)),),
)
_log_softmax = Op(
    "log_softmax",
    _log_softmax_forward,
    (lambda ns, g, out, a_shape, dim: g - ns.exp(out) * ns.sum(g, _dims(a_shape, dim), True),),
)


@method
@numpy_names
def softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3, out: Tensor | None = None
) -> Tensor:
    """Exponentials along ``dim``, normalised to sum to one."""
    result = apply_one(_softmax, _floating(input, dtype, "softmax"), (_last(input, dim),))
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def log_softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3, out: Tensor | None = None
) -> Tensor:
    """Logarithm of :func:`softmax`, without its loss of precision."""
    result = apply_one(_log_softmax, _floating(input, dtype, "log_softmax"), (_last(input, dim),))
    return result if out is None else write_out(out, result, True)


def _last(input: Tensor, dim: int | None) -> int:
    if dim is None:  # PyTorch's implicit choice
        dim = 0 if input._array.ndim in (0, 1, 3) else 1
    return one_dim(dim, input._array.ndim)


def _floating(input: Tensor, dtype: Any, name: str) -> Tensor:
    if dtype is not None:
        return input.to(dtype)
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f'"{name}_kernel_impl" not implemented for {input.dtype!r}; convert it with .float()')
    return input


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
    smooth = (xp.maximum(scaled, 0) + xp.log1p(xp.exp(-abs(scaled)))) / beta
    return xp.where(scaled > threshold, a, smooth) if threshold < 50 else smooth


_leaky_relu = Op(
    "leaky_relu",
    lambda xp, a, slope: xp.maximum(a, a * slope) if 0 <= slope <= 1 else xp.where(a > 0, a, a * slope),
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


def _silu_vjp(ns: Any, g: Any, a: Any) -> Any:
    gate = ns.sigmoid(a)
    return g * (gate * (a * (1 - gate) + 1))


silu = unary(
    "silu",
    lambda xp, a: a * sigmoid_of(xp, a),
    lambda ns, g, a: _silu_vjp(ns, g, a),
    methods=False,
    in_place=False,
)
logsigmoid = unary(
    "logsigmoid",
    lambda xp, a: xp.minimum(a, ZERO.beside(xp, a)) - xp.log1p(xp.exp(-abs(a))),
    lambda ns, g, a: g * ns.sigmoid(-a),
    node="LogSigmoidBackward0",
    methods=False,
    in_place=False,
)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, linear where ``beta * input`` exceeds ``threshold``."""
    return apply_one(_softplus, _floating(input, None, "softplus"), (beta, threshold))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    return maybe_inplace(input, apply_one(_leaky_relu, input, (negative_slope,)), inplace)


__all__ = public(globals(), internal=["sum_rows"])
