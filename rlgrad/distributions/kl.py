"""Kullback-Leibler divergences in closed form, by pair of families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions.bernoulli import Bernoulli
from rlgrad.distributions.categorical import Categorical, MultiCategorical, OneHotCategorical
from rlgrad.distributions.dirichlet import Beta, Dirichlet
from rlgrad.distributions.distribution import Distribution, sum_rightmost
from rlgrad.distributions.gamma import Exponential, Gamma
from rlgrad.distributions.independent import Independent
from rlgrad.distributions.multivariate_normal import MultivariateNormal, squared_mahalanobis
from rlgrad.distributions.normal import DiagonalNormal, Normal
from rlgrad.distributions.transformed import TanhNormal, TransformedDistribution
from rlgrad.distributions.uniform import Laplace, Uniform
from rlgrad.linalg import solve_triangular
from rlgrad.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]
_EULER = 0.57721566490153286060
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

_FORMULAS: dict[tuple[type, type], Formula] = {}
_found: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorates a function `(p, q) -> Tensor` that computes the divergence of `type_q` from `type_p`.

    Of several that fit a pair, `kl_divergence` takes the one registered for the nearest class of `p`, then of `q`.

    Raises:
        TypeError: an argument is not a class of distributions.
    """
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(f"register_kl takes classes of distributions, got {given!r}.")

    def register(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        _found.clear()
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """`KL(p || q)`, the mean of `log p(x) - log q(x)` over `x` from `p`, in nats, of the batch's shape.

    Raises:
        NotImplementedError: no closed form is registered for the two families.

    Example:
        >>> import rlgrad
        >>> kl_divergence(Normal(rlgrad.zeros(1), rlgrad.ones(1)), Normal(rlgrad.ones(1), rlgrad.ones(1)))
        tensor([0.5000])
    """
    pair = type(p), type(q)
    formula = _found.get(pair)
    if formula is None:
        fitting = [key for key in _FORMULAS if isinstance(p, key[0]) and isinstance(q, key[1])]
        if not fitting:
            raise NotImplementedError(
                f"No closed form of KL({pair[0].__name__} || {pair[1].__name__}) is registered: add one with register_kl, or "
                "average p.log_prob(x) - q.log_prob(x) over samples of p."
            )
        nearest = min(fitting, key=lambda key: (pair[0].__mro__.index(key[0]), pair[1].__mro__.index(key[1])))
        formula = _found[pair] = _FORMULAS[nearest]
    return formula(p, q)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """The divergence where `p` has outcomes that are impossible under `q`."""
    parameter = next(value for value in vars(p).values() if isinstance(value, Tensor))
    shape = rlgrad.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return rlgrad.full(shape, math.inf, dtype=parameter.dtype, device=parameter.device)


for _pair in [
    *((Exponential, q) for q in (Beta, Uniform)),
    *((Gamma, q) for q in (Beta, Uniform)),
    *((p, q) for p in (Laplace, Normal) for q in (Beta, Exponential, Gamma, Uniform)),
]:
    _FORMULAS[_pair] = _infinite


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio, shift = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + shift - 1 - ratio.log())


@register_kl(DiagonalNormal, DiagonalNormal)
def _diagonal_diagonal(p: DiagonalNormal, q: DiagonalNormal) -> Tensor:
    return _normal_normal(p, q).sum(-1)


@register_kl(TanhNormal, TanhNormal)
def _tanh_tanh(p: TanhNormal, q: TanhNormal) -> Tensor:
    return _diagonal_diagonal(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL of multivariate normals needs equal event_shapes, got {tuple(p.event_shape)} and {tuple(q.event_shape)}."
        )
    batch = rlgrad.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    square = (*batch, *p.event_shape, *p.event_shape)
    own, other = p._factor.expand(*square), q._factor.expand(*square)
    ratio = solve_triangular(other, own, upper=False)
    spread = (ratio * ratio).sum((-2, -1))
    shift = squared_mahalanobis(other, (q.loc - p.loc).expand(*batch, *p.event_shape))
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + shift - p.event_shape[0])


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    # Where one outcome is certain its probability alone counts, and an impossible one under q makes it infinite.
    ones = rlgrad.where(q.probs == 0, math.inf, ones)
    zeros = rlgrad.where(q.probs == 1, math.inf, zeros)
    return rlgrad.where(p.probs == 0, 0.0, ones) + rlgrad.where(p.probs == 1, 0.0, zeros)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = rlgrad.where(q.probs == 0, math.inf, terms)
    return rlgrad.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(MultiCategorical, MultiCategorical)
def _multi_multi(p: MultiCategorical, q: MultiCategorical) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    own, other = p.concentration, q.concentration
    total = own.sum(-1)
    norms = total.lgamma() - other.sum(-1).lgamma() - (own.lgamma() - other.lgamma()).sum(-1)
    return norms + ((own - other) * (own.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet_dirichlet(p._dirichlet(), q._dirichlet())


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    norms = q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
    shape = (p.concentration - q.concentration) * p.concentration.digamma()
    return norms + shape + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    return rlgrad.where(_sticks_out(p, q.low, q.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL of Independent distributions with {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims} "
            "reinterpreted axes has no closed form here."
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of transformed distributions has a closed form for equal transforms only.")
    kl = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(kl, len(p.event_shape) - len(p.base_dist.event_shape))


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
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * _EULER - (1 + _EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _from_moments(p: Distribution, q: Normal) -> Tensor:
    """Against a normal, the mean and the variance of `p` say everything but its entropy."""
    squared = (p.variance + (p.mean - q.loc) ** 2) / (q.scale * q.scale)
    return -p.entropy() + q.scale.log() + _HALF_LOG_TWO_PI + 0.5 * squared


for _family in (Beta, Exponential, Gamma, Laplace, Uniform):
    _FORMULAS[_family, Normal] = _from_moments


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
