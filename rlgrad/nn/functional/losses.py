"""Losses as functions: differences, likelihoods and cross-entropies, each reduced as ``reduction`` says."""

from __future__ import annotations

import math
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
    return reduced((input - target).abs(), reduction)


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
        return l1_loss(input, target, reduction=reduction)
    input, target = broadcast_target(input, target)
    size = (input - target).abs()
    return reduced(where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference where it is below ``delta``, ``delta * (difference - delta / 2)`` above."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
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
    check_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input.ndim == 1 else 1
    log_p = log_softmax(input, dim)
    classes = input.shape[dim]
    if target.is_floating_point():
        if target.shape != input.shape:
            raise RuntimeError(
                f"cross_entropy: probabilities of shape {list(target.shape)} for logits of shape {list(input.shape)}"
            )
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        scaled = log_p if weight is None else log_p * _along(weight, input.ndim, dim)
        losses = -(scaled * target).sum(dim)
        batch = math.prod(input.shape) / max(classes, 1) if input.ndim > 1 else 1
        return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / batch
    plain = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return plain
    kept = target != ignore_index
    spread = -(log_p if weight is None else log_p * _along(weight, input.ndim, dim)).sum(dim)
    spread = where(kept, spread, 0.0)
    if reduction == "mean":
        total = kept.sum() if weight is None else (weight[where(kept, target, 0)] * kept).sum()
        spread = spread.sum() / total
    elif reduction == "sum":
        spread = spread.sum()
    return plain * (1 - label_smoothing) + spread * (label_smoothing / classes)


def _along(weight: Tensor, ndim: int, dim: int) -> Tensor:
    return weight.reshape([-1 if d == dim else 1 for d in range(ndim)])


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of probabilities ``input`` with ``target``, logarithms bounded below by -100."""
    check_reduction(reduction)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please "
            "ensure they have the same size."
        )
    array = input._array
    if bool(((array < 0) | (array > 1)).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    losses = -(target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100))
    return reduced(losses if weight is None else losses * weight, reduction)
