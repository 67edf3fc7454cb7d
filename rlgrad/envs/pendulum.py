"""Pendulum over NumPy arrays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.envs.classic_control.pendulum import DEFAULT_X, DEFAULT_Y, PendulumEnv
from gymnasium.envs.classic_control.utils import verify_number_and_cast

from rlgrad.envs.arrays import ArrayVectorEnv

__all__ = ["PendulumVectorEnv"]


class PendulumVectorEnv(ArrayVectorEnv):
    """Gymnasium's Pendulum, all copies in one array: angle and angular velocity of each.

    Args:
        num_envs: number of copies.
        max_episode_steps: steps after which an episode is truncated.
        render_mode: "rgb_array" or None.
        g: acceleration of gravity, in m/s^2.
    """

    single_class: ClassVar[Any] = PendulumEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        g: float = 10.0,
    ) -> None:
        super().__init__(num_envs, max_episode_steps, render_mode, g=g)
        self._single.last_u = None

    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        bounds = (options.get("x_init", DEFAULT_X), options.get("y_init", DEFAULT_Y))
        high = np.array([[verify_number_and_cast(bound)] for bound in bounds])
        return self.np_random.uniform(-high, high, (2, count))

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pendulum = self._single
        g, m, length, dt = pendulum.g, pendulum.m, pendulum.l, pendulum.dt
        theta, speed = state
        torque = np.clip(action[:, 0], -pendulum.max_torque, pendulum.max_torque)
        angle = (theta + np.pi) % (2 * np.pi) - np.pi
        costs = angle**2 + 0.1 * speed**2 + 0.001 * (torque**2)
        new = np.empty_like(state)
        acceleration = 3 * g / (2 * length) * np.sin(theta) + 3.0 / (m * length**2) * torque
        np.clip(speed + acceleration * dt, -pendulum.max_speed, pendulum.max_speed, out=new[1])
        new[0] = theta + new[1] * dt
        return new, -costs, np.zeros(self.num_envs, dtype=bool)

    def _observe(self, state: np.ndarray) -> np.ndarray:
        obs = np.empty((state.shape[1], 3), dtype=np.float32)
        obs[:, 0], obs[:, 1], obs[:, 2] = np.cos(state[0]), np.sin(state[0]), state[1]
        return obs
