"""Normal distributions: element by element, and over vectors with independent components."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions.distribution import Distribution, standard_normal

__all__ = ["DiagonalNormal", "Normal"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Normal(Distribution):
    """Normal distributions, one per element of `loc` and `scale`.

    Args:
        loc: mean.
        scale: standard deviation, positive; broadcast against `loc`.

    Example:
        >>> import rlgrad
        >>> Normal(rlgrad.zeros(2), rlgrad.ones(2)).log_prob(rlgrad.zeros(2))
        tensor([-0.9189, -0.9189])
    """

    def __init__(self, loc: Tensor | float, scale: Tensor | float) -> None:
        first = loc if isinstance(loc, Tensor) else rlgrad.as_tensor(float(loc))
        second = scale if isinstance(scale, Tensor) else rlgrad.as_tensor(float(scale))
        try:
            shape = np.broadcast_shapes(tuple(first.shape), tuple(second.shape))
        except ValueError:
            raise ValueError(
                f"loc of shape {tuple(first.shape)} and scale of shape {tuple(second.shape)} do not broadcast."
            ) from None
        self.loc = first if tuple(first.shape) == shape else first.expand(*shape)
        self.scale = second if tuple(second.shape) == shape else second.expand(*shape)
        super().__init__(shape)

    @property
    def mean(self) -> Tensor:
        """The mean, `loc`."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, `scale`."""
        return self.scale

    @property
    def mode(self) -> Tensor:
        return self.loc

    def log_prob(self, value: Tensor) -> Tensor:
        standardised = (value - self.loc) / self.scale
        return -0.5 * (standardised * standardised) - self.scale.log() - _HALF_LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + _HALF_LOG_TWO_PI)

    def rsample(self, sample_shape: Sequence[int] = (), generator: np.random.Generator | None = None) -> Tensor:
        """Draws by the reparameterisation `loc + scale * noise`, so that gradients reach both parameters."""
        return self.loc + self.scale * standard_normal(self.loc, self._shape(sample_shape), generator)

    def sample(self, sample_shape: Sequence[int] = (), generator: np.random.Generator | None = None) -> Tensor:
        with rlgrad.no_grad():
            return self.rsample(sample_shape, generator)


class DiagonalNormal(Normal):
    """Normal distributions over vectors whose components are independent.

    The last axis is the event: `log_prob` and `entropy` sum over it (`Independent(Normal(loc, scale), 1)` in
    PyTorch).

    Args:
        loc: (*batch_shape, dim) mean.
        scale: (dim,) or (*batch_shape, dim) standard deviation.
    """

    def __init__(self, loc: Tensor, scale: Tensor) -> None:
        super().__init__(loc, scale)
        if not self.batch_shape:
            raise ValueError("DiagonalNormal needs a last axis over the components, got tensors without axes.")
        self.batch_shape, self.event_shape = self.batch_shape[:-1], self.batch_shape[-1:]

    def log_prob(self, value: Tensor) -> Tensor:
        return super().log_prob(value).sum(-1)

    def entropy(self) -> Tensor:
        return super().entropy().sum(-1)
