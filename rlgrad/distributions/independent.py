"""Batch axes read as parts of one event, and mixtures of one family."""

from __future__ import annotations

from collections.abc import Sequence

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.categorical import Categorical
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import Distribution, RandomSource, sum_rightmost

__all__ = ["Independent", "MixtureSameFamily"]


class Independent(Distribution):
    """A distribution whose last batch axes belong to the event, so that `log_prob` sums over them.

    Args:
        base_distribution: the distribution of the components.
        reinterpreted_batch_ndims: how many batch axes become event axes.

    Example:
        >>> import rlgrad
        >>> from rlgrad.distributions import Bernoulli
        >>> multi_binary = Independent(Bernoulli(logits=rlgrad.zeros(4, 3)), 1)
        >>> multi_binary.batch_shape, multi_binary.event_shape
        (torch.Size([4]), torch.Size([3]))
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        if not 0 <= reinterpreted_batch_ndims <= len(base_distribution.batch_shape):
            raise ValueError(
                f"reinterpreted_batch_ndims must lie between 0 and the {len(base_distribution.batch_shape)} batch axes of "
                f"{base_distribution!r}, got {reinterpreted_batch_ndims}."
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        kept = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"

    def expand(self, batch_shape: Sequence[int]) -> Independent:
        axes = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *axes))
        return Independent(base, self.reinterpreted_batch_ndims, self._validate_args)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self.base_dist.sample(sample_shape, generator)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self.base_dist.rsample(sample_shape, generator)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise self._has_no("enumerated support over several components", "enumerate base_dist")
        return self.base_dist.enumerate_support(expand)


class MixtureSameFamily(Distribution):
    """Mixtures whose components are the last batch axis of one distribution.

    Args:
        mixture_distribution: weights of the components, with batch_shape `(*batch_shape,)`.
        component_distribution: the components, with batch_shape `(*batch_shape, K)`.

    Example:
        >>> import rlgrad
        >>> from rlgrad.distributions import Normal
        >>> weights = Categorical(probs=rlgrad.tensor([0.5, 0.5]))
        >>> MixtureSameFamily(weights, Normal(rlgrad.tensor([-1.0, 1.0]), rlgrad.ones(2))).variance
        tensor(2.)
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical) or not isinstance(component_distribution, Distribution):
            raise ValueError(
                "MixtureSameFamily takes a Categorical and a Distribution of the components, got "
                f"{type(mixture_distribution).__name__} and {type(component_distribution).__name__}."
            )
        count, batch = mixture_distribution.num_outcomes, component_distribution.batch_shape
        if not batch or batch[-1] != count or mixture_distribution.batch_shape not in ((), batch[:-1]):
            raise ValueError(
                f"Components of batch_shape {tuple(batch)} do not fit weights of {count} components and batch_shape "
                f"{tuple(mixture_distribution.batch_shape)}: expected batch_shape (*batch, {count})."
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        self._axis = -1 - len(component_distribution.event_shape)
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution!r}, {self.component_distribution!r})"

    def expand(self, batch_shape: Sequence[int]) -> MixtureSameFamily:
        count = self.mixture_distribution.num_outcomes
        return MixtureSameFamily(
            self.mixture_distribution.expand(batch_shape),
            self.component_distribution.expand((*batch_shape, count)),
            self._validate_args,
        )

    @property
    def support(self) -> Constraint:
        return self.component_distribution.support

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self.event_shape))

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(self._axis)

    @property
    def variance(self) -> Tensor:
        weights, means = self._weights(), self.component_distribution.mean
        within = (weights * self.component_distribution.variance).sum(self._axis)
        between = (weights * (means - self.mean.unsqueeze(self._axis)) ** 2).sum(self._axis)
        return within + between

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        densities = self.component_distribution.log_prob(value.unsqueeze(self._axis))
        return (densities + self.mixture_distribution.logits).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        below = self.component_distribution.cdf(value.unsqueeze(-1))
        return (below * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        with rlgrad.no_grad():
            weights = self.mixture_distribution
            if weights.batch_shape != self.batch_shape:
                weights = weights.expand(self.batch_shape)
            chosen = weights.sample(sample_shape, generator)
            drawn = self.component_distribution.sample(sample_shape, generator)
            shape = (*chosen.shape, 1, *self.event_shape)
            index = chosen.reshape(*chosen.shape, *[1] * (1 + len(self.event_shape))).expand(*shape)
            return drawn.gather(drawn.ndim + self._axis, index).squeeze(self._axis)
