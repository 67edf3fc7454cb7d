"""Losses as functions: differences, likelihoods and cross-entropies, each reduced as ``reduction`` says."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.fused import broadcast_target, check_reduction, log_softmax, nll_loss, reduced
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.tensor import Tensor

__all__ = ["binary_cross_entropy", "cross_entropy", "huber_loss", "l1_loss", "smooth_l1_loss"]


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """Absolute difference."""
    input, target = broadcast_target(input, target)
    return reduced((input - target).abs(), reduction, size_average, reduce)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared difference over ``2 * beta`` where it is below ``beta``, absolute difference less ``beta / 2`` above."""
    if beta < 0:
        raise ValueError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    input, target = broadcast_target(input, target)
    size = (input - target).abs()
    losses = where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta)
    return reduced(losses, reduction, size_average, reduce)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference where it is below ``delta``, ``delta * (difference - delta / 2)`` above."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    if weight is not None and weight.shape != input.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(input.shape)}")
    input, target = broadcast_target(input, target)
    size = (input - target).abs()
    losses = where(size < delta, size * size * 0.5, (size - 0.5 * delta) * delta)
    return reduced(losses if weight is None else losses * weight, reduction)


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
        return losses.sum() / max(losses.numel(), 1) if reduction == "mean" else reduced(losses, reduction)
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
    losses = -(target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100))
    return reduced(losses if weight is None else losses * weight, reduction, size_average, reduce)
