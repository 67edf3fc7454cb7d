"""Distributions over the simplex and the unit interval: Dirichlet and beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import module_of
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, draw
from rlgrad.distributions.implicit import dirichlet_sample

__all__ = ["Beta", "Dirichlet"]


class Dirichlet(Distribution):
    """Distributions over vectors of K non-negative numbers that sum to 1.

    Args:
        concentration: (*batch_shape, K), positive.

    Example:
        >>> import rlgrad
        >>> Dirichlet(rlgrad.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex
    has_rsample = True
    _batched = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError(
                "Dirichlet needs a concentration with a last axis over the components, got a tensor without."
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        # With every concentration below 1 the density is infinite at every corner; the first stands for them.
        corners = (self.concentration < 1).all(-1, keepdim=True)
        mode = excess / rlgrad.where(corners, 1.0, excess.sum(-1, keepdim=True))
        first = rlgrad.zeros_like(excess)
        first[..., 0] = 1.0
        return rlgrad.where(corners, first, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total * total * (total + 1))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        concentration = self.concentration
        density = (concentration - 1.0).xlogy(value).sum(-1)
        return density + concentration.sum(-1).lgamma() - concentration.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        count, total = self.event_shape[0], self.concentration.sum(-1)
        return (
            self.concentration.lgamma().sum(-1)
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        )

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws whose gradients are implicit through each component's beta law, as in PyTorch."""
        concentration = self.concentration.expand(*self._shape(sample_shape))
        return dirichlet_sample(concentration, _normalised_gammas(concentration.detach(), generator))


class Beta(Distribution):
    """Distributions over [0, 1], one per element.

    Args:
        concentration1: positive; large values push towards 1 (often called alpha).
        concentration0: positive; large values push towards 0 (often called beta).

    Example:
        >>> import rlgrad
        >>> Beta(rlgrad.tensor([2.0]), rlgrad.tensor([2.0])).mode
        tensor([0.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        both, shape = broadcast(concentration1=concentration1, concentration0=concentration0)
        self.concentration1, self.concentration0 = both
        super().__init__(shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet().mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total * total * (total + 1))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        density = (a - 1.0).xlogy(value) + (b - 1.0).xlogy(1.0 - value)
        return density + (a + b).lgamma() - a.lgamma() - b.lgamma()

    def entropy(self) -> Tensor:
        return self._dirichlet().entropy()

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws whose gradients are implicit, as in PyTorch."""
        return self._dirichlet().rsample(sample_shape, generator)[..., 0]

    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(rlgrad.stack([self.concentration1, self.concentration0], -1), validate_args=False)


def _normalised_gammas(concentration: Tensor, generator: RandomSource) -> Tensor:
    """Gamma draws divided by their sum, computed with logarithms so that tiny concentrations do not underflow."""

    def sampler(stream: Any, size: Any, _: Any, shapes: Any) -> Any:
        # A draw for `a` is one for `a + 1` times `u^(1/a)`, and `-log u` is exponential (Marsaglia and Tsang, 2000).
        xp = module_of(shapes)
        logs = xp.log(stream.standard_gamma(shapes + 1, size)) - stream.standard_exponential(size) / shapes
        weights = xp.exp(logs - logs.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    drawn = draw(concentration, concentration.shape, generator, sampler, concentration)
    return wrap(drawn.clip(np.finfo(drawn.dtype).tiny, 1.0))
