"""Invertible maps with log-determinants, for `TransformedDistribution`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import sum_rightmost
from rlgrad.distributions.kernels import log_tanh_slope
from rlgrad.nn.functional import softplus

__all__ = [
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


Shape = tuple[int, ...]


class Transform(ABC):
    """An invertible map `y = f(x)`.

    Args:
        cache_size: 1 to keep the latest pair `(x, y)`, so that the inverse of a value that was just computed is exact;
            0 to keep none.

    Attributes:
        domain, codomain: where `x` and `y` live; their `event_dim` says how many axes make up one value.
        sign: 1 where the map rises, -1 where it falls.
    """

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective = True
    sign: Any = 1

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}.")
        self._cache_size = cache_size
        self._latest: tuple[Tensor, Tensor] | None = None

    @abstractmethod
    def _call(self, x: Tensor) -> Tensor:
        """`f(x)`."""

    @abstractmethod
    def _inverse(self, y: Tensor) -> Tensor:
        """The `x` with `f(x) = y`."""

    @abstractmethod
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """`log |det df/dx|` at `x` with `y = f(x)`, over all axes but those of one value."""

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and self._latest is not None and self._latest[0] is x:
            return self._latest[1]
        y = self._call(x)
        if self._cache_size:
            self._latest = (x, y)
        return y

    def invert(self, y: Tensor) -> Tensor:
        """The `x` with `f(x) = y`."""
        if self._cache_size and self._latest is not None and self._latest[1] is y:
            return self._latest[0]
        x = self._inverse(y)
        if self._cache_size:
            self._latest = (x, y)
        return x

    @property
    def inv(self) -> Transform:
        """The inverse map."""
        return _Inverse(self)

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape of `f(x)` for an `x` of this shape."""
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape of `x` for an `f(x)` of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._equals(other))

    def _equals(self, other: Any) -> bool:
        return True

    __hash__ = object.__hash__


class _Inverse(Transform):
    def __init__(self, forward: Transform) -> None:
        super().__init__()
        self._forward = forward

    @property
    def domain(self) -> Constraint:
        return self._forward.codomain

    @property
    def codomain(self) -> Constraint:
        return self._forward.domain

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def _call(self, x: Tensor) -> Tensor:
        return self._forward.invert(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def forward_shape(self, shape: Shape) -> Shape:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self._forward.forward_shape(shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"{self._forward!r}.inv"

    def _equals(self, other: Any) -> bool:
        return self._forward == other._forward


class ExpTransform(Transform):
    """`y = exp(x)`."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(Transform):
    """`y = 1 / (1 + exp(-x))`, kept inside the open unit interval."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        limits = rlgrad.finfo(x.dtype)
        return x.sigmoid().clamp(limits.tiny, 1.0 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = rlgrad.finfo(y.dtype)
        inside = y.clamp(limits.tiny, 1.0 - limits.eps)
        return inside.log() - (-inside).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """`y = log(1 + exp(x))`."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Transform):
    """`y = tanh(x)`, with a log-derivative that does not cancel in the tails.

    The log-derivative `log(1 - tanh(x)^2)` is computed as `2 (log 2 - x - softplus(-2 x))`.
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log_tanh_slope(x)


class AffineTransform(Transform):
    """`y = loc + scale * x`.

    Args:
        loc: shift.
        scale: factor, not 0.
        event_dim: how many axes make up one value.
    """

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def forward_shape(self, shape: Shape) -> Shape:
        return np.broadcast_shapes(shape, *[tuple(b.shape) for b in (self.loc, self.scale) if isinstance(b, Tensor)])

    inverse_shape = forward_shape

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            slope = self.scale.abs().log().expand(*x.shape)
        else:
            slope = rlgrad.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(slope, self.event_dim)

    def _equals(self, other: Any) -> bool:
        return all(
            bool((mine == theirs).all()) if isinstance(mine == theirs, Tensor) else mine == theirs
            for mine, theirs in ((self.loc, other.loc), (self.scale, other.scale))
        )


class ComposeTransform(Transform):
    """Several maps one after another, the first given applied first.

    Args:
        parts: the maps; none make the identity.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)

    @property
    def domain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        dims = self._event_dim(reversed([(part.codomain, part.domain) for part in self.parts]))
        return constraints.independent(self.parts[0].domain, dims - self.parts[0].domain.event_dim)

    @property
    def codomain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        dims = self._event_dim((part.domain, part.codomain) for part in self.parts)
        return constraints.independent(self.parts[-1].codomain, dims - self.parts[-1].codomain.event_dim)

    def _event_dim(self, steps: Any) -> int:
        """Axes of one value after going through the maps, each given by where it starts and where it ends."""
        dims = 0
        for start, end in steps:
            dims = max(dims, start.event_dim) + end.event_dim - start.event_dim
        return dims

    @property
    def sign(self) -> Any:
        return math.prod([part.sign for part in self.parts])

    def forward_shape(self, shape: Shape) -> Shape:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.invert(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return rlgrad.zeros_like(x)
        total: Any = 0.0
        dims = self.domain.event_dim
        for part in self.parts:
            after = part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, after), dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"

    def _equals(self, other: Any) -> bool:
        return self.parts == other.parts


_LATER = (
    "AbsTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
)
identity_transform = ComposeTransform([])


def __getattr__(name: str) -> Any:
    """What few programs use is imported when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'rlgrad.distributions.transforms' has no attribute {name!r}")
    from rlgrad.distributions import vector_transforms

    return getattr(vector_transforms, name)
