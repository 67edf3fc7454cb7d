"""Distributions of positive numbers: gamma, chi-squared and exponential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import (
    Distribution,
    RandomSource,
    broadcast,
    draw,
    standard_exponential,
)
from rlgrad.distributions.implicit import gamma_cdf, gamma_sample

__all__ = ["Chi2", "Exponential", "Gamma"]


class Gamma(Distribution):
    """Gamma distributions, one per element.

    Args:
        concentration: shape parameter, positive.
        rate: inverse of the scale, positive.

    Example:
        >>> import rlgrad
        >>> Gamma(rlgrad.tensor([2.0]), rlgrad.tensor([4.0])).mean
        tensor([0.5000])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _batched = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.concentration, self.rate), shape = broadcast(concentration=concentration, rate=rate)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / (self.rate * self.rate)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        concentration, rate = self.concentration, self.rate
        density = concentration.xlogy(rate) + (concentration - 1).xlogy(value) - rate * value
        return density - concentration.lgamma()

    def entropy(self) -> Tensor:
        concentration = self.concentration
        return (
            concentration - self.rate.log() + concentration.lgamma() + (1.0 - concentration) * concentration.digamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return gamma_cdf(*rlgrad.broadcast_tensors(self.concentration, self.rate * value))

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws whose gradients are implicit (Figurnov et al., 2018), as in PyTorch."""
        concentration = self.concentration.expand(*self._shape(sample_shape))
        drawn = draw(
            concentration, concentration.shape, generator, lambda g, s, _, a: g.standard_gamma(a, s), concentration
        )
        smallest = float(np.finfo(concentration._array.dtype).tiny)
        standard = gamma_sample(concentration, wrap(drawn).clamp(min=smallest))
        return (standard / self.rate).clamp(min=smallest)


class Chi2(Gamma):
    """Distributions of the sum of `df` squared standard normal numbers: `Gamma(df / 2, 1 / 2)`.

    Args:
        df: degrees of freedom, positive.
    """

    arg_constraints = {"df": constraints.positive}
    _batched = {**Gamma._batched, "df": 0}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        (degrees,), _ = broadcast(df=df)
        self.df = degrees
        super().__init__(0.5 * degrees, 0.5, validate_args)


class Exponential(Distribution):
    """Exponential distributions, one per element.

    Args:
        rate: inverse of the mean, positive.

    Example:
        >>> import rlgrad
        >>> Exponential(rlgrad.tensor([2.0])).cdf(rlgrad.tensor([0.0]))
        tensor([0.])
    """

    arg_constraints = {"rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _batched = {"rate": 0}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,), shape = broadcast(rate=rate)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return rlgrad.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return (self.rate * self.rate).reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws `noise / rate`."""
        return standard_exponential(self.rate, self._shape(sample_shape), generator) / self.rate
