"""Probability distributions with differentiable log-probabilities, after `torch.distributions`."""

from importlib import import_module as _import_module
from typing import Any as _Any

from rlgrad.distributions import constraints, kl_cross, kl_same, transforms
from rlgrad.distributions.bernoulli import Bernoulli
from rlgrad.distributions.categorical import (
    Categorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from rlgrad.distributions.counts import Binomial, Geometric, Poisson
from rlgrad.distributions.dirichlet import Beta, Dirichlet
from rlgrad.distributions.distribution import Distribution
from rlgrad.distributions.gamma import Chi2, Exponential, Gamma
from rlgrad.distributions.independent import Independent, MixtureSameFamily
from rlgrad.distributions.kl import kl_divergence, register_kl
from rlgrad.distributions.location import Cauchy, Gumbel, StudentT
from rlgrad.distributions.multi_categorical import MultiCategorical
from rlgrad.distributions.multivariate_normal import MultivariateNormal
from rlgrad.distributions.normal import DiagonalNormal, HalfNormal, Normal
from rlgrad.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from rlgrad.distributions.transformed import LogNormal, TanhNormal, TransformedDistribution
from rlgrad.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
)
from rlgrad.distributions.uniform import Laplace, Uniform

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "DiagonalNormal",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "MultiCategorical",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "SigmoidTransform",
    "SoftplusTransform",
    "StudentT",
    "TanhNormal",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "kl_cross",
    "kl_divergence",
    "kl_same",
    "register_kl",
    "transforms",
]

_LATER = {
    "constraint_registry": "biject_to constraint_registry transform_to",
    "heavy_tailed": "FisherSnedecor HalfCauchy InverseGamma Pareto Weibull",
    "kumaraswamy": "Kumaraswamy",
    "logistic": "LogisticNormal",
    "trials": "Multinomial NegativeBinomial",
    "vector_transforms": (
        "AbsTransform IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform "
        "SoftmaxTransform StickBreakingTransform"
    ),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
__all__ += list(_MODULE_OF)


def __getattr__(name: str) -> _Any:
    """What few programs use is imported when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rlgrad.distributions' has no attribute {name!r}")
    module = _import_module(f"rlgrad.distributions.{_MODULE_OF[name]}")
    found = globals()[name] = module if name == _MODULE_OF[name] else getattr(module, name)
    return found
