"""Losses that compare an input with a target of its shape, element by element."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.loss.base import _Loss, _WeightedLoss


class MSELoss(_Loss):
    """Squared difference.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.MSELoss()(rlgrad.tensor([1.0, 2.0]), rlgrad.tensor([1.0, 4.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, None, None, self.reduction)


class L1Loss(_Loss):
    """Absolute difference."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared difference over ``2 * beta`` where it is below ``beta``, absolute difference less ``beta / 2`` above.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: difference at which the two meet.
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """:class:`SmoothL1Loss` times ``delta``.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: difference at which the square becomes a line.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """Cross-entropy of probabilities with targets in [0, 1].

    Args:
        weight: factor for each element of the batch, broadcast to the input.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """:class:`BCELoss` of ``sigmoid(input)``, stable for large logits.

    Args:
        weight: factor for each element, broadcast to the input.
        pos_weight: factor for the positive part of each class.
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of the target from the input, which holds log-probabilities.

    Args:
        reduction: as usual, or ``"batchmean"``: the sum over the batch's size, which is the divergence's definition.
        log_target: whether the target holds log-probabilities too.
    """

    more_reductions = ("batchmean",)

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of counts under Poisson distributions.

    Args:
        log_input: whether the input holds the logarithms of the rates rather than the rates.
        full: add Stirling's approximation of the term that does not depend on the input.
        eps: added to the rate inside the logarithm when ``log_input`` is false.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood of targets under normal distributions (Nix and Weigend, 1994).

    Args:
        full: add the constant ``log(2 pi) / 2``.
        eps: least variance.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``, for targets of -1 and 1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)
