"""What a policy did in a number of steps, what the networks made of it, and the batches of an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rlgrad import Tensor
from rlgrad.agents.networks import Sequences
from rlgrad.agents.runner import Step

__all__ = ["Memory", "Minibatch", "Recording", "Rollout"]

States = dict[str, tuple[np.ndarray, ...]]


class Recording:
    """A number of steps of every copy, as the environment gave them.

    Args:
        steps: how many.
        obs: (num_envs, ...) the first observations, for shapes and dtypes.
        states: recurrent states of the networks before the first step, by name.

    Attributes:
        obs: (steps, num_envs, ...) encoded observations, not normalised.
        actions: (steps, num_envs, ...) as the policy drew them.
        masks: (steps, num_envs, choices) bool, which actions were allowed; None without masks.
        starts: (steps, num_envs) bool, which steps begin an episode.
        rewards, terminated, truncated: (steps, num_envs).
        tail_places: (step, copy) of each tail.
        tails: the observations after steps which no other row follows, although the task goes on: where a time
            limit ended an episode, and after the last step.
    """

    def __init__(self, steps: int, obs: np.ndarray, states: States) -> None:
        shape = (steps, len(obs))
        self.obs = np.empty((steps, *obs.shape), obs.dtype)
        self.starts, self.terminated, self.truncated = (np.empty(shape, dtype=bool) for _ in range(3))
        self.rewards = np.empty(shape, dtype=np.float64)
        self.actions: Any = None
        self.masks: np.ndarray | None = None
        self.states = states
        self.tail_places: list[tuple[int, int]] = []
        self.tails: list[np.ndarray] = []

    def add(
        self, step: int, obs: np.ndarray, starts: np.ndarray, actions: np.ndarray, mask: np.ndarray | None, got: Step
    ) -> None:
        """Records one step of every copy and what it gave."""
        if self.actions is None:
            self.actions = np.empty((len(self.obs), *actions.shape), actions.dtype)
            self.masks = None if mask is None else np.ones((len(self.obs), *mask.shape), dtype=bool)
        self.obs[step], self.actions[step], self.starts[step] = obs, actions, starts
        self.rewards[step], self.terminated[step], self.truncated[step] = got.rewards, got.terminated, got.truncated
        if self.masks is not None:
            self.masks[step] = mask
        for row, copy in enumerate(got.ended):
            if not got.terminated[copy]:
                self.tail_places.append((step, int(copy)))
                self.tails.append(got.final_obs[row])
        if step == len(self.obs) - 1:
            for copy in np.flatnonzero(~(got.terminated | got.truncated)):
                self.tail_places.append((step, int(copy)))
                self.tails.append(got.obs[copy])


@dataclass
class Rollout:
    """A recording with what the networks of that moment made of it, flattened to rows `step * num_envs + copy`.

    Attributes:
        obs: (rows, ...) observations as the networks read them.
        actions: (rows, ...) as the policy drew them.
        masks: (rows, choices) bool, which actions were allowed; None without masks.
        log_probs: (rows,) of the actions under the policy that drew them.
        values: (rows,).
        advantages: (rows,) float32.
        returns: (rows,) float32, targets of the value network.
        entropy: mean entropy of the policy that drew the actions, in nats.
        starts: (steps, num_envs) bool, which steps begin an episode.
        states: recurrent states of the networks before the first step, by name; empty without.
    """

    obs: np.ndarray
    actions: np.ndarray
    masks: np.ndarray | None
    log_probs: np.ndarray
    values: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray
    entropy: float
    starts: np.ndarray
    states: States


class Minibatch(NamedTuple):
    """Rows of a rollout, as tensors.

    Attributes:
        obs, actions, log_probs, advantages: (n, ...), see `Rollout`.
        values, returns: (n, 1) columns, as value networks give them.
        masks: (n, choices) bool or None.
        sequences: how the rows hang together, for each recurrent network; empty without.
        epoch: the pass over the rollout that they are of, from 0.
    """

    obs: Tensor
    actions: Tensor
    masks: np.ndarray | None
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    sequences: dict[str, Sequences]
    epoch: int


class Memory:
    """The recurrent states of the running episodes, by network."""

    def __init__(self) -> None:
        self.states: States = {}

    def state_dict(self) -> dict[str, Any]:
        """The states."""
        return dict(self.states)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self.states = dict(state)
