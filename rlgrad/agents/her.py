"""Hindsight experience replay: what was reached serves as the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from rlgrad.agents.buffers import ReplayBuffer, Transitions
from rlgrad.agents.spaces import ObservationCodec

__all__ = ["Goals", "HindsightReplay"]

_KEYS = ("achieved_goal", "desired_goal")


@dataclass
class Goals:
    """Where an encoded observation holds goals, and what reaching them pays.

    Attributes:
        achieved, desired: columns of what was reached and of what was to be reached.
        shape, dtype: of one goal as the environment knows it.
        reward: the environment's `compute_reward(achieved, desired, info)`, over batches (n, *shape).
        terminated: its `compute_terminated`, or None where reaching a goal ends nothing.
    """

    achieved: slice
    desired: slice
    shape: tuple[int, ...]
    dtype: Any
    reward: Callable[[np.ndarray, np.ndarray, dict[str, Any]], Any]
    terminated: Callable[[np.ndarray, np.ndarray, dict[str, Any]], Any] | None = None

    @classmethod
    def of(cls, envs: Any, observations: ObservationCodec) -> Goals:
        """The goals of a vector environment.

        Args:
            envs: the vector environment.
            observations: its codec, which knows where goals lie.

        Raises:
            TypeError: observations are no Dict with the two entries, or goals are no arrays.
            ValueError: the environment does not compute rewards.
        """
        space = envs.single_observation_space
        if not isinstance(space, spaces.Dict) or not all(key in space.spaces for key in _KEYS):
            raise TypeError(f"Hindsight needs a Dict observation with {' and '.join(_KEYS)}, got {space}.")
        goal = space["desired_goal"]
        if not isinstance(goal, (spaces.Box, spaces.MultiBinary)) or goal.shape != space["achieved_goal"].shape:
            raise TypeError(f"Hindsight needs goals that are arrays of one shape, got {space}.")
        columns = {name: place for name, place, _ in observations.parts}
        env = (envs.envs[0] if hasattr(envs, "envs") else envs).unwrapped
        if not hasattr(env, "compute_reward"):
            raise ValueError(
                f"Hindsight asks the environment what a goal would have paid: {type(env).__name__} needs a method "
                "compute_reward(achieved_goal, desired_goal, info) over batches of goals."
            )
        ends = getattr(env, "compute_terminated", None)
        achieved, desired = columns["achieved_goal"], columns["desired_goal"]
        return cls(achieved, desired, goal.shape, goal.dtype, env.compute_reward, ends)

    def judge(self, function: Callable[..., Any], achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """(n,) results of `function` for columns (n, size) of goals."""
        batch = (len(achieved), *self.shape)
        goals = (array.reshape(batch).astype(self.dtype) for array in (achieved, desired))
        return np.broadcast_to(np.asarray(function(*goals, {})), (len(achieved),))


class HindsightReplay(ReplayBuffer):
    """A replay memory that gives most of the transitions it draws another goal.

    The new goal is what was achieved at a step drawn uniformly from the rest of the same episode ("future"),
    and the reward is what the environment would have paid for it.

    Args:
        goals: where they are.
        relabelled: new goals for each original one: the share `relabelled / (relabelled + 1)` of a batch.
        layout: as `ReplayBuffer`, with returns of one step.

    Raises:
        ValueError: returns of several steps, whose rewards belong to the original goal.

    Source: Andrychowicz et al., Hindsight Experience Replay (2017), algorithm 1 and section 4.5.
    """

    def __init__(self, goals: Goals, relabelled: int = 4, **layout: Any) -> None:
        super().__init__(**layout)
        if self.n_steps != 1:
            raise ValueError(f"Hindsight goes with returns of one step, got n_steps={self.n_steps}.")
        self.goals, self.share = goals, relabelled / (relabelled + 1)
        self.step_of = np.zeros(self.capacity, np.int64)
        self.end_of = np.full(self.capacity, -1, np.int64)
        self.begun = np.zeros(self.num_envs, np.int64)
        self.count = 0

    def add(
        self,
        obs: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        next_obs: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> None:
        start = self.position
        super().add(obs, actions, rewards, next_obs, terminated, truncated)
        self.step_of[start : start + self.num_envs] = self.count
        self.end_of[start : start + self.num_envs] = -1
        for copy in np.flatnonzero(terminated | truncated):
            length = min(self.count - self.begun[copy] + 1, self.capacity // self.num_envs)
            rows = (start + copy - np.arange(length) * self.num_envs) % self.capacity
            self.end_of[rows] = self.count
            self.begun[copy] = self.count + 1
        self.count += 1

    def draw(self, number: int, generator: np.random.Generator) -> Transitions:
        batch = super().draw(number, generator)
        goals, index = self.goals, batch.index
        chosen = np.flatnonzero(generator.random(number) < self.share)
        place = index[chosen]
        step, end = self.step_of[place], self.end_of[place]
        # An unfinished episode reaches to the newest step.
        rest = np.where(end < 0, self.count - 1, end) - step + 1
        ahead = (generator.random(len(chosen)) * rest).astype(np.int64)
        new = self.next_obs[(place + ahead * self.num_envs) % self.capacity, goals.achieved]
        batch.obs[chosen, goals.desired] = new
        batch.next_obs[chosen, goals.desired] = new
        reached = batch.next_obs[chosen, goals.achieved]
        batch.rewards[chosen] = goals.judge(goals.reward, reached, new)
        if goals.terminated is not None:
            batch.discounts[chosen] = self.gamma * ~goals.judge(goals.terminated, reached, new).astype(bool)
        return batch

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "begun": self.begun.copy(), "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.begun[:] = state["begun"]
        self.count = int(state["count"])

    def arrays(self) -> dict[str, np.ndarray]:
        return {**super().arrays(), "step_of": self.step_of, "end_of": self.end_of}
