"""Distributions on the line with heavier tails than the normal: Cauchy, Gumbel and Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import (
    Distribution,
    RandomSource,
    broadcast,
    standard_exponential,
    standard_normal,
    standard_uniform,
)
from rlgrad.distributions.gamma import Chi2
from rlgrad.distributions.location_scale import LocationScale

__all__ = ["Cauchy", "Gumbel", "StudentT"]

EULER = 0.57721566490153286060
"""The Euler-Mascheroni constant."""


class Cauchy(LocationScale):
    """Cauchy distributions, one per element; they have neither mean nor variance.

    Args:
        loc: median.
        scale: half the distance between the quartiles, positive.
    """

    @property
    def mean(self) -> Tensor:
        return rlgrad.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return rlgrad.full_like(self.loc, math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardised = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (standardised**2).log1p()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws by the inverse distribution function of uniform noise."""
        return self.icdf(standard_uniform(self.loc, self._shape(sample_shape), generator))


class Gumbel(LocationScale):
    """Gumbel distributions of largest values, one per element.

    Args:
        loc: mode.
        scale: spread, positive.
    """

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardised = (self.loc - value) / self.scale
        return standardised - standardised.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws from the logarithm of exponential noise."""
        return self.loc - self.scale * standard_exponential(self.loc, self._shape(sample_shape), generator).log()


class StudentT(Distribution):
    """Student's t-distributions, one per element.

    Args:
        df: degrees of freedom, positive.
        loc: centre.
        scale: spread, positive.
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _batched = {"df": 0, "loc": 0, "scale": 0}

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        (self.df, self.loc, self.scale), shape = broadcast(df=df, loc=loc, scale=scale)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return rlgrad.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        enough = self.df > 2
        df = rlgrad.where(enough, self.df, 3.0)
        wide = rlgrad.where(self.df > 1, math.inf, rlgrad.full_like(df, math.nan))
        return rlgrad.where(enough, self.scale**2 * df / (df - 2), wide)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardised = (value - self.loc) / self.scale
        kernel = -0.5 * (self.df + 1.0) * (standardised**2 / self.df).log1p()
        return kernel - self.scale.log() - 0.5 * self.df.log() - self._log_beta()

    def entropy(self) -> Tensor:
        slope = (0.5 * (self.df + 1)).digamma() - (0.5 * self.df).digamma()
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + self._log_beta()

    def _log_beta(self) -> Tensor:
        """Logarithm of the beta function at 1/2 and df/2."""
        return (0.5 * self.df).lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1)).lgamma()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws a normal number and divides it by the root of a chi-squared one over `df`."""
        normal = standard_normal(self.df, self._shape(sample_shape), generator)
        squares = Chi2(self.df, validate_args=False).rsample(sample_shape, generator)
        return self.loc + self.scale * normal * (squares / self.df).rsqrt()
