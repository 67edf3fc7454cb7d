"""Returns and lengths of the episodes that an agent plays while it learns."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

__all__ = ["EpisodeTracker"]


class EpisodeTracker:
    """Raw returns and lengths of running episodes, and of the newest finished ones.

    Args:
        num_envs: copies of the environment that are stepped together.
        window: how many finished episodes the means are taken over.

    Attributes:
        returns: (num_envs,) rewards of the running episodes so far, never normalised.
        lengths: (num_envs,) steps of the running episodes so far.
        finished: number of episodes finished since the agent's creation.
    """

    def __init__(self, num_envs: int, window: int = 100) -> None:
        self.returns = np.zeros(num_envs)
        self.lengths = np.zeros(num_envs, dtype=np.int64)
        self.finished = 0
        self._recent: deque[tuple[float, int]] = deque(maxlen=window)

    def update(self, rewards: np.ndarray, ended: np.ndarray) -> None:
        """Takes in one step of every copy.

        Args:
            rewards: (num_envs,).
            ended: indices of the copies whose episode this step ended.
        """
        self.returns += rewards
        self.lengths += 1
        for copy in ended:
            self._recent.append((float(self.returns[copy]), int(self.lengths[copy])))
            self.returns[copy] = 0.0
            self.lengths[copy] = 0
        self.finished += len(ended)

    def restart(self) -> None:
        """Forgets the running episodes: every copy begins a new one."""
        self.returns[:] = 0.0
        self.lengths[:] = 0

    def metrics(self) -> dict[str, float]:
        """Mean return and length of the newest finished episodes; empty before the first one ends."""
        if not self._recent:
            return {}
        returns, lengths = zip(*self._recent, strict=True)
        return {"rollout/return": float(np.mean(returns)), "rollout/length": float(np.mean(lengths))}

    def state_dict(self) -> dict[str, Any]:
        """Everything that `load_state_dict` needs, as arrays and numbers."""
        recent = np.array(self._recent, dtype=np.float64).reshape(-1, 2)
        return {
            "returns": self.returns.copy(),
            "lengths": self.lengths.copy(),
            "finished": self.finished,
            "recent": recent,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self.returns[:] = state["returns"]
        self.lengths[:] = state["lengths"]
        self.finished = int(state["finished"])
        self._recent.clear()
        self._recent.extend((float(value), int(length)) for value, length in state["recent"])
