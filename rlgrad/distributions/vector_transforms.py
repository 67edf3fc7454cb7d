"""Maps to positive numbers, probabilities and matrices, under which parameters can be optimised without bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import sum_rightmost
from rlgrad.distributions.transforms import Shape, Transform
from rlgrad.linalg import cholesky
from rlgrad.nn.functional import logsigmoid, pad

__all__ = [
    "AbsTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]

_matrices = constraints.independent(constraints.real, 2)


class AbsTransform(Transform):
    """`y = |x|`, of which the inverse gives the number that is not negative; it has no log-determinant.

    Example:
        >>> import rlgrad
        >>> AbsTransform()(rlgrad.tensor([-1.0, 2.0]))
        tensor([1., 2.])
    """

    codomain = constraints.positive
    bijective = False

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError("AbsTransform has no log-determinant, as two numbers map to one")


class PowerTransform(Transform):
    """`y = x^exponent` for positive numbers.

    Args:
        exponent: not 0.

    Example:
        >>> import rlgrad
        >>> PowerTransform(2.0)(rlgrad.tensor([1.0, 3.0]))
        tensor([1., 9.])
    """

    domain = codomain = constraints.positive

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return self.exponent.sign() if isinstance(self.exponent, Tensor) else np.sign(self.exponent)

    def forward_shape(self, shape: Shape) -> Shape:
        return np.broadcast_shapes(shape, tuple(getattr(self.exponent, "shape", ())))

    inverse_shape = forward_shape

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def _equals(self, other: Any) -> bool:
        same = self.exponent == other.exponent
        return bool(same.all()) if isinstance(same, Tensor) else same


class SoftmaxTransform(Transform):
    """`y = softmax(x)` over the last axis; not invertible, as shifted vectors map to the same probabilities.

    Example:
        >>> import rlgrad
        >>> SoftmaxTransform()(rlgrad.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = False

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError("SoftmaxTransform has no log-determinant, as many vectors map to one")


class StickBreakingTransform(Transform):
    """Vectors to probabilities of one class more: each number breaks its share off what the ones before it left.

    Zeros give equal probabilities.

    Source: Stan Reference Manual, "Unit simplex".

    Example:
        >>> import rlgrad
        >>> StickBreakingTransform()(rlgrad.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def forward_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)

    def _log_remaining(self, x: Tensor, count: int) -> Tensor:
        """Logarithms of how many classes are left after each."""
        return rlgrad.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        limits = rlgrad.finfo(x.dtype)
        share = (x - self._log_remaining(x, x.shape[-1])).sigmoid().clamp(limits.tiny, 1.0 - limits.eps)
        return pad(share, (0, 1), value=1.0) * pad((1 - share).cumprod(-1), (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=rlgrad.finfo(y.dtype).tiny)
        return head.log() - left.log() + self._log_remaining(y, head.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._log_remaining(x, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal: what is above it is dropped, it is exponentiated.

    Example:
        >>> import rlgrad
        >>> LowerCholeskyTransform()(rlgrad.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain, codomain = _matrices, constraints.lower_cholesky
    bijective = False

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no log-determinant, as many matrices map to one")


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Matrices to positive definite ones, by way of the factor that :class:`LowerCholeskyTransform` gives.

    Example:
        >>> import rlgrad
        >>> PositiveDefiniteTransform()(rlgrad.zeros(1, 1))
        tensor([[1.]])
    """

    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = super()._call(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return super()._inverse(cholesky(y))


class IndependentTransform(Transform):
    """A map whose last axes are taken as part of one value.

    Args:
        base_transform: the map.
        reinterpreted_batch_ndims: how many axes.

    Example:
        >>> import rlgrad
        >>> from rlgrad.distributions import ExpTransform
        >>> x = rlgrad.ones(2, 3)
        >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
        tensor([3., 3.])
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective

    @property
    def domain(self) -> Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def forward_shape(self, shape: Shape) -> Shape:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.base_transform.inverse_shape(shape)

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.invert(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def _equals(self, other: Any) -> bool:
        mine, theirs = self.reinterpreted_batch_ndims, other.reinterpreted_batch_ndims
        return mine == theirs and self.base_transform == other.base_transform
