"""Divergences between two distributions of one family."""

from __future__ import annotations

import math

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions.bernoulli import Bernoulli
from rlgrad.distributions.categorical import Categorical, OneHotCategorical
from rlgrad.distributions.counts import Binomial, Geometric, Poisson
from rlgrad.distributions.dirichlet import Beta, Dirichlet
from rlgrad.distributions.distribution import sum_rightmost
from rlgrad.distributions.gamma import Exponential, Gamma
from rlgrad.distributions.independent import Independent
from rlgrad.distributions.kl import kl_divergence, register_kl
from rlgrad.distributions.location import EULER, Cauchy, Gumbel
from rlgrad.distributions.multi_categorical import MultiCategorical
from rlgrad.distributions.multivariate_normal import MultivariateNormal, squared_mahalanobis
from rlgrad.distributions.normal import DiagonalNormal, HalfNormal, Normal
from rlgrad.distributions.transformed import TanhNormal, TransformedDistribution
from rlgrad.distributions.uniform import Laplace, Uniform
from rlgrad.linalg import solve_triangular
from rlgrad.nn.functional import softplus


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
    return rlgrad.where(
        rlgrad.logical_or(p.low < q.low, p.high > q.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log()
    )


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


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal_normal(p._normal, q._normal)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + ratio * EULER + (shift + (1 + ratio).lgamma()).exp() - (1 + EULER)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL of a Binomial from one with more trials has no closed form.")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return rlgrad.where(p.total_count > q.total_count, math.inf, kl)
