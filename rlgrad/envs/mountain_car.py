"""MountainCar over NumPy arrays, with discrete and with continuous actions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv
from gymnasium.envs.classic_control.utils import maybe_parse_reset_bounds

from rlgrad.envs.arrays import ArrayVectorEnv

__all__ = ["MountainCarContinuousVectorEnv", "MountainCarVectorEnv"]


class MountainCarVectorEnv(ArrayVectorEnv):
    """Gymnasium's MountainCar, all copies in one array: position and velocity of each.

    Source: Moore, Efficient Memory-based Learning for Robot Control (1990).

    Args:
        num_envs: number of copies.
        max_episode_steps: steps after which an episode is truncated.
        render_mode: "rgb_array" or None.
        goal_velocity: least velocity at the goal.
    """

    single_class: ClassVar[Any] = MountainCarEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        goal_velocity: float = 0,
    ) -> None:
        super().__init__(num_envs, max_episode_steps, render_mode, goal_velocity=goal_velocity)

    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        low, high = maybe_parse_reset_bounds(options, -0.6, -0.4)
        state = np.zeros((2, count))
        state[0] = self.np_random.uniform(low, high, count)
        return state

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        car = self._single
        pull = (action - 1) * car.force + np.cos(3 * state[0]) * (-car.gravity)
        new, terminated = self._roll(state, pull)
        return new, np.full(self.num_envs, -1.0), terminated

    def _roll(self, state: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moves the cars, stops them at the left wall, and says which have reached the goal."""
        car = self._single
        new = np.empty_like(state)
        position, velocity = new
        np.clip(state[1] + pull, -car.max_speed, car.max_speed, out=velocity)
        np.clip(state[0] + velocity, car.min_position, car.max_position, out=position)
        velocity[(position == position.dtype.type(car.min_position)) & (velocity < 0)] = 0.0
        return new, (position >= car.goal_position) & (velocity >= car.goal_velocity)

    def _observe(self, state: np.ndarray) -> np.ndarray:
        return state.T.astype(np.float32, order="C")


class MountainCarContinuousVectorEnv(MountainCarVectorEnv):
    """Gymnasium's MountainCarContinuous; arguments and state as for `MountainCarVectorEnv`."""

    single_class: ClassVar[Any] = Continuous_MountainCarEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 999,
        render_mode: str | None = None,
        goal_velocity: float = 0,
    ) -> None:
        super().__init__(num_envs, max_episode_steps, render_mode, goal_velocity)

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # Gymnasium rounds the state to float32 after each step but not after a reset, and computes in its precision.
        new, terminated = self._drive(state.astype(np.float32), action)
        fresh = self.steps == 0
        if fresh.any():
            start, reached = self._drive(state[:, fresh], action[fresh])
            new[:, fresh], terminated[fresh] = start, reached
        rewards = terminated * 100.0 - np.square(action[:, 0], dtype=np.float64) * 0.1
        return new.astype(np.float64), rewards, terminated

    def _drive(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        car = self._single
        force = np.clip(action[:, 0], car.min_action, car.max_action)
        slope = 0.0025 * np.cos(3 * state[0], dtype=np.float64)
        return self._roll(state, force * car.power - slope.astype(np.float32))
