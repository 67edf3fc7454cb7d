"""Losses beyond the likelihoods, and distances between vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rlgrad.autograd.ops.ctc import ctc_loss
from rlgrad.autograd.ops.define import one_dim
from rlgrad.autograd.ops.margins import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    soft_margin_loss,
)
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.reduction import check_reduction, reduced
from rlgrad.autograd.ops.shape import broadcast_tensors
from rlgrad.autograd.ops.smooth_activations import logsigmoid
from rlgrad.autograd.ops.special import xlogy
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``target * (log target - input)`` pointwise.

    Args:
        input: log-probabilities.
        target: probabilities of the same shape, or their logarithms with ``log_target``.
        reduction: as usual, or ``"batchmean"``: the sum over the batch's size.
    """
    losses = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if size_average is None and reduce is None and reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.ndim else losses
    return reduced(losses, reduction, size_average, reduce)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""
    return renamed((x1 - x2 + eps).norm(p, -1, keepdim), "NormBackward1")


def _cosine_forward(xp: Any, a: Any, b: Any, dim: int, eps: float) -> Any:
    norms = xp.maximum(xp.sqrt((a * a).sum(dim)), eps) * xp.maximum(xp.sqrt((b * b).sum(dim)), eps)
    return (a * b).sum(dim) / norms


def _cosine_vjp(ns: Any, g: Any, wants: Sequence[bool], a: Any, b: Any, dim: int, eps: float) -> tuple[Any, ...]:
    """Each vector moves towards the other's direction, less its own part of that unless its norm is bounded."""
    lengths = [ns.vector_norm(x, 2.0, (dim,), True) for x in (a, b)]
    bounded = [ns.clamp_min(length, eps, None) for length in lengths]
    scale = ns.reshape(g, lengths[0].shape) / (bounded[0] * bounded[1])
    product = ns.sum(a * b, (dim,), True)
    parts = []
    for want, own, other, length, bound in zip(wants, (a, b), (b, a), lengths, bounded, strict=True):
        share = product * ns.mask(length >= eps, own) / (bound * bound) if want else None
        parts.append((other - own * share) * scale if want else None)
    return tuple(parts)


_cosine_similarity = Op("cosine_similarity", _cosine_forward, _cosine_vjp, node="SumBackward1", inputs=2)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along ``dim``, each norm bounded below by ``eps``."""
    if x1._array.dtype is not x2._array.dtype:
        common = dtypes.result_type(x1, x2)
        x1, x2 = x1.to(common), x2.to(common)
    if x1._array.shape != x2._array.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    array = x1._array
    if array.dtype.kind != "f":
        raise RuntimeError(
            f"cosine_similarity: expected floating point tensors, but got {x1.dtype!r}; convert them first"
        )
    if array.dtype.itemsize < 4:  # squares of halves overflow
        return cosine_similarity(x1.float(), x2.float(), dim, eps).to(x1.dtype)
    dim = one_dim(dim, array.ndim)
    if not array.ndim:
        return cosine_similarity(x1.reshape(1), x2.reshape(1), 0, eps)
    return apply(_cosine_similarity, (x1, x2), (dim, eps))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the ``p``-distance.

    Args:
        anchor, positive, negative: ``(batch, features)`` or ``(features,)``.
        margin: how much nearer the positive should be than the negative; above zero.
        swap: use the distance of positive and negative where it is the smaller one (Balntas et al., 2016).
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=check_reduction(reduction, size_average, reduce),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with any distance; that of :func:`pairwise_distance` when none is given."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((distance(anchor, positive) - far + margin).clamp_min(0), reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of ``target`` under a normal distribution with mean ``input`` and variance ``var``."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input * 0 + var
    elif bool((var._array < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(m for n, m in zip(input.shape, var.shape, strict=True) if n != m) != 1:
            raise ValueError(f"var is of incorrect size: {list(var.shape)} for an input of {list(input.shape)}")
    bounded = where(var < eps, var.detach() * 0 + eps, var.detach()) + (var - var.detach())
    losses = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution with (the logarithm of) rate ``input``."""
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        large = target > 1
        safe = where(large, target, 2.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        losses = losses + where(large, stirling, 0.0)
    return reduced(losses, reduction, size_average, reduce)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes of the binary cross-entropies of ``sigmoid(input)``."""
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    return reduced(losses.mean(-1), reduction, size_average, reduce)


__all__: Sequence[str] = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
