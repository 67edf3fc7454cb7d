"""Losses on how near two or three inputs are to one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.distance import PairwiseDistance
from rlgrad.nn.loss.base import _Loss


class _MarginLoss(_Loss):
    """A loss with a margin as its first argument."""

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""

    def __init__(
        self, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Shape:
        inputs ``(batch, features)`` or ``(features,)``, target ``(batch,)`` or ``()``.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, -target * (input1 - input2) + margin)``: the first should rank higher where the target is 1."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


def _check_margin(name: str, margin: float) -> float:
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
    return margin


class TripletMarginLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the ``p``-distance.

    Args:
        margin: how much nearer the positive should be; above zero.
        eps: added to the differences.
        swap: use the distance of positive and negative where it is the smaller one (Balntas et al., 2016).
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = _check_margin("TripletMarginLoss", margin)
        self.p, self.eps, self.swap = p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """:class:`TripletMarginLoss` with any distance.

    Args:
        distance_function: maps two batches of vectors to their distances; ``PairwiseDistance()`` when not given.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.margin, self.swap = _check_margin("TripletMarginWithDistanceLoss", margin), swap
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
