"""Divergences between distributions of different families: minus the entropy of one, minus its mean of the other's log-density."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions.bernoulli import Bernoulli
from rlgrad.distributions.counts import Binomial, Poisson
from rlgrad.distributions.dirichlet import Beta
from rlgrad.distributions.distribution import Distribution
from rlgrad.distributions.gamma import Exponential, Gamma
from rlgrad.distributions.kl import register_kl
from rlgrad.distributions.location import EULER, Gumbel
from rlgrad.distributions.normal import Normal
from rlgrad.distributions.uniform import Laplace, Uniform

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """The divergence where `p` has outcomes that are impossible under `q`."""
    parameter = next(value for value in vars(p).values() if isinstance(value, Tensor))
    shape = rlgrad.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return rlgrad.full(shape, math.inf, dtype=parameter.dtype, device=parameter.device)


for _pair in [
    *((Exponential, q) for q in (Beta, Uniform)),
    *((Gamma, q) for q in (Beta, Uniform)),
    *((Poisson, q) for q in (Bernoulli, Binomial)),
    *((p, q) for p in (Gumbel, Laplace, Normal) for q in (Beta, Exponential, Gamma, Uniform)),
]:
    register_kl(*_pair)(_infinite)


@register_kl(Beta, Exponential)
def _beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    density = q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * mean_log
    return -p.entropy() - density + q.rate * p.mean


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _from_moments(p: Distribution, q: Normal) -> Tensor:
    """Against a normal, the mean and the variance of `p` say everything but its entropy."""
    squared = (p.variance + (p.mean - q.loc) ** 2) / (q.scale * q.scale)
    return -p.entropy() + q.scale.log() + _HALF_LOG_TWO_PI + 0.5 * squared


for _family in (Beta, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_family, Normal)(_from_moments)


_LAPLACE_TRANSFORM: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate) ** -p.concentration,
    Normal: lambda p, t: (-p.loc * t + 0.5 * (p.scale * t) ** 2).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}
"""The mean of `exp(-t x)` under a family."""


def _against_gumbel(transform: Callable[[Any, Tensor], Tensor]) -> Callable[[Any, Gumbel], Tensor]:
    def formula(p: Any, q: Gumbel) -> Tensor:
        decay = transform(p, 1 / q.scale)
        return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * decay

    return formula


for _first, _transform in _LAPLACE_TRANSFORM.items():
    register_kl(_first, Gumbel)(_against_gumbel(_transform))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    shift = p.loc - q.loc
    z = shift / p.scale
    mean_distance = p.scale * math.sqrt(2 / math.pi) * (-0.5 * z * z).exp() + shift * (z * math.sqrt(0.5)).erf()
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    return rlgrad.where(rlgrad.logical_or(q.low > 0, q.high < 1), math.inf, -p.entropy() + (q.high - q.low).log())


def _sticks_out(p: Uniform, low: Any, high: Any) -> Tensor:
    return rlgrad.logical_or(p.low < low, p.high > high)


def _mean_log(p: Uniform) -> Tensor:
    return (p.high.xlogy(p.high) - p.low.xlogy(p.low)) / (p.high - p.low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    total = q.concentration1 + q.concentration0
    norms = q.concentration1.lgamma() + q.concentration0.lgamma() - total.lgamma()
    density = (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log(mirrored) - norms
    return rlgrad.where(_sticks_out(p, 0.0, 1.0), math.inf, -p.entropy() - density)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return rlgrad.where(p.low < 0, math.inf, -p.entropy() - q.rate.log() + q.rate * p.mean)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    density = q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _mean_log(p)
    return rlgrad.where(p.low < 0, math.inf, -p.entropy() - density + q.rate * p.mean)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
