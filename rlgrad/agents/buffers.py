"""Replay memories: uniform and prioritized, for vector environments, with n-step returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlgrad.agents.sum_tree import SumTree

__all__ = ["PrioritizedReplay", "ReplayBuffer", "Transitions"]

_BYTES_PER_GATHER = 1 << 20


@dataclass(slots=True)
class Transitions:
    """A batch drawn from a replay memory.

    Attributes:
        obs: (batch, *obs_shape) observations.
        actions: (batch, *action_shape).
        rewards: (batch,) float32, discounted sum of up to `n_steps` rewards.
        next_obs: (batch, *obs_shape) observation after the last of them, the episode's own last one where it ended
            there.
        discounts: (batch,) float32, factor of the value of `next_obs`: 0 where the episode terminated,
            `gamma ** k` after k rewards elsewhere, at a time limit too.
        weights: (batch,) float32 importance weights, or None where all are 1.
        index: (batch,) int64 places in the memory.
        following: (batch, ...) what an agent has found out about `next_obs` before the updates; None for nothing.
    """

    obs: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_obs: np.ndarray
    discounts: np.ndarray
    weights: np.ndarray | None
    index: np.ndarray
    following: np.ndarray | None = None


class ReplayBuffer:
    """The newest transitions of a vector environment, drawn uniformly.

    Observations keep their dtype, so images stay bytes. What follows a step is stored as it was:
    the last observation of an episode, never the first of the next. Returns over several steps are summed
    when a batch is drawn; they stop at an episode's end, and at the newest step of an unfinished one, whose
    value then stands in after fewer rewards.

    Args:
        capacity: transitions to keep, over all copies; rounded down to whole steps of them.
        num_envs: copies of the environment.
        obs_shape, obs_dtype: of one observation.
        action_shape, action_dtype: of one action.
        n_steps: rewards in a return, 1 or more.
        gamma: discount per environment step.

    Raises:
        ValueError: no room for one step of every copy, or fewer than one step in a return.

    Example:
        >>> import numpy as np
        >>> buffer = ReplayBuffer(100, 2, (3,), np.float32, (), np.int64)
        >>> obs, over = np.zeros((2, 3), np.float32), np.zeros(2, bool)
        >>> buffer.add(obs, np.array([0, 1]), np.ones(2), obs, over, over)
        >>> buffer.sample(4, np.random.default_rng(0)).rewards
        array([1., 1., 1., 1.], dtype=float32)

    Source: Lin, Self-Improving Reactive Agents (1992); Pardo et al., Time Limits in Reinforcement Learning
    (2018), section 3; Sutton and Barto, Reinforcement Learning (2018), section 7.1.
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        obs_shape: Sequence[int],
        obs_dtype: Any,
        action_shape: Sequence[int],
        action_dtype: Any,
        n_steps: int = 1,
        gamma: float = 0.99,
    ) -> None:
        if capacity < num_envs:
            raise ValueError(f"A buffer of {capacity} transitions has no room for one step of {num_envs} copies.")
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps}.")
        self.num_envs, self.n_steps, self.gamma = num_envs, n_steps, gamma
        self.capacity = capacity // num_envs * num_envs
        self.obs = np.zeros((self.capacity, *obs_shape), obs_dtype)
        self.next_obs = np.zeros((self.capacity, *obs_shape), obs_dtype)
        self.actions = np.zeros((self.capacity, *action_shape), action_dtype)
        self.rewards = np.zeros(self.capacity, np.float32)
        self.terminated = np.zeros(self.capacity, bool)
        self.truncated = np.zeros(self.capacity, bool)
        self.position = 0
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def add(
        self,
        obs: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        next_obs: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> None:
        """Stores one step of every copy, over the oldest one when full.

        Args:
            obs: (num_envs, *obs_shape) what the actions answered.
            actions: (num_envs, *action_shape).
            rewards: (num_envs,).
            next_obs: (num_envs, *obs_shape) what followed; `final_obs` where an episode ended.
            terminated: (num_envs,) bool.
            truncated: (num_envs,) bool.
        """
        start = self.position
        stop = start + self.num_envs
        self.obs[start:stop] = obs
        self.next_obs[start:stop] = next_obs
        self.actions[start:stop] = actions
        self.rewards[start:stop] = rewards
        self.terminated[start:stop] = terminated
        self.truncated[start:stop] = truncated
        self.position = stop % self.capacity
        self.size = max(self.size, stop)

    def sample(self, batch_size: int, generator: np.random.Generator) -> Transitions:
        """Draws `batch_size` transitions with replacement."""
        return self.draw(batch_size, generator)

    def draw(self, number: int, generator: np.random.Generator) -> Transitions:
        """`number` transitions, for one batch or for several."""
        return self.gather(generator.integers(self.size, size=number))

    def batches(
        self,
        count: int,
        batch_size: int,
        generator: np.random.Generator,
        prepare: Callable[[Transitions], None] | None = None,
    ) -> Iterator[Transitions]:
        """`count` batches, one after the other, gathered many at a time, which is quicker.

        Args:
            count: how many.
            batch_size: transitions in each.
            generator: draws them.
            prepare: is shown what was gathered before it is cut into batches.
        """
        together = self.drawn_together(count, batch_size)
        for first in range(0, count, together):
            number = min(together, count - first)
            rows = self.draw(number * batch_size, generator)
            if prepare is not None:
                prepare(rows)
            for start in range(0, number * batch_size, batch_size):
                yield _part(rows, slice(start, start + batch_size))

    def drawn_together(self, count: int, batch_size: int) -> int:
        """How many of `count` batches :meth:`batches` draws at a time: as many as stay in the processor's cache."""
        row = sum(array[:1].nbytes for array in self.arrays().values())
        return max(1, min(_BYTES_PER_GATHER // (row * batch_size), count))

    def gather(self, index: np.ndarray) -> Transitions:
        """The transitions (or n-step transitions) that start at `index: (batch,)`, with weights of None."""
        last, rewards, discounts = self._returns(index)
        return Transitions(
            self.obs.take(index, axis=0),
            self.actions.take(index, axis=0),
            rewards,
            self.next_obs.take(last, axis=0),
            discounts,
            None,
            index,
        )

    def _returns(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place of the last step of each return, the return, and the discount of what follows."""
        rewards = self.rewards.take(index)
        discounts = np.full(len(index), self.gamma, np.float32)
        last = index
        if self.n_steps > 1:
            newest = (self.position - self.num_envs) % self.capacity
            alive = np.ones(len(index), bool)
            for step in range(1, self.n_steps):
                # Steps of one copy are `num_envs` places apart; the newest step has none after it.
                alive &= ~(self.terminated[last] | self.truncated[last])
                alive &= (last < newest) | (last >= newest + self.num_envs)
                last = np.where(alive, (last + self.num_envs) % self.capacity, last)
                rewards += np.where(alive, self.rewards[last] * np.float32(self.gamma**step), np.float32(0))
                discounts = np.where(alive, np.float32(self.gamma ** (step + 1)), discounts)
        discounts *= ~self.terminated.take(last)
        return last, rewards, discounts

    def state_dict(self) -> dict[str, Any]:
        """Everything stored, as copies."""
        filled = {name: array[: self.size].copy() for name, array in self.arrays().items()}
        return {**filled, "position": self.position, "size": self.size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` of a buffer of the same capacity and spaces returned.

        Raises:
            ValueError: the state is of another capacity or space.
        """
        size = int(state["size"])
        for name, array in self.arrays().items():
            saved = np.asarray(state[name])
            if size > self.capacity or saved.shape[1:] != array.shape[1:]:
                raise ValueError(
                    f"The saved buffer's {name} have shape {saved.shape}, which does not fit a buffer of "
                    f"{array.shape}: load it with the settings and environment it was saved with."
                )
            array[:size] = saved
        self.position, self.size = int(state["position"]), size

    def metrics(self) -> dict[str, float]:
        """Figures to log."""
        return {"buffer/size": float(self.size), "buffer/fill": self.size / self.capacity}

    def arrays(self) -> dict[str, np.ndarray]:
        """What is stored for each transition, by name."""
        names = ("obs", "actions", "rewards", "next_obs", "terminated", "truncated")
        return {name: getattr(self, name) for name in names}


class PrioritizedReplay(ReplayBuffer):
    """A replay memory that draws surprising transitions more often.

    Transition i is drawn with probability `P(i) = p_i^alpha / sum_k p_k^alpha`, new ones with the largest
    priority so far. The weights `(N P(i))^-beta`, divided by the batch's largest, undo the bias as `beta`
    goes to 1.

    Args:
        capacity, num_envs, obs_shape, obs_dtype, action_shape, action_dtype, n_steps, gamma: as `ReplayBuffer`.
        alpha: 0 for uniform draws, 1 for draws in proportion to priority.
        beta: how far the weights correct, 0 to 1; to be raised by whoever trains.
        epsilon: added to every priority, so that no transition is lost.

    Source: Schaul et al., Prioritized Experience Replay (2016), section 3.3 and algorithm 1.
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        obs_shape: Sequence[int],
        obs_dtype: Any,
        action_shape: Sequence[int],
        action_dtype: Any,
        n_steps: int = 1,
        gamma: float = 0.99,
        alpha: float = 0.6,
        beta: float = 0.4,
        epsilon: float = 1e-6,
    ) -> None:
        super().__init__(capacity, num_envs, obs_shape, obs_dtype, action_shape, action_dtype, n_steps, gamma)
        self.alpha, self.beta, self.epsilon = alpha, beta, epsilon
        self.tree = SumTree(self.capacity)
        self.max_priority = 1.0
        self._waiting: list[int] = []

    def add(self, *step: Any) -> None:
        self._waiting.append(self.position)
        super().add(*step)

    def draw(self, number: int, generator: np.random.Generator) -> Transitions:
        """`number` transitions for one batch."""
        self._insert()
        index = self.tree.sample(number, generator)
        batch = self.gather(index)
        weights = (self.tree.priorities[index] * (self.size / self.tree.total)) ** -self.beta
        batch.weights = (weights / weights.max()).astype(np.float32)
        return batch

    def drawn_together(self, count: int, batch_size: int) -> int:
        """One batch, for each is drawn with the priorities that the one before it left."""
        return 1

    def update_priorities(self, index: np.ndarray, errors: np.ndarray) -> None:
        """Sets the priorities of `index: (batch,)` to the size of their temporal-difference `errors`."""
        priorities = np.abs(errors.astype(np.float64)) + self.epsilon
        self.max_priority = max(self.max_priority, float(priorities.max()))
        self.tree.update(index, priorities**self.alpha)

    def state_dict(self) -> dict[str, Any]:
        self._insert()
        own = {"priorities": self.tree.priorities[: self.size].copy(), "max_priority": self.max_priority}
        return {**super().state_dict(), **own, "beta": self.beta}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._waiting.clear()
        self.tree.update(np.arange(self.capacity), np.zeros(self.capacity))
        self.tree.update(np.arange(self.size), np.asarray(state["priorities"]))
        self.max_priority, self.beta = float(state["max_priority"]), float(state["beta"])

    def metrics(self) -> dict[str, float]:
        mean = self.tree.total / max(self.size, 1)
        own = {"buffer/priority_max": self.max_priority, "buffer/priority_mean": mean, "buffer/beta": self.beta}
        return {**super().metrics(), **own}

    def _insert(self) -> None:
        """Gives the steps added since the last draw their priority, all at once."""
        if self._waiting:
            starts = np.array(self._waiting)[-(self.capacity // self.num_envs) :]
            index = (starts[:, None] + np.arange(self.num_envs)).ravel()
            self.tree.update(index, np.full(len(index), self.max_priority**self.alpha))
            self._waiting.clear()


def _part(rows: Transitions, part: slice) -> Transitions:
    return Transitions(
        rows.obs[part],
        rows.actions[part],
        rows.rewards[part],
        rows.next_obs[part],
        rows.discounts[part],
        None if rows.weights is None else rows.weights[part],
        rows.index[part],
        None if rows.following is None else rows.following[part],
    )
