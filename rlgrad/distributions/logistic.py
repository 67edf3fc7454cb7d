"""Normal numbers as probabilities."""

from __future__ import annotations

from typing import Any

from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.normal import Normal
from rlgrad.distributions.transformed import TransformedDistribution
from rlgrad.distributions.vector_transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Distributions of probabilities of classes, which normal numbers become by breaking a stick.

    Args:
        loc, scale: `(*batch_shape, classes - 1)` mean and standard deviation of the normal numbers.

    Example:
        >>> import rlgrad
        >>> LogisticNormal(rlgrad.zeros(3), rlgrad.ones(3)).event_shape
        torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Mean of the normal numbers."""
        base: Any = self.base_dist
        return base.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviation of the normal numbers."""
        base: Any = self.base_dist
        return base.base_dist.scale
