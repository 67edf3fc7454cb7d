"""The multivariate normal distribution with a full covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, standard_normal
from rlgrad.linalg import cholesky, inv, solve_triangular

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """Normal distributions over vectors of length d.

    Args:
        loc: (*batch_shape, d) mean.
        covariance_matrix: (*batch_shape, d, d), symmetric and positive definite.
        precision_matrix: its inverse.
        scale_tril: its lower triangular Cholesky factor, with a positive diagonal; the cheapest of the three, of which
            exactly one is given.

    Example:
        >>> import rlgrad
        >>> MultivariateNormal(rlgrad.zeros(2), covariance_matrix=rlgrad.eye(2)).log_prob(rlgrad.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal takes exactly one of covariance_matrix, precision_matrix and scale_tril, got "
                f"{' and '.join(name for name, _ in given) or 'none'}."
            )
        if loc.ndim < 1:
            raise ValueError(
                "MultivariateNormal needs a loc with a last axis over the components, got one without axes."
            )
        ((name, matrix),) = given
        size = int(loc.shape[-1])
        if tuple(matrix.shape[-2:]) != (size, size):
            raise ValueError(
                f"{name} must have shape (*batch_shape, {size}, {size}) for a loc of shape {tuple(loc.shape)}, got "
                f"{tuple(matrix.shape)}."
            )
        batch = np.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self.loc = loc.expand(*batch, size)
        self.__dict__[name] = matrix.expand(*batch, size, size)
        super().__init__(batch, (size,), validate_args)
        # One factor serves the whole batch where the matrix was given without one.
        if name == "scale_tril":
            self._factor = matrix
        elif name == "covariance_matrix":
            self._factor = cholesky(matrix)
        else:
            self._factor = _factor_of_inverse(matrix)

    def expand(self, batch_shape: Sequence[int]) -> Any:
        new = super().expand(batch_shape)
        if self._factor.ndim > 2:
            new._factor = self._factor.expand(*batch_shape, *self._factor.shape[-2:])
        return new

    @cached_property
    def scale_tril(self) -> Tensor:
        """(*batch_shape, d, d) lower Cholesky factor of the covariance."""
        return self._whole(self._factor)

    @cached_property
    def covariance_matrix(self) -> Tensor:
        """(*batch_shape, d, d)."""
        return self._whole(self._factor @ self._factor.mT)

    @cached_property
    def precision_matrix(self) -> Tensor:
        """(*batch_shape, d, d) inverse of the covariance."""
        inverse = inv(self._factor)
        return self._whole(inverse.mT @ inverse)

    def _whole(self, matrix: Tensor) -> Tensor:
        return matrix.expand(*self.batch_shape, *matrix.shape[-2:])

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = (self._factor * self._factor).sum(-1)
        return variance.expand(*self.batch_shape, *self.event_shape)

    def _half_log_det(self) -> Tensor:
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        squared = squared_mahalanobis(self._factor, value - self.loc)
        constant = self.event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + squared) - self._half_log_det()

    def entropy(self) -> Tensor:
        entropy = self._half_log_det() + 0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi))
        return entropy.expand(*self.batch_shape)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws `loc + scale_tril @ noise`."""
        noise = standard_normal(self.loc, self._shape(sample_shape), generator)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)


def squared_mahalanobis(factor: Tensor, difference: Tensor) -> Tensor:
    """`|L^-1 d|^2` for lower triangular `factor: (*batch, d, d)` and `difference: (*more, *batch, d)`."""
    if factor.ndim == 2:
        flat = difference.reshape(-1, difference.shape[-1])
        solved = solve_triangular(factor, flat.mT, upper=False)
        return (solved * solved).sum(0).reshape(difference.shape[:-1])
    solved = solve_triangular(factor, difference.unsqueeze(-1), upper=False).squeeze(-1)
    return (solved * solved).sum(-1)


def _factor_of_inverse(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of a precision matrix's inverse, without forming that inverse."""
    flipped = cholesky(precision.flip((-2, -1)))
    upper = flipped.flip((-2, -1)).mT
    identity = rlgrad.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(upper, identity.expand(*precision.shape), upper=False)
