"""Losses that are negative logarithms of probabilities, from class indices, distributions or coin flips."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.reduction import check_reduction, reduced, reduced_array, weight_of
from rlgrad.autograd.ops.smooth_activations import softplus
from rlgrad.autograd.ops.softmax import log_softmax, log_softmax_forward
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes

# A class of each row. `ignore_index` is None where no target is ignored, which most often is so and costs less.


@functools.lru_cache(32)
def _rows(count: int) -> np.ndarray:
    return np.arange(count)


def _places(xp: Any, target: Any) -> tuple[Any, Any]:
    return (_rows(len(target)) if xp is np else xp.arange(len(target))), target


def _kept(xp: Any, target: Any, weight: Any, ignore_index: int | None, dtype: Any) -> tuple[Any, Any]:
    """Targets that can be looked up, and the factor of each row; ``None`` for ones."""
    if ignore_index is None:
        return target, None if weight is None else weight[target]
    kept = target != ignore_index
    safe = xp.where(kept, target, 0)
    return safe, kept.astype(dtype) if weight is None else weight[safe] * kept


def _nll_forward(xp: Any, a: Any, target: Any, weight: Any, reduction: str, ignore_index: int | None) -> Any:
    safe, scale = _kept(xp, target, weight, ignore_index, a.dtype)
    losses = -a[_places(xp, safe)]
    if scale is None:
        return reduced_array(losses, reduction)
    losses *= scale
    if ignore_index is not None:  # also where it is infinite
        losses[target == ignore_index] = 0
    return losses.sum() / scale.sum() if reduction == "mean" else reduced_array(losses, reduction)


def _nll_gradient(
    xp: Any, g: Any, target: Any, weight: Any, shape: tuple[int, ...], reduction: str, ignore_index: int | None
) -> Any:
    safe, scale = _kept(xp, target, weight, ignore_index, g.dtype)
    if reduction == "mean":
        scale = 1 / max(len(target), 1) if scale is None else scale / scale.sum()
    change = -g if scale is None else -scale * g
    out = xp.zeros(shape, g.dtype)
    out[_places(xp, safe)] = change if ignore_index is None else xp.where(target != ignore_index, change, 0)
    return out


_nll_loss = Op(
    "nll_loss",
    _nll_forward,
    (
        lambda ns, g, target, weight, a_shape, reduction, ignore_index: ns.nll_gradient(
            g, target, weight, a_shape, reduction, ignore_index
        ),
        None,
        None,
    ),
)
Op(
    "nll_gradient",
    _nll_gradient,
    (
        lambda ns, g, target, weight, reduction, ignore_index: ns.nll_loss(g, target, weight, reduction, ignore_index),
        None,
        None,
    ),
)


def _cross_entropy_forward(xp: Any, a: Any, target: Any, weight: Any, reduction: str, ignore_index: int | None) -> Any:
    return _nll_forward(xp, log_softmax_forward(xp, a, 1), target, weight, reduction, ignore_index)


def _cross_entropy_vjp(
    ns: Any,
    g: Any,
    a: Any,
    target: Any,
    weight: Any,
    a_shape: tuple[int, ...],
    reduction: str,
    ignore_index: int | None,
) -> Any:
    change = ns.nll_gradient(g, target, weight, a_shape, reduction, ignore_index)
    return change - ns.softmax(a, 1) * ns.sum(change, (1,), True)


_cross_entropy = Op("cross_entropy", _cross_entropy_forward, (_cross_entropy_vjp, None, None), node="NllLossBackward0")


def _lookup(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> int | None:
    """Check targets against an input ``(batch, classes, ...)``; gives ``ignore_index`` if some target is ignored."""
    x, t = input._array, target._array
    _check_classes(input, target, weight)
    classes = x.shape[1]
    if not t.size or (int(t.view(np.uint64).max()) < classes and not 0 <= ignore_index < classes):
        return None  # as unsigned numbers, negative targets are large
    bad = (t != ignore_index) & ((t < 0) | (t >= classes))
    if bad.any():
        raise IndexError(f"Target {int(t[bad].flat[0])} is out of bounds for {classes} classes.")
    return ignore_index


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
        return renamed(rows.reshape(()), "NllLossBackward0")
    ignored = _lookup(input, target, weight, ignore_index)
    require_floating(input, "nll_loss")
    if x.ndim > 2:
        flat = input.movedim(1, -1).reshape(-1, x.shape[1])
        result = apply(_nll_loss, (flat, target.reshape(-1), weight), (reduction, ignored))
        if reduction == "none":
            result = result.reshape(t.shape)
        return renamed(result, "ViewBackward0" if reduction == "none" and x.ndim != 4 else "NllLoss2DBackward0")
    return apply(_nll_loss, (input, target, weight), (reduction, ignored))


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


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross-entropy of ``target`` under ``softmax(input)``.

    Args:
        input: logits ``(classes,)``, ``(batch, classes)`` or ``(batch, classes, ...)``.
        target: classes (int64, without the class dimension) or probabilities (the shape of ``input``).
        weight: factor for each class.
        label_smoothing: share of the target spread evenly over the classes.
    """
    reduction = check_reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input.ndim == 1 else 1
    if target.shape == input.shape:
        _check_probabilities(target, ignore_index)
        losses = _of_probabilities(log_softmax(input, dim), target, weight, label_smoothing)
        if reduction == "mean":
            return renamed(losses.sum() / max(losses.numel(), 1), "DivBackward1")
        return renamed(reduced(losses, reduction), "NegBackward0")
    if input.ndim == 2 and not label_smoothing and target._array.dtype == np.int64:
        ignored = _lookup(input, target, weight, ignore_index)
        return apply(_cross_entropy, (require_floating(input, "log_softmax"), target, weight), (reduction, ignored))
    log_p = log_softmax(input, dim)
    plain = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return plain
    kept = target != ignore_index
    spread = where(kept, -(log_p if weight is None else log_p * _along(weight, log_p)).sum(dim), 0.0)
    if reduction == "mean":
        total = kept.sum() if weight is None else (weight[where(kept, target, 0)] * kept).sum()
        spread = spread.sum() / total
    elif reduction == "sum":
        spread = spread.sum()
    return plain * (1 - label_smoothing) + spread * (label_smoothing / input.shape[dim])


