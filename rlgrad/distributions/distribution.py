"""What every distribution offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

import rlgrad
from rlgrad import Tensor

__all__ = ["Distribution"]


class Distribution(ABC):
    """A batch of independent distributions of one family.

    Attributes:
        batch_shape: shape of the batch of distributions; `log_prob` and `entropy` have it.
        event_shape: shape of one outcome.
    """

    def __init__(self, batch_shape: Sequence[int], event_shape: Sequence[int] = ()) -> None:
        self.batch_shape = tuple(batch_shape)
        self.event_shape = tuple(event_shape)

    @abstractmethod
    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the probability (or density) of `value: (*batch_shape, *event_shape)`."""

    @abstractmethod
    def entropy(self) -> Tensor:
        """Entropy in nats, of shape `batch_shape`."""

    @abstractmethod
    def sample(self, sample_shape: Sequence[int] = (), generator: np.random.Generator | None = None) -> Tensor:
        """Draws outcomes without recording, of shape `(*sample_shape, *batch_shape, *event_shape)`.

        Args:
            sample_shape: how many outcomes to draw for each distribution of the batch.
            generator: a NumPy generator that owns the draw; without one, rlgrad's default generator is used.
        """

    @property
    @abstractmethod
    def mode(self) -> Tensor:
        """The most probable outcome, of shape `(*batch_shape, *event_shape)`."""

    def _shape(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)


def standard_normal(like: Tensor, shape: tuple[int, ...], generator: np.random.Generator | None) -> Tensor:
    """Standard normal draws in the dtype and on the device of `like`."""
    if generator is None:
        return rlgrad.randn(shape, dtype=like.dtype, device=like.device)
    return rlgrad.from_numpy(np.asarray(generator.standard_normal(shape))).to(like.device, like.dtype)


def standard_gumbel(like: Tensor, shape: tuple[int, ...], generator: np.random.Generator | None) -> Tensor:
    """Standard Gumbel draws in the dtype and on the device of `like`."""
    if generator is None:
        uniform = rlgrad.rand(shape, dtype=like.dtype, device=like.device)
        # The smallest positive float stands for a uniform draw of exactly 0, whose logarithm is infinite.
        return -(-uniform.clamp(min=float(np.finfo(np.float32).tiny)).log()).log()
    return rlgrad.from_numpy(np.asarray(generator.gumbel(size=shape))).to(like.device, like.dtype)
