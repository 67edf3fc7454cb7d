"""What the environments over NumPy arrays share: start states, step limits, autoreset, saving, pictures."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

__all__ = ["ArrayVectorEnv"]


class ArrayVectorEnv(VectorEnv[Any, Any, Any]):
    """Copies of one environment whose states are the columns of one array, with SAME_STEP autoreset.

    The step that ends an episode returns the first observation of the next one, as
    `SyncVectorEnv(autoreset_mode="SameStep")` does. The dynamics are those of Gymnasium's single environment to the
    last bit or close to it, and so is the distribution of start states; one generator draws them for all copies, so
    trajectories differ from those of synchronous environments with the same seed.

    A subclass takes its spaces from `single_class` and implements `_draw`, `_advance` and `_observe`.

    Args:
        num_envs: number of copies.
        max_episode_steps: steps after which an episode is truncated; None for never.
        render_mode: "rgb_array" or None.

    Attributes:
        state: (dim, num_envs) float64, a column for each copy.
        steps: (num_envs,) steps of the running episodes.

    `infos` of a step in which episodes ended carries, in Gymnasium's layout:
        final_obs: (num_envs,) object array, the last observation of each finished episode, else None.
        _final_obs: (num_envs,) bool, which entries of `final_obs` are set.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }
    single_class: ClassVar[Any]
    """Gymnasium's single environment."""

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = None, render_mode: str | None = None, **options: Any
    ) -> None:
        self._single = self.single_class(render_mode=render_mode, **options)
        self.num_envs, self.max_episode_steps, self.render_mode = num_envs, max_episode_steps, render_mode
        self.single_action_space = self._single.action_space
        self.single_observation_space = self._single.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.state: np.ndarray | None = None
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self._options: dict[str, Any] = {}
        self._nothing_truncated = np.zeros(num_envs, dtype=bool)

    @abstractmethod
    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        """(dim, count) start states, drawn by `np_random`.

        Args:
            options: what `reset` was given.
        """

    @abstractmethod
    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One step of every copy.

        Returns:
            The new state (dim, num_envs), float64 rewards (num_envs,) and terminated (num_envs,) bool.
        """

    @abstractmethod
    def _observe(self, state: np.ndarray) -> np.ndarray:
        """(count, obs_dim) float32 observations, in memory of their own."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts new episodes in every copy.

        Args:
            seed: restarts the random stream.
            options: bounds of the start states, as Gymnasium's single environment takes them; they hold until the next
                call.
        """
        super().reset(seed=seed)
        self._options = dict(options or {})
        self.state = self._draw(self.num_envs, self._options)
        self.steps[:] = 0
        return self._observe(self.state), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advances every copy by one step and starts a new episode where one ended.

        Args:
            actions: (num_envs,) integers of a Discrete space, or (num_envs, dim) numbers of a Box.

        Returns:
            obs (num_envs, obs_dim) float32, reward (num_envs,) float64, terminated and truncated (num_envs,) bool,
            infos.

        Raises:
            RuntimeError: `reset` was not called.
            ValueError: the actions have another shape, or leave a Discrete space.
        """
        if self.state is None:
            raise RuntimeError(f"{type(self).__name__}.step() needs a state: call reset() first.")
        actions = np.asarray(actions)
        self._check(actions)
        self.state, rewards, terminated = self._advance(self.state, actions)
        self.steps += 1
        obs = self._observe(self.state)
        done = terminated
        if self.max_episode_steps is None:
            truncated = self._nothing_truncated.copy()
        else:
            truncated = self.steps >= self.max_episode_steps
            done = terminated | truncated
        if True not in done.tolist():
            return obs, rewards, terminated, truncated, {}
        ended = np.flatnonzero(done)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for index in ended:
            final_obs[index] = obs[index].copy()
        start = self._draw(len(ended), self._options)
        self.state[:, ended] = start
        self.steps[ended] = 0
        obs[ended] = self._observe(start)
        return obs, rewards, terminated, truncated, {"final_obs": final_obs, "_final_obs": done}

    def _check(self, actions: np.ndarray) -> None:
        space = self.single_action_space
        if actions.shape != (self.num_envs, *(space.shape or ())):
            raise ValueError(
                f"{type(self).__name__} with {self.num_envs} copies takes actions of shape "
                f"{(self.num_envs, *(space.shape or ()))}, got {actions.shape}."
            )
        if isinstance(space, spaces.Discrete) and (
            actions.dtype.kind not in "iu" or min(choices := actions.tolist()) < 0 or max(choices) >= space.n
        ):
            raise ValueError(
                f"{type(self).__name__} takes integers from 0 to {int(space.n) - 1} as actions, got {actions!r}."
            )

    def state_dict(self) -> dict[str, Any]:
        """The whole state: physics, step counters and the generator's position."""
        return {
            "state": None if self.state is None else self.state.copy(),
            "steps": self.steps.copy(),
            "options": dict(self._options),
            "generator": self.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned.

        Raises:
            ValueError: the state is of another number of copies.
        """
        if len(state["steps"]) != self.num_envs:
            raise ValueError(f"A state of {len(state['steps'])} copies does not fit {self.num_envs} copies.")
        self.state = None if state["state"] is None else np.array(state["state"], dtype=np.float64)
        self.steps = np.array(state["steps"], dtype=np.int64)
        self._options = dict(state["options"])
        self.np_random.bit_generator.state = state["generator"]

    def render(self) -> tuple[Any, ...] | None:
        """One picture (height, width, 3) uint8 of each copy, drawn by Gymnasium's single environment."""
        if self.render_mode is None or self.state is None:
            gym.logger.warn("render() needs render_mode='rgb_array' and a reset environment; it returns None.")
            return None
        pictures = []
        for column in self.state.T:
            self._single.state = column.copy()
            pictures.append(self._single.render())
        return tuple(pictures)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environment that draws pictures."""
        self._single.close()
