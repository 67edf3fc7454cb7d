"""What the distributions share that are one distribution, moved and stretched."""

from __future__ import annotations

from typing import Any

from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, broadcast

__all__ = ["LocationScale"]


class LocationScale(Distribution):
    """Distributions of `loc + scale * noise`, one per element; mean and mode are `loc` unless a subclass says else.

    Args:
        loc: where they are.
        scale: how wide they are, positive; broadcast against `loc`.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _batched = {"loc": 0, "scale": 0}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.loc, self.scale), shape = broadcast(loc=loc, scale=scale)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc
