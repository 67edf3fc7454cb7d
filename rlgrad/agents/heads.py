"""From a network's outputs to actions: one head for each kind of action space.

A head draws actions from raw arrays, without recording, and gives log-probabilities and entropies of tensors, with it.
"""

from __future__ import annotations

import functools
import math
import operator
from abc import abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.objectives import categorical_log_prob
from rlgrad.distributions.kernels import categorical_entropy, normal_log_prob
from rlgrad.nn import functional as F

__all__ = ["BernoulliHead", "CategoricalHead", "GaussianHead", "Head", "make_head"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_FORBIDDEN = -1e9
"""Logit of an action that a mask excludes: its probability is exactly 0 in float32, and 0 times it is 0."""


class Head(nn.Module):
    """What turns outputs (n, width) into a distribution over actions.

    Attributes:
        width: numbers that the network puts out for one observation.
    """

    width: int

    @abstractmethod
    def draw(self, output: np.ndarray, generator: np.random.Generator | None, mask: np.ndarray | None) -> np.ndarray:
        """Actions for `output: (n, width)`, drawn by `generator`, or the likeliest without one.

        Args:
            output: (n, width).
            generator: owns the draw.
            mask: (n, width) bool, which choices are allowed; None for all.
        """

    @abstractmethod
    def log_prob(self, output: Tensor, actions: Tensor, mask: np.ndarray | None = None) -> Tensor:
        """(n,) log-probabilities (or densities) of `actions`."""

    @abstractmethod
    def entropy(self, output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        """(n,) entropies in nats."""

    @abstractmethod
    def kl_from(self, old: tuple[Tensor, ...], output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        """(n,) Kullback-Leibler divergences KL(old || new), where `old` is what `parameters_of` gave."""

    def parameters_of(self, output: Tensor) -> tuple[Tensor, ...]:
        """The distribution's parameters without their history."""
        return (output.detach(),)

    def _no_mask(self, mask: np.ndarray | None) -> None:
        if mask is not None:
            raise ValueError("Action masks are for Discrete and MultiDiscrete actions.")


class CategoricalHead(Head):
    """One choice, or several independent ones: the outputs are the logits of each, side by side.

    Args:
        choices: number of outcomes of each choice.
        single: actions are (n,) instead of (n, len(choices)); for one choice only.
    """

    def __init__(self, choices: list[int], single: bool = False) -> None:
        super().__init__()
        self.width = sum(choices)
        self.single = single
        self.parts = list(pairwise(np.cumsum([0, *choices]).tolist()))

    def draw(self, output: np.ndarray, generator: np.random.Generator | None, mask: np.ndarray | None) -> np.ndarray:
        if mask is not None:
            output = np.where(mask, output, np.float32(_FORBIDDEN))
        # Gumbel-max: adding Gumbel noise to logits and taking the largest draws from their softmax.
        noisy = output if generator is None else output + generator.gumbel(size=output.shape)
        if self.single:
            return noisy.argmax(-1)
        return np.stack([noisy[:, first:last].argmax(-1) for first, last in self.parts], axis=-1)

    def log_prob(self, output: Tensor, actions: Tensor, mask: np.ndarray | None = None) -> Tensor:
        if self.single:
            return categorical_log_prob(self._logits(output, mask)[0], actions)
        parts = enumerate(self._logits(output, mask))
        return _total([categorical_log_prob(logits, actions[:, index]) for index, logits in parts])

    def entropy(self, output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        return _total([categorical_entropy(logits.log_softmax(-1)) for logits in self._logits(output, mask)])

    def kl_from(self, old: tuple[Tensor, ...], output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        before = [logits.log_softmax(-1) for logits in self._logits(old[0], mask)]
        after = [logits.log_softmax(-1) for logits in self._logits(output, mask)]
        return _total([(b.exp() * (b - a)).sum(-1) for b, a in zip(before, after, strict=True)])

    def _logits(self, output: Tensor, mask: np.ndarray | None) -> list[Tensor]:
        """The unnormalised logits of each choice."""
        if mask is not None:
            allowed = rlgrad.from_numpy(np.ascontiguousarray(mask, dtype=bool)).to(output.device)
            output = output.masked_fill(~allowed, _FORBIDDEN)
        if len(self.parts) == 1:
            return [output]
        return [output[:, first:last] for first, last in self.parts]


class BernoulliHead(Head):
    """Independent yes-or-no actions (n, width): the outputs are the logits of yes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def draw(self, output: np.ndarray, generator: np.random.Generator | None, mask: np.ndarray | None) -> np.ndarray:
        self._no_mask(mask)
        threshold = 0.0 if generator is None else generator.logistic(size=output.shape)
        return (output > threshold).astype(np.int64)

    def log_prob(self, output: Tensor, actions: Tensor, mask: np.ndarray | None = None) -> Tensor:
        self._no_mask(mask)
        return (actions.to(output.dtype) * output - F.softplus(output)).sum(-1)

    def entropy(self, output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        return (F.softplus(output) - output * output.sigmoid()).sum(-1)

    def kl_from(self, old: tuple[Tensor, ...], output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        before = old[0]
        return (before.sigmoid() * (before - output) - F.softplus(before) + F.softplus(output)).sum(-1)


class GaussianHead(Head):
    """Independent normal components (n, width): the outputs are the means.

    The logarithmic standard deviation is a parameter of its own that does not depend on the observation.

    Args:
        width: number of components.
        log_std: its initial value, in units in which the action bounds are -1 and 1.
    """

    def __init__(self, width: int, log_std: float = 0.0) -> None:
        super().__init__()
        self.width = width
        self.log_std = nn.Parameter(rlgrad.full((width,), float(log_std)))

    def draw(self, output: np.ndarray, generator: np.random.Generator | None, mask: np.ndarray | None) -> np.ndarray:
        self._no_mask(mask)
        if generator is None:
            return output
        noise = generator.standard_normal(output.shape, dtype=np.float32)
        return output + np.exp(self.log_std.detach().cpu().numpy()) * noise

    def log_prob(self, output: Tensor, actions: Tensor, mask: np.ndarray | None = None) -> Tensor:
        self._no_mask(mask)
        return normal_log_prob(actions, output, self.log_std.exp(), dims=1)

    def entropy(self, output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        return (self.log_std.sum() + self.width * (0.5 + _HALF_LOG_TWO_PI)).expand(output.shape[0])

    def kl_from(self, old: tuple[Tensor, ...], output: Tensor, mask: np.ndarray | None = None) -> Tensor:
        mean, log_std = old
        variance, new_variance = (2.0 * log_std).exp(), (2.0 * self.log_std).exp()
        difference = mean - output
        return (self.log_std - log_std + (variance + difference * difference) / (2.0 * new_variance) - 0.5).sum(-1)

    def parameters_of(self, output: Tensor) -> tuple[Tensor, ...]:
        # A copy, because the optimizer changes the parameter in place.
        return output.detach(), self.log_std.detach().clone()


def _total(parts: list[Tensor]) -> Tensor:
    return functools.reduce(operator.add, parts)


def make_head(space: spaces.Space[Any], log_std: float = 0.0) -> Head:
    """The head for an action space.

    Raises:
        TypeError: there is none for this kind of space.
    """
    if isinstance(space, spaces.Discrete):
        return CategoricalHead([int(space.n)], single=True)
    if isinstance(space, spaces.MultiDiscrete):
        return CategoricalHead([int(n) for n in space.nvec.ravel()])
    if isinstance(space, spaces.MultiBinary):
        return BernoulliHead(int(np.prod(space.shape)))
    if isinstance(space, spaces.Box):
        return GaussianHead(int(np.prod(space.shape)), log_std)
    raise TypeError(
        f"There is no policy for action space {space}: expected Discrete, MultiDiscrete, MultiBinary or Box."
    )
