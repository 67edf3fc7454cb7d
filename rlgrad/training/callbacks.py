"""What happens beside training: evaluation, checkpoints, early stops, videos. Callbacks know no algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Callback"]


class Callback:
    """Hooks that `Agent.learn` calls; a callback overrides the ones it needs.

    Several compose: they are called in the order in which they are given.
    """

    def on_start(self, agent: Any) -> None:
        """Called once before the first iteration of a `learn`."""

    def on_iteration(self, agent: Any, metrics: Mapping[str, float]) -> bool | None:
        """Called after every iteration.

        Args:
            agent: the agent, with `num_timesteps` up to date.
            metrics: the iteration's figures, under "group/name".

        Returns:
            True to stop training.
        """
        return None

    def on_end(self, agent: Any) -> None:
        """Called once when `learn` returns, stopped early or not."""
