"""Whole episodes of a vector environment, recorded step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from rlgrad.agents.returns import reward_to_go
from rlgrad.agents.runner import refuse_non_finite, stack

__all__ = ["Episodes", "play_episodes"]


@dataclass
class Episodes:
    """What `play_episodes` recorded, one row per step of the vector environment.

    Attributes:
        obs: (steps, num_envs, ...) encoded observations.
        actions: (steps, num_envs) indices or (steps, num_envs, action_dim) numbers, as the policy drew them.
        rewards: (steps, num_envs).
        terminated: (steps, num_envs) bool.
        truncated: (steps, num_envs) bool.
        kept: (steps, num_envs) bool, False where a copy only waited for others to finish.
        cut_at: (cut, 2) integers, step and copy of every truncation that is no termination.
        cut_obs: (cut, ...) encoded last observations of these episodes.
    """

    obs: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    kept: np.ndarray
    cut_at: np.ndarray
    cut_obs: np.ndarray

    def sums(self) -> np.ndarray:
        """(episodes,) undiscounted return of every episode."""
        return self._totals(self.rewards)

    def lengths(self) -> np.ndarray:
        """(episodes,) steps of every episode, in the order of `sums`."""
        return self._totals(np.ones_like(self.rewards))

    def _totals(self, values: np.ndarray) -> np.ndarray:
        # With a discount of 1 and nothing beyond a time limit, the first reward-to-go is the whole sum.
        totals = reward_to_go(values, self.terminated, self.truncated, np.zeros_like(values), 1.0)
        first = np.ones(values.shape, dtype=bool)
        first[1:] = (self.terminated | self.truncated)[:-1]
        return totals[first & self.kept]


def play_episodes(
    envs: VectorEnv[Any, Any, Any],
    act: Callable[[np.ndarray], np.ndarray],
    encode: Callable[[np.ndarray], np.ndarray],
    to_env: Callable[[np.ndarray], np.ndarray],
    min_steps: int,
    seed: int,
    first_step: int = 0,
    name: str = "the environment",
) -> Episodes:
    """Plays whole episodes from fresh resets until `min_steps` steps are recorded.

    An episode that starts before `min_steps` is reached is recorded to its end. That is decided before its
    first step, so long and short episodes are equally likely to be in.

    Args:
        envs: vector environment in SAME_STEP autoreset mode, as `rlgrad.envs.make` builds it.
        act: encoded observations (num_envs, ...) to actions.
        encode: observations to arrays (n, ...).
        to_env: actions to a batch of elements of the action space.
        min_steps: steps to record at least; every copy plays at least one episode.
        seed: start of the environments' random streams.
        first_step: environment steps of the run so far, for messages.
        name: the environment's name, for messages.

    Raises:
        NonFiniteError: a reward or observation is NaN or infinite; says which, at which step and in which
            copy.
    """
    obs, _ = envs.reset(seed=seed)
    active = np.ones(envs.num_envs, dtype=bool)
    rows: list[tuple[np.ndarray, ...]] = []
    cut_at: list[tuple[int, int]] = []
    cut_obs: list[Any] = []
    recorded = 0
    while active.any():
        encoded = encode(obs)
        actions = act(encoded)
        obs, rewards, terminated, truncated, infos = envs.step(to_env(actions))
        rows.append((encoded, actions, rewards, terminated, truncated, active.copy()))
        recorded += int(active.sum())
        for copy in np.flatnonzero(truncated & ~terminated & active):
            cut_at.append((len(rows) - 1, int(copy)))
            cut_obs.append(infos["final_obs"][copy])
        if recorded >= min_steps:
            active &= ~(terminated | truncated)
    observed, actions, rewards, terminated, truncated, kept = (np.stack(column) for column in zip(*rows, strict=True))
    refuse_non_finite(observed, rewards, kept, first_step, name)
    last = encode(stack(envs.single_observation_space, cut_obs)) if cut_obs else observed[0, :0]
    cuts = np.array(cut_at, dtype=np.int64).reshape(-1, 2)
    return Episodes(observed, actions, rewards, terminated, truncated, kept, cuts, last)
