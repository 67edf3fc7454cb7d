"""Normal distributions: element by element, over vectors with independent components, and folded at 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import rlgrad
from rlgrad import Size, Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, standard_normal
from rlgrad.distributions.kernels import normal_log_prob
from rlgrad.distributions.location_scale import LocationScale

__all__ = ["DiagonalNormal", "HalfNormal", "Normal"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Normal(LocationScale):
    """Normal distributions, one per element of `loc` and `scale`.

    Args:
        loc: mean.
        scale: standard deviation, positive; broadcast against `loc`.

    Example:
        >>> import rlgrad
        >>> Normal(rlgrad.zeros(2), rlgrad.ones(2)).log_prob(rlgrad.zeros(2))
        tensor([-0.9189, -0.9189])
    """

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return normal_log_prob(value, self.loc, self.scale)

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + _HALF_LOG_TWO_PI)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) / self.scale * math.sqrt(0.5)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2.0)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws by the reparameterisation `loc + scale * noise`, so that gradients reach both parameters."""
        return self.loc + self.scale * standard_normal(self.loc, self._shape(sample_shape), generator)


class DiagonalNormal(Distribution):
    """Normal distributions over vectors whose components are independent.

    The last axis is the event: `log_prob` and `entropy` sum over it (`Independent(Normal(loc, scale), 1)` in
    PyTorch).

    Args:
        loc: (*batch_shape, dim) mean.
        scale: (dim,) or (*batch_shape, dim) standard deviation, positive.
    """

    arg_constraints = Normal.arg_constraints
    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, scale: Tensor, validate_args: bool | None = None) -> None:
        if loc.ndim and loc.shape[-1:] == scale.shape:
            # Left unexpanded: the logarithm and the gradient of `dim` numbers cost less than those of a batch.
            self.loc, self.scale = loc, scale
        else:
            (self.loc, self.scale), _ = broadcast(loc=loc, scale=scale)
        shape = self.loc.shape
        if not shape:
            raise ValueError("DiagonalNormal needs a last axis over the components, got tensors without axes.")
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale if self.scale.shape == self.loc.shape else self.scale.expand(*self.loc.shape)

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return normal_log_prob(value, self.loc, self.scale, 1)

    def entropy(self) -> Tensor:
        total = self.scale.log().sum(-1) + (0.5 + _HALF_LOG_TWO_PI) * self.event_shape[0]
        return total if total.shape == self.batch_shape else total.expand(*self.batch_shape)

    def expand(self, batch_shape: Sequence[int]) -> Self:
        shape = (*batch_shape, *self.event_shape)
        new = type(self)(self.loc.expand(*shape), self.scale.expand(*shape), validate_args=False)
        new._validate_args = self._validate_args
        new.batch_shape = Size(batch_shape)
        return new

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws by the reparameterisation `loc + scale * noise`."""
        return self.loc + self.scale * standard_normal(self.loc, self._shape(sample_shape), generator)


class HalfNormal(Distribution):
    """Distributions of the absolute value of a normal number with mean 0, one per element.

    Args:
        scale: standard deviation of the normal number, positive.
    """

    arg_constraints = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _batched = {"scale": 0}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale,), shape = broadcast(scale=scale)
        super().__init__(shape, (), validate_args)

    @property
    def _normal(self) -> Normal:
        return Normal(0.0, self.scale, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return rlgrad.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return rlgrad.where(value >= 0, self._normal.log_prob(value) + math.log(2.0), -math.inf)

    def entropy(self) -> Tensor:
        return self._normal.entropy() - math.log(2.0)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self._normal.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._normal.icdf((value + 1) / 2)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws the absolute value of `scale * noise`."""
        return self._normal.rsample(sample_shape, generator).abs()
