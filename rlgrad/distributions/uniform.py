"""Uniform and Laplace distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, standard_uniform
from rlgrad.distributions.location_scale import LocationScale

__all__ = ["Laplace", "Uniform"]


class Uniform(Distribution):
    """Uniform distributions over `[low, high)`, one per element.

    Args:
        low: lower end, inclusive.
        high: upper end, exclusive, above `low`.

    Example:
        >>> import rlgrad
        >>> Uniform(rlgrad.tensor([0.0]), rlgrad.tensor([4.0])).mean
        tensor([2.])
    """

    arg_constraints = {"low": constraints.real, "high": constraints.real}
    has_rsample = True
    _batched = {"low": 0, "high": 0}

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        (self.low, self.high), shape = broadcast(low=low, high=high)
        super().__init__(shape, (), validate_args)

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        self._refuse_outside("parameter high", self.high, constraints.greater_than(self.low))

    @property
    def support(self) -> Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return rlgrad.full_like(self.high, float("nan"))

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / math.sqrt(12.0)

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = rlgrad.logical_and(self.low <= value, self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws `low + noise (high - low)`."""
        noise = standard_uniform(self.low, self._shape(sample_shape), generator)
        return self.low + noise * (self.high - self.low)


class Laplace(LocationScale):
    """Laplace (double exponential) distributions, one per element.

    Args:
        loc: mean.
        scale: mean absolute deviation, positive.

    Example:
        >>> import rlgrad
        >>> Laplace(rlgrad.zeros(1), rlgrad.ones(1)).cdf(rlgrad.zeros(1))
        tensor([0.5000])
    """

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        from_median = value - 0.5
        return self.loc - self.scale * from_median.sign() * (-2 * from_median.abs()).log1p()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws by the inverse distribution function of uniform noise."""
        noise = standard_uniform(self.loc, self._shape(sample_shape), generator) - 0.5
        return self.loc - self.scale * noise.sign() * (noise.abs() * -2).log1p()
