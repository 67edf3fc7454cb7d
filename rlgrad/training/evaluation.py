"""Mean return of a policy over whole episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

__all__ = ["Evaluation", "evaluate_policy"]


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of evaluation episodes.

    Attributes:
        returns: (episodes,) sum of rewards of each episode.
        lengths: (episodes,) steps of each episode.
    """

    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the return over episodes."""
        return float(self.returns.std())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return; infinite for a single episode."""
        number = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(number)) if number > 1 else float("inf")

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f} over {len(self.returns)} episodes"


def evaluate_policy(
    act: Callable[[Any, np.ndarray, dict[str, Any]], np.ndarray],
    envs: VectorEnv[Any, Any, Any],
    episodes: int,
    seed: int,
) -> Evaluation:
    """Plays whole episodes and reports their returns.

    Each environment plays a number of episodes fixed beforehand. Taking the first episodes to finish instead
    would favour short ones.

    Args:
        act: maps observations (num_envs, ...), a mask of the copies that begin an episode (num_envs,) and the
            environment's infos to actions (num_envs, ...).
        envs: vector environment in SAME_STEP autoreset mode, as `rlgrad.envs.make` builds it.
        episodes: number of episodes, at least 1.
        seed: start of the environments' random streams.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}.")
    number = envs.num_envs
    remaining = np.full(number, episodes // number)
    remaining[: episodes % number] += 1
    running_return = np.zeros(number)
    running_length = np.zeros(number, dtype=np.int64)
    returns: list[float] = []
    lengths: list[int] = []
    obs, infos = envs.reset(seed=seed)
    done = np.ones(number, dtype=bool)
    while remaining.any():
        obs, rewards, terminated, truncated, infos = envs.step(act(obs, done, infos))
        running_return += rewards
        running_length += 1
        done = terminated | truncated
        if done.any():
            for index in np.flatnonzero(done & (remaining > 0)):
                returns.append(float(running_return[index]))
                lengths.append(int(running_length[index]))
                remaining[index] -= 1
            running_return[done] = 0.0
            running_length[done] = 0
    return Evaluation(np.array(returns), np.array(lengths))
