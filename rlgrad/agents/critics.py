"""Several critics of one policy, and what is done with their opinions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.nn import functional as F

__all__ = ["chosen_values", "least", "make_critics", "squared_error", "values"]


def make_critics(build: Iterable[nn.Module], given: Sequence[nn.Module] | None) -> nn.ModuleList:
    """The critics that a user gave, or else those of `build`."""
    return nn.ModuleList(list(build) if given is None else list(given))


def values(critics: nn.Module, obs: Tensor, actions: Tensor | None = None) -> list[Tensor]:
    """What each critic says.

    Args:
        critics: an `nn.ModuleList`.
        obs: (n, ...) observations.
        actions: (n, action_dim) continuous actions; None for critics that value every discrete one.

    Returns:
        For each critic (n,) values of `actions`, or (n, choices).
    """
    if actions is None:
        return [critic(obs) for critic in critics.children()]
    both = rlgrad.cat([obs.reshape(len(obs), -1), actions], 1)
    return [critic(both).squeeze(1) for critic in critics.children()]


def chosen_values(critics: nn.Module, obs: Tensor, actions: Tensor) -> list[Tensor]:
    """(n,) values of `actions` according to each critic, choices (n,) or continuous (n, action_dim)."""
    if actions.ndim == 2:
        return values(critics, obs, actions)
    index = actions.unsqueeze(1)
    return [value.gather(1, index).squeeze(1) for value in values(critics, obs)]


def least(opinions: Sequence[Tensor]) -> Tensor:
    """The smallest of several values, element by element, which counters overestimation.

    Source: Fujimoto, van Hoof and Meger, Addressing Function Approximation Error in Actor-Critic Methods (2018),
    section 4.2.
    """
    return reduce(rlgrad.minimum, opinions)


def squared_error(opinions: Sequence[Tensor], target: Tensor) -> Tensor:
    """Mean squared error of (n,) values from `target: (n,)`, summed over the critics."""
    errors = [F.mse_loss(value, target) for value in opinions]
    return sum(errors[1:], errors[0])
