"""Counts from repeated trials: negative binomial and multinomial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import module_of
from rlgrad.distributions import constraints
from rlgrad.distributions.bernoulli import BinaryDistribution
from rlgrad.distributions.categorical import Categorical
from rlgrad.distributions.counts import Binomial
from rlgrad.distributions.distribution import Distribution, RandomSource, draw
from rlgrad.nn.functional import logsigmoid

__all__ = ["Multinomial", "NegativeBinomial"]


class NegativeBinomial(BinaryDistribution):
    """Number of successes before the failure number `total_count`, one per element.

    Args:
        total_count: how many failures, not negative; need not be whole.
        probs: probability of success, in [0, 1).
        logits: its log-odds; exactly one of the two is given.

    Example:
        >>> import rlgrad
        >>> NegativeBinomial(4, probs=rlgrad.tensor([0.5])).mean
        tensor([4.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0.0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer
    _batched = {**BinaryDistribution._batched, "total_count": 0}
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args, total_count=total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count
        ways = (total + value).lgamma() - (1 + value).lgamma() - total.lgamma()
        ways = rlgrad.where(total + value == 0, 0.0, ways)
        return total * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws from Poisson distributions whose rates are gamma numbers."""

        def sampler(stream: Any, size: Any, _: Any, total: Any, odds: Any) -> Any:
            return stream.poisson(stream.standard_gamma(total, size) * odds, size)

        odds = self.logits.detach().exp()
        return wrap(draw(self.logits, self._shape(sample_shape), generator, sampler, self.total_count, odds))


class Multinomial(Distribution):
    """How often each class comes up in `total_count` independent draws; an outcome has the classes as last axis.

    Args:
        total_count: how many draws, the same for the whole batch.
        probs: `(*batch_shape, classes)` not negative; they are divided by their sum.
        logits: logarithms of probabilities up to a constant; exactly one of the two is given.

    Example:
        >>> import rlgrad
        >>> Multinomial(4, probs=rlgrad.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial takes one total_count for the whole batch, an int, got {type(total_count).__name__}."
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits, validate_args=validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.logits.shape[-1:], validate_args)

    @property
    def support(self) -> constraints.Constraint:
        total = self.total_count
        return constraints.Constraint(
            f"Multinomial(upper_bound={total})",
            lambda v: ((v >= 0) & (v % 1 == 0)).all(-1) & (v.sum(-1) <= total),
            is_discrete=True,
            event_dim=1,
        )

    @property
    def probs(self) -> Tensor:
        """Probability of each class."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Its logarithm."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        return self.logits.shape

    def expand(self, batch_shape: Sequence[int]) -> Any:
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = rlgrad.broadcast_tensors(self.logits, value)
        logits = rlgrad.where(rlgrad.logical_and(value == 0, logits == -math.inf), 0.0, logits)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        count = Binomial(self.total_count, probs=self.probs, validate_args=False)
        outcomes = count.enumerate_support(expand=False)[1:]
        repeats = (count.log_prob(outcomes).exp() * (outcomes + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + repeats

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws the count of one class after the other, each binomial among what the classes before it left."""
        shape, total = self._shape(sample_shape), self.total_count

        def sampler(stream: Any, size: Any, _: Any, probs: Any) -> Any:
            xp = module_of(probs)
            counts, share = xp.empty(size), xp.ones(probs.shape[:-1])
            left = xp.full(size[:-1], total)
            for index in range(size[-1]):
                chance = (probs[..., index] / share.clip(1e-300, None)).clip(0, 1)
                counts[..., index] = stream.binomial(left, chance, size[:-1]) if index < size[-1] - 1 else left
                left = left - counts[..., index].astype(left.dtype)
                share = share - probs[..., index]
            return counts

        return wrap(draw(self.probs, shape, generator, sampler, self.probs))
