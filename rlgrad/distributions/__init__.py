"""Probability distributions with differentiable log-probabilities, after `torch.distributions`."""

from rlgrad.distributions import constraints, transforms
from rlgrad.distributions.bernoulli import Bernoulli
from rlgrad.distributions.categorical import (
    Categorical,
    MultiCategorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from rlgrad.distributions.dirichlet import Beta, Dirichlet
from rlgrad.distributions.distribution import Distribution
from rlgrad.distributions.gamma import Exponential, Gamma
from rlgrad.distributions.independent import Independent, MixtureSameFamily
from rlgrad.distributions.kl import kl_divergence, register_kl
from rlgrad.distributions.multivariate_normal import MultivariateNormal
from rlgrad.distributions.normal import DiagonalNormal, Normal
from rlgrad.distributions.transformed import TanhNormal, TransformedDistribution
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
    "Categorical",
    "ComposeTransform",
    "DiagonalNormal",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Independent",
    "Laplace",
    "MixtureSameFamily",
    "MultiCategorical",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhNormal",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transforms",
]
