"""Losses that compare scores with classes."""

from __future__ import annotations

import warnings
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.loss.base import _Loss, _WeightedLoss


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood of a class under log-probabilities.

    Args:
        weight: factor for each class; ``"mean"`` divides by the sum of those that occur.
        ignore_index: a target that does not count.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """:class:`NLLLoss` under the name it once had for images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("NLLLoss2d is deprecated: NLLLoss does the same", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class CrossEntropyLoss(_WeightedLoss):
    """Cross-entropy of a class, or of class probabilities, under logits.

    Args:
        weight: factor for each class; ``"mean"`` divides by the sum of those that occur.
        ignore_index: a class that does not count.
        label_smoothing: share of the target spread evenly over the classes, in [0, 1] (Szegedy et al., 2016, section
            7).

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.CrossEntropyLoss()(rlgrad.zeros(3, 4), rlgrad.tensor([0, 1, 3]))
        tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiMarginLoss(_WeightedLoss):
    """``sum over i != target of max(0, margin - input[target] + input[i]) ** p / classes``.

    Args:
        p: 1 or 2.
        weight: factor for each class.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """``sum over targets j and other classes i of max(0, 1 - input[j] + input[i]) / classes``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over the classes of the binary cross-entropies of ``sigmoid(input)``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """Likelihood of label sequences under all their alignments to longer ones (Graves et al., 2006).

    Args:
        blank: the class that stands for no label.
        reduction: ``"mean"`` divides each loss by its number of labels and averages over the batch.
        zero_infinity: count sequences that cannot be aligned as zero.

    Shape:
        log-probabilities ``(steps, batch, classes)``, targets ``(batch, longest)`` or all in one row, lengths
        ``(batch,)``; or one sequence without the batch dimension.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
