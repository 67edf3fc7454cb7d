"""What the settings of every agent hold, and the checks that they share."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlgrad.backend.errors import nearest

__all__ = ["AgentConfig", "make_config", "require"]


@dataclass
class AgentConfig:
    """Settings that every agent has; an algorithm's own class adds to them.

    Args:
        num_envs: copies of the environment that are stepped together.
        gamma: discount per environment step.
        solved_return: stop once the mean return is reliably above this; None for the environment's own reward
            threshold, infinity for never.
        solved_episodes: deterministic episodes that must confirm it, 2 or more.
        max_grad_norm: a gradient is shortened to this norm where it is longer; None for never.
    """

    num_envs: int = 8
    gamma: float = 0.99
    solved_return: float | None = math.inf
    solved_episodes: int = 100
    max_grad_norm: float | None = None

    def __post_init__(self) -> None:
        require(self, ["max_grad_norm"], ["gamma"], at_least={"num_envs": 1, "solved_episodes": 2})


def require(
    settings: Any,
    positive: Sequence[str] = (),
    fractions: Sequence[str] = (),
    at_least: Mapping[str, float] | None = None,
) -> None:
    """Checks that settings lie in their ranges; a setting that is None is not checked.

    Args:
        settings: the settings dataclass.
        positive: names of settings that are above 0.
        fractions: names of settings that lie between 0 and 1.
        at_least: name to the smallest value allowed.

    Raises:
        ValueError: names the setting, its range and what it is.
    """
    values = vars(settings)
    for name in positive:
        if values[name] is not None and not values[name] > 0:
            raise ValueError(f"{name} must be positive, got {values[name]}.")
    for name in fractions:
        if values[name] is not None and not 0.0 <= values[name] <= 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {values[name]}.")
    for name, minimum in (at_least or {}).items():
        if values[name] is not None and not values[name] >= minimum:
            raise ValueError(f"{name} must be at least {minimum}, got {values[name]}.")


def make_config(config_class: type[Any], settings: dict[str, Any]) -> Any:
    """Builds a settings dataclass and names the nearest field where a name is wrong."""
    fields = typing.get_type_hints(config_class)
    for name in settings:
        if name not in fields:
            raise ValueError(f"{config_class.__name__} has no setting {name!r}.{nearest(name, fields)}")
    return config_class(**settings)
