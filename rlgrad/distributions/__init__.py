"""Probability distributions with differentiable log-probabilities, after `torch.distributions`."""

from rlgrad.distributions.categorical import Categorical
from rlgrad.distributions.distribution import Distribution
from rlgrad.distributions.normal import DiagonalNormal, Normal

__all__ = ["Categorical", "DiagonalNormal", "Distribution", "Normal"]
