"""Distributions of positive numbers with heavy tails, and those of lifetimes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, standard_exponential
from rlgrad.distributions.gamma import Gamma
from rlgrad.distributions.location import EULER, Cauchy

__all__ = ["FisherSnedecor", "HalfCauchy", "InverseGamma", "Pareto", "Weibull"]


class HalfCauchy(Distribution):
    """Distributions of the absolute value of a Cauchy number around 0, one per element; they have no mean.

    Args:
        scale: median, positive.

    Example:
        >>> import rlgrad
        >>> HalfCauchy(rlgrad.tensor(2.0)).cdf(rlgrad.tensor(2.0))
        tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _batched = {"scale": 0}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale,), shape = broadcast(scale=scale)
        super().__init__(shape, (), validate_args)

    def _base(self) -> Cauchy:
        return Cauchy(rlgrad.zeros_like(self.scale), self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return rlgrad.full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        return rlgrad.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return rlgrad.full_like(self.scale, math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return rlgrad.where(value >= 0, self._base().log_prob(value) + math.log(2), -math.inf)

    def entropy(self) -> Tensor:
        return self._base().entropy() - math.log(2)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self._base().cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._base().icdf((value + 1) / 2)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws the absolute value of a Cauchy number."""
        return self._base().rsample(sample_shape, generator).abs()


class InverseGamma(Distribution):
    """Distributions of one over a gamma number, one per element.

    Args:
        concentration: shape parameter of the gamma distribution, positive.
        rate: its rate, and the scale here, positive.

    Example:
        >>> import rlgrad
        >>> InverseGamma(rlgrad.tensor(3.0), rlgrad.tensor(4.0)).mean
        tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _batched = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.concentration, self.rate), shape = broadcast(concentration=concentration, rate=rate)
        super().__init__(shape, (), validate_args)

    def _base(self) -> Gamma:
        return Gamma(self.concentration, self.rate, validate_args=False)

    @property
    def mean(self) -> Tensor:
        finite = self.concentration > 1
        return rlgrad.where(finite, self.rate / (rlgrad.where(finite, self.concentration, 2.0) - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration > 2
        concentration = rlgrad.where(finite, self.concentration, 3.0)
        return rlgrad.where(finite, self.rate**2 / ((concentration - 1) ** 2 * (concentration - 2)), math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._base().log_prob(1 / value) - 2 * value.log()

    def entropy(self) -> Tensor:
        concentration = self.concentration
        return concentration + self.rate.log() + concentration.lgamma() - (1 + concentration) * concentration.digamma()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - self._base().cdf(1 / value)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws one over a gamma number."""
        return 1 / self._base().rsample(sample_shape, generator)


class Pareto(Distribution):
    """Pareto distributions of numbers from `scale` on, one per element.

    Args:
        scale: the smallest outcome, positive.
        alpha: how fast the density falls, positive; the mean is finite above 1, the variance above 2.

    Example:
        >>> import rlgrad
        >>> Pareto(rlgrad.tensor(1.0), rlgrad.tensor(2.0)).mean
        tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "alpha": constraints.positive}
    has_rsample = True
    _batched = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale, self.alpha), shape = broadcast(scale=scale, alpha=alpha)
        super().__init__(shape, (), validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws `scale * exp(noise / alpha)` with exponential noise."""
        return self.scale * (standard_exponential(self.scale, self._shape(sample_shape), generator) / self.alpha).exp()


class Weibull(Distribution):
    """Weibull distributions, of lifetimes under a failure rate that is a power of time; one per element.

    Args:
        scale: the time by which all but 1/e have failed, positive.
        concentration: the failure rate rises above 1 and falls below, positive.

    Example:
        >>> import rlgrad
        >>> Weibull(rlgrad.tensor(2.0), rlgrad.tensor(1.0)).mean
        tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _batched = {"scale": 0, "concentration": 0}

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale, self.concentration), shape = broadcast(scale=scale, concentration=concentration)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration.reciprocal()).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration.reciprocal()
        return self.scale**2 * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        relative = (value / self.scale).log()
        shape = self.concentration
        return shape.log() - self.scale.log() + (shape - 1) * relative - (shape * relative).exp()

    def entropy(self) -> Tensor:
        inverse = self.concentration.reciprocal()
        return EULER * (1 - inverse) + (self.scale * inverse).log() + 1

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()) ** self.concentration.reciprocal()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws a power of exponential noise."""
        noise = standard_exponential(self.scale, self._shape(sample_shape), generator)
        return self.scale * noise ** self.concentration.reciprocal()


class FisherSnedecor(Distribution):
    """F-distributions, of the ratio of two chi-squared numbers each over its degrees of freedom; one per element.

    Args:
        df1: degrees of freedom above, positive.
        df2: degrees of freedom below, positive; the mean is there above 2, the variance above 4.

    Example:
        >>> import rlgrad
        >>> FisherSnedecor(rlgrad.tensor(3.0), rlgrad.tensor(4.0)).mean
        tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _batched = {"df1": 0, "df2": 0}

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        (self.df1, self.df2), shape = broadcast(df1=df1, df2=df2)
        super().__init__(shape, (), validate_args)

    def _enough(self, least: float) -> Tensor:
        return rlgrad.where(self.df2 > least, self.df2, math.nan)

    @property
    def mean(self) -> Tensor:
        below = self._enough(2)
        return below / (below - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return rlgrad.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        below = self._enough(4)
        return 2 * below**2 * (self.df1 + below - 2) / (self.df1 * (below - 2) ** 2 * (below - 4))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        first, second, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        constant = (first + second).lgamma() - first.lgamma() - second.lgamma()
        power = first * ratio.log() + (first - 1) * value.log()
        return constant + power - (first + second) * (ratio * value).log1p()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws two gamma numbers and divides them, as PyTorch does."""
        smallest = float(np.finfo(self.df1._array.dtype).tiny)
        above, below = (
            Gamma(df / 2, df / 2, validate_args=False).rsample(sample_shape, generator) for df in (self.df1, self.df2)
        )
        return (above / below.clamp(min=smallest)).clamp(min=smallest)
