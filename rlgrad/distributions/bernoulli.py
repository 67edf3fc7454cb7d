"""The Bernoulli distribution, and what distributions of counts share with it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.distributions import constraints
from rlgrad.distributions.distribution import Distribution, RandomSource, broadcast, draw, enumerated
from rlgrad.nn.functional import logsigmoid

__all__ = ["Bernoulli", "BinaryDistribution"]


class BinaryDistribution(Distribution):
    """What distributions share that count yes and no: a probability or its log-odds, the other computed when asked for.

    Args:
        probs: probability of yes, in [0, 1].
        logits: its log-odds; exactly one of the two is given.
        more: further parameters, which broadcast against it and become attributes.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _batched = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
        **more: Tensor | float,
    ) -> None:
        if (probs is None) == (logits is None):
            given = "neither" if probs is None else "both"
            raise ValueError(f"{type(self).__name__} takes exactly one of probs and logits, got {given}.")
        own: dict[str, Any] = {"logits": logits} if probs is None else {"probs": probs}
        tensors, shape = broadcast(**own, **more)
        self.__dict__.update(zip((*own, *more), tensors, strict=True))
        super().__init__(shape, (), validate_args)

    @cached_property
    def logits(self) -> Tensor:
        """Log-odds of yes."""
        epsilon = float(np.finfo(self.probs._array.dtype).eps)
        clamped = self.probs.clamp(epsilon, 1.0 - epsilon)
        return clamped.log() - (-clamped).log1p()

    @cached_property
    def probs(self) -> Tensor:
        """Probability of yes."""
        return self.logits.sigmoid()

    def _binary_entropy(self) -> Tensor:
        return -(self.probs * self.logits + logsigmoid(-self.logits))


class Bernoulli(BinaryDistribution):
    """Outcomes 1 with probability `probs` and 0 otherwise, one per element.

    For MultiBinary actions, use `Independent(Bernoulli(logits=...), 1)`.

    Args:
        probs: probability of 1, in [0, 1].
        logits: its log-odds; exactly one of the two is given.

    Example:
        >>> import rlgrad
        >>> Bernoulli(probs=rlgrad.tensor([0.25, 0.5])).variance
        tensor([0.1875, 0.2500])
    """

    support: Any = constraints.boolean

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return rlgrad.where(self.probs == 0.5, float("nan"), mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value * self.logits + logsigmoid(-self.logits)

    def entropy(self) -> Tensor:
        return self._binary_entropy()

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        probs = self.probs.detach()
        uniform = draw(probs, self._shape(sample_shape), generator, lambda g, s, kind: g.random(s, kind))
        return wrap((uniform < probs._array).astype(probs._array.dtype))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        outcomes = rlgrad.arange(2, dtype=self.probs.dtype, device=self.probs.device)
        return enumerated(outcomes, self.batch_shape, expand)
