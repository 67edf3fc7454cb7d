"""What neural networks are made of, as single ops: the linear layer, softmax, activations and losses."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error, maybe_inplace, method, one_dim, public, unary
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes

# Linear


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


# Softmax


def _top(xp: Any, a: Any, dim: int) -> Any:
    return xp.maximum.reduce(a, dim, None, None, True) if xp is np else a.max(axis=dim, keepdims=True)


def _total(xp: Any, a: Any, dim: int) -> Any:
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
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3) -> Tensor:
    """Exponentials along ``dim``, normalised to sum to one."""
    return apply(_softmax, (_floating(input, dtype, "softmax"),), (_last(input, dim),))


@method
def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3) -> Tensor:
    """Logarithm of :func:`softmax`, without its loss of precision."""
    return apply(_log_softmax, (_floating(input, dtype, "log_softmax"),), (_last(input, dim),))


def _last(input: Tensor, dim: int | None) -> int:
    if dim is None:  # PyTorch's implicit choice
        dim = 0 if input._array.ndim in (0, 1, 3) else 1
    return one_dim(dim, input._array.ndim)


def _floating(input: Tensor, dtype: Any, name: str) -> Tensor:
    if dtype is not None:
        return input.to(dtype)
    if input._array.dtype.kind != "f":
        raise RuntimeError(f'"{name}_kernel_impl" not implemented for {input.dtype!r}; convert it with .float()')
    return input


# Activations with parameters

_softplus = Op(
    "softplus",
    lambda xp, a, beta, threshold: _softplus_forward(xp, a, beta, threshold),
    (lambda ns, g, a, beta, threshold: g * ns.where(ns.above(a, threshold / beta), 1, ns.sigmoid(a * beta)),),
)
Op("above", lambda xp, a, limit: a > limit, inputs=1)


def _softplus_forward(xp: Any, a: Any, beta: float, threshold: float) -> Any:
    scaled = a * beta
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
_elu = Op(
    "elu",
    lambda xp, a, alpha: xp.where(a > 0, a, alpha * xp.expm1(xp.minimum(a, 0))),
    (lambda ns, g, a, alpha: ns.where(ns.positive(a), g, g * (ns.exp(ns.where(ns.positive(a), 0, a)) * alpha)),),
)

silu = unary(
    "silu",
    lambda xp, a: a * (0.5 * xp.tanh(0.5 * a) + 0.5),
    lambda ns, g, a: g * (ns.sigmoid(a) * (a * (1 - ns.sigmoid(a)) + 1)),
    methods=False,
    in_place=False,
)
logsigmoid = unary(
    "logsigmoid",
    lambda xp, a: xp.minimum(a, 0) - xp.log1p(xp.exp(-abs(a))),
    lambda ns, g, a: g * ns.sigmoid(-a),
    node="LogSigmoidBackward0",
    methods=False,
    in_place=False,
)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, linear where ``beta * input`` exceeds ``threshold``."""
    return apply(_softplus, (_floating(input, None, "softplus"),), (beta, threshold))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    return maybe_inplace(input, apply(_leaky_relu, (input,), (negative_slope,)), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return maybe_inplace(input, apply(_elu, (input,), (alpha,)), inplace)


# Losses: reduced to a scalar inside the op, since that is how they are used


def _reduce(xp: Any, losses: Any, reduction: str) -> Any:
    return reduced(losses, reduction)


def _weight(g: Any, shape: tuple[int, ...], reduction: str, factor: float = 1.0) -> Any:
    """The gradient of a reduced loss with respect to each unreduced one, times a factor."""
    return g * (factor / (math.prod(shape) or 1) if reduction == "mean" else factor)


def check_reduction(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The name of a reduction, perhaps asked for by the arguments from before it, or the error that lists those there are."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction; use 'mean', 'sum' or 'none'")
    return reduction


def reduced(losses: Tensor, reduction: str, size_average: Any = None, reduce: Any = None) -> Tensor:
    """The mean of losses, their sum, or each of them, as ``reduction`` says."""
    reduction = check_reduction(reduction, size_average, reduce)
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def _mse_forward(xp: Any, a: Any, b: Any, reduction: str) -> Any:
    difference = a - b
    if reduction == "none":
        return difference * difference
    flat = difference.ravel()
    total = flat.dot(flat)
    return total / flat.size if reduction == "mean" else total


_mse_loss = Op(
    "mse_loss",
    _mse_forward,
    (
        lambda ns, g, a, b, a_shape, reduction: (a - b) * _weight(g, a_shape, reduction, 2.0),
        lambda ns, g, a, b, a_shape, reduction: (b - a) * _weight(g, a_shape, reduction, 2.0),
    ),
)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """Mean of the squared differences."""
    a, b = input._array, target._array
    if a.shape != b.shape:
        input, target = broadcast_target(input, target)
    if a.dtype is not b.dtype:
        common = dtypes.result_type(input, target)
        input, target = input.to(common), target.to(common)
    return apply(_mse_loss, (input, target), (check_reduction(reduction, size_average, reduce),))


def broadcast_target(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Expand a loss's operands to one shape, with PyTorch's warning that this is seldom meant."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    try:
        shape = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
    except ValueError:
        raise broadcast_error("loss", (tuple(input.shape), tuple(target.shape))) from None
    return input.expand(shape), target.expand(shape)


def _nll_forward(xp: Any, a: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    rows = xp.arange(a.shape[0])
    kept = target != ignore_index
    safe = xp.where(kept, target, 0)
    scale = kept.astype(a.dtype) if weight is None else weight[safe] * kept
    losses = -a[rows, safe] * scale
    if reduction == "none":
        return losses
    return losses.sum() / scale.sum() if reduction == "mean" else losses.sum()


def _nll_vjp(ns: Any, g: Any, target: Any, weight: Any, a_shape: Any, reduction: str, ignore_index: int) -> Any:
    return ns.nll_gradient(g, target, weight, a_shape, reduction, ignore_index)


def _nll_gradient(
    xp: Any, g: Any, target: Any, weight: Any, shape: tuple[int, ...], reduction: str, ignore_index: int
) -> Any:
    kept = target != ignore_index
    safe = xp.where(kept, target, 0)
    scale = kept.astype(g.dtype) if weight is None else weight[safe] * kept
    if reduction == "mean":
        scale = scale / scale.sum()
    out = xp.zeros(shape, g.dtype)
    out[xp.arange(shape[0]), safe] = xp.where(kept, -scale * g, 0)
    return out


def _nll_gradient_vjp(ns: Any, g: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    return ns.nll_loss(g, target, weight, reduction, ignore_index)


_nll_loss = Op("nll_loss", _nll_forward, (_nll_vjp, None, None))
Op("nll_gradient", _nll_gradient, (_nll_gradient_vjp, None, None))


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of class ``target`` under log-probabilities.

    Args:
        input: log-probabilities ``(classes,)``, ``(batch, classes)`` or ``(batch, classes, ...)``.
        target: classes ``()``, ``(batch,)`` or ``(batch, ...)``, int64.
        weight: factor for each class.
    """
    reduction = check_reduction(reduction, size_average, reduce)
    x, t = input._array, target._array
    if t.dtype == np.uint8:
        return nll_loss(input, target.long(), weight, None, ignore_index, None, reduction)
    if x.ndim == 1 and t.shape in ((), (1,)):
        rows = nll_loss(input.unsqueeze(0), target.reshape(1), weight, None, ignore_index, None, reduction)
        return rows.reshape(())
    _check_classes(input, target, weight)
    classes = x.shape[1]
    bad = (t != ignore_index) & ((t < 0) | (t >= classes))
    if bad.any():
        raise IndexError(f"Target {int(t[bad].flat[0])} is out of bounds for {classes} classes.")
    if x.ndim > 2:
        flat = input.movedim(1, -1).reshape(-1, classes)
        result = apply(_nll_loss, (flat, target.reshape(-1), weight), (reduction, ignore_index))
        return result.reshape(t.shape) if reduction == "none" else result
    return apply(_nll_loss, (input, target, weight), (reduction, ignore_index))


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Refuse targets and weights that do not fit an input ``(batch, classes, ...)``."""
    shape, wanted = tuple(input.shape), tuple(target.shape)
    got = f"got input {list(shape)} and target {list(wanted)}"
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if target._array.dtype != np.int64:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype!r}; convert it with .long()"
        )
    if len(shape) == 1:
        raise ValueError(f"For 1D input, 1D target must have size 1: {got}")
    if len(shape) == 2 and len(wanted) > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported: {got}")
    if shape[:1] != wanted[:1]:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0] if wanted else 0}): {got}"
        )
    if shape[2:] != wanted[1:]:
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}: {got}")
    if weight is not None:
        if weight._array.shape != shape[1:2]:
            raise RuntimeError(
                f"weight tensor should be defined either for all {shape[1]} classes or no classes but got weight tensor of "
                f"shape: {list(weight.shape)}"
            )
        if weight._array.dtype != input._array.dtype:
            raise RuntimeError(
                f"expected scalar type {input._array.dtype} but found {weight._array.dtype}: convert the weight to the input's dtype"
            )


_bce_with_logits = Op(
    "bce_with_logits",
    lambda xp, a, target, reduction: _reduce(xp, xp.maximum(a, 0) - a * target + xp.log1p(xp.exp(-abs(a))), reduction),
    (
        lambda ns, g, a, target, a_shape, reduction: _weight(g, a_shape, reduction) * (ns.sigmoid(a) - target),
        lambda ns, g, a, a_shape, reduction: _weight(g, a_shape, reduction) * -a,
    ),
    node="BinaryCrossEntropyWithLogitsBackward0",
)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross-entropy of ``target`` (in [0, 1]) with ``sigmoid(input)``, stable for large logits."""
    reduction = check_reduction(reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is not None:
        losses = (1 - target) * input + (1 + (pos_weight - 1) * target) * softplus(-input, threshold=math.inf)
    elif weight is None:
        return apply(_bce_with_logits, (input, target), (reduction,))
    else:
        losses = apply(_bce_with_logits, (input, target), ("none",))
    if weight is not None:
        losses = losses * weight
    return reduced(losses, reduction)


__all__ = public(globals(), internal=["broadcast_target", "check_reduction", "reduced", "sum_rows"])
