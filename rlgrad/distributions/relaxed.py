"""Continuous relaxations of discrete distributions, whose samples carry gradients.

Source: Maddison, Mnih and Teh, The Concrete Distribution (2017); Jang, Gu and Poole, Categorical Reparameterization
with Gumbel-Softmax (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.bernoulli import BinaryDistribution
from rlgrad.distributions.categorical import Categorical, OverCategories
from rlgrad.distributions.distribution import RandomSource, standard_exponential, standard_uniform
from rlgrad.distributions.transformed import TransformedDistribution
from rlgrad.distributions.transforms import ExpTransform, SigmoidTransform
from rlgrad.nn.functional import logsigmoid

__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical"]


class _LogitRelaxedBernoulli(BinaryDistribution):
    """The log-odds of a `RelaxedBernoulli`."""

    support: Any = constraints.real
    has_rsample = True

    def __init__(self, temperature: Tensor | float, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self.temperature = rlgrad.as_tensor(temperature)
        super().__init__(probs, logits, validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference + 2 * logsigmoid(-difference)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        noise = standard_uniform(self.logits, self._shape(sample_shape), generator)
        limits = rlgrad.finfo(noise.dtype)
        return (noise.clamp(limits.tiny, 1 - limits.eps).logit() + self.logits) / self.temperature


class _ExpRelaxedCategorical(OverCategories):
    """The logarithm of a `RelaxedOneHotCategorical`."""

    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Tensor | float, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self.temperature = rlgrad.as_tensor(temperature)
        super().__init__(Categorical(probs, logits, validate_args), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self.event_shape[0]
        score = (self.logits - value * self.temperature).log_softmax(-1).sum(-1)
        return score + math.lgamma(count) + (count - 1) * self.temperature.log()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        gumbel = -standard_exponential(self.logits, self._shape(sample_shape), generator).log()
        return ((self.logits + gumbel) / self.temperature).log_softmax(-1)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that crowd at the ends as the temperature falls, one per element.

    Args:
        temperature: positive; near 0 the outcomes are those of a Bernoulli distribution.
        probs: probability of 1.
        logits: its log-odds; exactly one of the two is given.
    """

    base_dist: _LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(_LogitRelaxedBernoulli(temperature, probs, logits, validate_args), SigmoidTransform())

    @property
    def temperature(self) -> Tensor:
        """How far the outcomes are from discrete ones."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds of 1."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probability of 1."""
        return self.base_dist.probs


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors on the simplex that crowd at its corners as the temperature falls (Gumbel-softmax).

    Args:
        temperature: positive; near 0 the outcomes are one-hot.
        probs: (*batch_shape, K) non-negative weights.
        logits: (*batch_shape, K) their logarithms; exactly one of the two is given.

    Example:
        >>> import rlgrad
        >>> logits = rlgrad.zeros(5, 3, requires_grad=True)
        >>> RelaxedOneHotCategorical(rlgrad.tensor(0.5), logits=logits).rsample().shape
        torch.Size([5, 3])
    """

    base_dist: _ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(_ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform())

    @property
    def support(self) -> constraints.Constraint:
        return constraints.simplex

    @property
    def temperature(self) -> Tensor:
        """How far the outcomes are from one-hot."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """(*batch_shape, K) normalised log-probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """(*batch_shape, K) probabilities that sum to 1."""
        return self.base_dist.probs