def _check_probabilities(target: Tensor, ignore_index: int) -> None:
    if not target.is_floating_point():
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype!r}")
    if ignore_index >= 0:
        raise RuntimeError(f"ignore_index is not supported for floating point target, got {ignore_index}")


def _of_probabilities(log_p: Tensor, target: Tensor, weight: Tensor | None, label_smoothing: float) -> Tensor:
    """Cross-entropies of distributions over the classes, for each element of the batch."""
    dim = 0 if log_p.ndim == 1 else 1
    classes = log_p.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
                f"weight tensor of shape: {list(weight.shape)}"
            )
        log_p = log_p * _along(weight, log_p)
    return -(log_p * target).sum(dim)


def _along(weight: Tensor, scores: Tensor) -> Tensor:
    """Factors of the classes in a shape that multiplies scores."""
    return weight if scores.ndim == 1 else weight.reshape([-1 if d == 1 else 1 for d in range(scores.ndim)])


def _bce_forward(xp: Any, a: Any, target: Any, reduction: str) -> Any:
    losses = (target - 1) * xp.maximum(xp.log1p(-a), -100) - target * xp.maximum(xp.log(a), -100)
    return reduced_array(losses, reduction)


def _log_bounded(ns: Any, a: Any) -> Any:
    return ns.clamp_min(ns.log(a), -100.0, None)


_bce = Op(
    "binary_cross_entropy",
    _bce_forward,
    (
        lambda ns, g, a, target, a_shape, reduction: (
            (a - target) / ns.clamp_min(a * (1 - a), 1e-12, None) * weight_of(g, a_shape, reduction)
        ),
        lambda ns, g, a, a_shape, reduction: (
            (_log_bounded(ns, 1 - a) - _log_bounded(ns, a)) * weight_of(g, a_shape, reduction)
        ),
    ),
)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of probabilities ``input`` with ``target``, logarithms bounded below by -100."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please "
            "ensure they have the same size."
        )
    array = input._array
    if bool(((array < 0) | (array > 1)).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if array.dtype.kind != "f" and target._array.dtype.kind == "f":
        raise RuntimeError(
            f"Found dtype {target.dtype!r} but expected {input.dtype!r}; convert the input with .float()"
        )
    if array.dtype is not target._array.dtype:
        common = dtypes.result_type(input, target)
        input, target = input.to(common), target.to(common)
    require_floating(input, "binary_cross_entropy")
    reduction = check_reduction(reduction, size_average, reduce)
    if weight is None:
        return apply(_bce, (input, target), (reduction,))
    weighted = reduced(apply(_bce, (input, target), ("none",)) * weight, reduction)
    return renamed(weighted, "BinaryCrossEntropyBackward0")


_bce_with_logits = Op(
    "bce_with_logits",
    lambda xp, a, target, reduction: reduced_array(
        xp.maximum(a, 0) - a * target + xp.log1p(xp.exp(-abs(a))), reduction
    ),
    (
        lambda ns, g, a, target, a_shape, reduction: weight_of(g, a_shape, reduction) * (ns.sigmoid(a) - target),
        lambda ns, g, a, a_shape, reduction: weight_of(g, a_shape, reduction) * -a,
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
    require_floating(input, "binary_cross_entropy_with_logits")
    if pos_weight is not None:
        losses = (1 - target) * input + (1 + (pos_weight - 1) * target) * softplus(-input, threshold=math.inf)
    elif weight is None:
        return apply(_bce_with_logits, (input, target), (reduction,))
    else:
        losses = apply(_bce_with_logits, (input, target), ("none",))
    if weight is not None:
        losses = losses * weight
    return renamed(reduced(losses, reduction), "BinaryCrossEntropyWithLogitsBackward0")


__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss"]
