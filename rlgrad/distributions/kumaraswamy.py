"""Kumaraswamy's distribution on the unit interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, standard_exponential
from rlgrad.distributions.location import EULER

__all__ = ["Kumaraswamy"]


class Kumaraswamy(Distribution):
    """Distributions much like the beta's whose cumulative probability `1 - (1 - x^a)^b` is elementary; one per element.

    Args:
        concentration1: `a`, positive.
        concentration0: `b`, positive.

    Source: Kumaraswamy (1980), "A generalized probability density function for double-bounded random processes".

    Example:
        >>> import rlgrad
        >>> Kumaraswamy(rlgrad.tensor(1.0), rlgrad.tensor(1.0)).mean
        tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        given = {"concentration1": concentration1, "concentration0": concentration0}
        (self.concentration1, self.concentration0), shape = broadcast(**given)
        super().__init__(shape, (), validate_args)

    def _moment(self, order: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        power = 1 + order / a
        return b * (power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        peaked = rlgrad.logical_and(rlgrad.logical_and(a >= 1, b >= 1), a * b > 1)
        mode = rlgrad.where(peaked, (a - 1) / (a * b - 1), math.nan)
        return mode ** a.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean**2

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1) * value.log() + (b - 1) * (-(value**a)).log1p()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (1 - value**self.concentration1) ** self.concentration0

    def icdf(self, value: Tensor) -> Tensor:
        return self._at_survival((1 - value).log())

    def _at_survival(self, log_survival: Tensor) -> Tensor:
        """The outcome that is exceeded with the probability whose logarithm is given."""
        return (-(log_survival / self.concentration0).expm1()) ** self.concentration1.reciprocal()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws by the inverse distribution function."""
        return self._at_survival(-standard_exponential(self.concentration1, self._shape(sample_shape), generator))
