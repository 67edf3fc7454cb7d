"""Distributions of transformed outcomes, among them the squashed normal of SAC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import Distribution, RandomSource, standard_normal, sum_rightmost
from rlgrad.distributions.independent import Independent
from rlgrad.distributions.kernels import log_tanh_slope
from rlgrad.distributions.normal import DiagonalNormal, Normal
from rlgrad.distributions.transforms import ComposeTransform, ExpTransform, Transform

__all__ = ["LogNormal", "TanhNormal", "TransformedDistribution"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class TransformedDistribution(Distribution):
    """The distribution of `f(x)` for `x` from a base distribution.

    Args:
        base_distribution: what is transformed.
        transforms: one map or several, the first applied first.

    Example:
        >>> import rlgrad
        >>> from rlgrad.distributions import Normal
        >>> from rlgrad.distributions.transforms import ExpTransform
        >>> log_normal = TransformedDistribution(Normal(rlgrad.zeros(1), rlgrad.ones(1)), ExpTransform())
        >>> log_normal.cdf(rlgrad.ones(1))
        tensor([0.5000])
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise ValueError(f"transforms must be a Transform or a list of them, got {type(transform).__name__}.")
        whole = ComposeTransform(self.transforms)
        events, wanted = len(base_distribution.event_shape), whole.domain.event_dim
        if len(base_distribution.batch_shape) + events < wanted:
            raise ValueError(
                f"{base_distribution!r} has {len(base_distribution.batch_shape) + events} axes, but the transforms act on {wanted}."
            )
        if wanted > events:
            base_distribution = Independent(base_distribution, wanted - events)
        self.base_dist = base_distribution
        self._events = max(whole.codomain.event_dim, events + whole.codomain.event_dim - wanted)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        shape = whole.forward_shape(shape)
        split = len(shape) - self._events
        base_shape = whole.inverse_shape(shape)
        base_batch = base_shape[: len(base_shape) - len(base_distribution.event_shape)]
        if base_batch != tuple(base_distribution.batch_shape):
            self.base_dist = base_distribution.expand(base_batch)
        super().__init__(shape[:split], shape[split:], validate_args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"

    def expand(self, batch_shape: Sequence[int]) -> Any:
        new = super().expand(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        return constraints.independent(last, self._events - last.event_dim)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        with rlgrad.no_grad():
            return self._forward(self.base_dist.sample(sample_shape, generator))

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape, generator))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total: Any = 0.0
        events, y = len(self.event_shape), value
        for transform in reversed(self.transforms):
            x = transform.invert(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, y), events - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.invert(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotone(value)))

    def _monotone(self, probability: Tensor) -> Tensor:
        """A probability of the base seen through falling maps, which turn it around."""
        sign = math.prod([transform.sign for transform in self.transforms])
        return sign * (probability - 0.5) + 0.5 if isinstance(sign, Tensor) or sign != 1 else probability


class LogNormal(TransformedDistribution):
    """Distributions of the exponential of a normal number, one per element.

    Args:
        loc, scale: mean and standard deviation of the logarithm.
    """

    arg_constraints = Normal.arg_constraints
    base_dist: Normal

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """Mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale**2
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class TanhNormal(Distribution):
    """Vectors with independent components `tanh(u)`, `u` normal: policies over bounded actions, as in SAC.

    The last axis is the event. `log_prob` of an action that `tanh` rounded to exactly -1 or 1 is finite: such an action
    counts as the closest one inside.

    Args:
        loc: (*batch_shape, dim) mean of `u`.
        scale: (dim,) or (*batch_shape, dim) standard deviation of `u`, positive.

    Source: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018), appendix C.

    Example:
        >>> import rlgrad
        >>> policy = TanhNormal(rlgrad.zeros(5, 2), rlgrad.ones(2))
        >>> action, log_prob = policy.rsample_with_log_prob()
        >>> action.shape, log_prob.shape
        (torch.Size([5, 2]), torch.Size([5]))
    """

    support: Any = constraints.independent(constraints.interval(-1.0, 1.0), 1)
    has_rsample = True

    def __init__(self, loc: Tensor, scale: Tensor, validate_args: bool | None = None) -> None:
        self.base_dist = DiagonalNormal(loc, scale, validate_args)
        super().__init__(self.base_dist.batch_shape, self.base_dist.event_shape, validate_args)

    @property
    def loc(self) -> Tensor:
        """(*batch_shape, dim) mean before `tanh`."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviation before `tanh`."""
        return self.base_dist.scale

    def __repr__(self) -> str:
        return f"TanhNormal({self.base_dist!r})"

    def expand(self, batch_shape: Sequence[int]) -> TanhNormal:
        base = self.base_dist.expand(batch_shape)
        return TanhNormal(base.loc, base.scale, self._validate_args)

    @property
    def mode(self) -> Tensor:
        """`tanh(loc)`, the median of each component and what deterministic policies play."""
        return self.base_dist.loc.tanh()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        closest = 1.0 - rlgrad.finfo(value.dtype).eps
        u = value.clamp(-closest, closest).atanh()
        return self.base_dist.log_prob(u) - log_tanh_slope(u).sum(-1)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self.base_dist.rsample(sample_shape, generator).tanh()

    def rsample_with_log_prob(
        self, sample_shape: Sequence[int] = (), generator: RandomSource = None
    ) -> tuple[Tensor, Tensor]:
        """Differentiable draws and their log-densities, without the loss of precision of inverting `tanh`.

        Returns:
            Actions `(*sample_shape, *batch_shape, dim)` and log-densities `(*sample_shape, *batch_shape)`.
        """
        loc, scale = self.base_dist.loc, self.base_dist.scale
        noise = standard_normal(loc, self._shape(sample_shape), generator)
        u = loc + scale * noise
        # The density of `u` depends on its noise and on the scale alone.
        constant = (noise * noise).sum(-1) * -0.5 - self.event_shape[0] * _HALF_LOG_TWO_PI
        return u.tanh(), constant - scale.log().sum(-1) - log_tanh_slope(u).sum(-1)
