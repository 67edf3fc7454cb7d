"""Distributions of counts: Poisson, geometric and binomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.distributions import constraints
from rlgrad.distributions.bernoulli import BinaryDistribution
from rlgrad.distributions.distribution import (
    Distribution,
    RandomSource,
    broadcast,
    draw,
    enumerated,
    standard_exponential,
)
from rlgrad.nn.functional import logsigmoid

__all__ = ["Binomial", "Geometric", "Poisson"]


class Poisson(Distribution):
    """Counts of events that come at a constant rate, one per element.

    Args:
        rate: mean count, positive.
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer
    _batched = {"rate": 0}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,), shape = broadcast(rate=rate)
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        shape = self._shape(sample_shape)
        return wrap(draw(self.rate, shape, generator, lambda g, s, _, rate: g.poisson(rate, s), self.rate))


class Geometric(BinaryDistribution):
    """Number of failures before the first success, one per element.

    Args:
        probs: probability of success, in (0, 1].
        logits: its log-odds; exactly one of the two is given.
    """

    support: Any = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return rlgrad.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        failure = rlgrad.where(rlgrad.logical_and(self.probs == 1, value == 0), 0.0, -self.probs)
        return value * failure.log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return self._binary_entropy() / self.probs

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        with rlgrad.no_grad():
            times = standard_exponential(self.probs, self._shape(sample_shape), generator)
            return (times / -(-self.probs).log1p()).floor()


class Binomial(BinaryDistribution):
    """Number of successes in `total_count` independent trials, one per element.

    Args:
        total_count: number of trials.
        probs: probability of success, in [0, 1].
        logits: its log-odds; exactly one of the two is given.
    """

    arg_constraints = {**BinaryDistribution.arg_constraints, "total_count": constraints.nonnegative_integer}
    _batched = {**BinaryDistribution._batched, "total_count": 0}
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    @property
    def support(self) -> constraints.Constraint:
        top = self.total_count.detach().cpu().numpy()
        return constraints.Constraint(
            "IntegerInterval(lower_bound=0, upper_bound=total_count)",
            lambda v: (v % 1 == 0) & (v >= 0) & (v <= top),
            is_discrete=True,
        )

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count
        ways = (total + 1).lgamma() - (value + 1).lgamma() - (total - value + 1).lgamma()
        return ways + value * self.logits + total * logsigmoid(-self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        def sampler(stream: Any, size: Any, _: Any, total: Any, probs: Any) -> Any:
            return stream.binomial(total.astype(np.int64), probs, size)

        return wrap(draw(self.probs, self._shape(sample_shape), generator, sampler, self.total_count, self.probs))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        counts = self.total_count._array
        top = int(counts.max())
        if not bool((counts == top).all()):
            raise NotImplementedError("Binomials of unequal total_count have supports of unequal size.")
        outcomes = rlgrad.arange(1 + top, dtype=self.probs.dtype, device=self.probs.device)
        return enumerated(outcomes, self.batch_shape, expand)
