"""Acrobot over NumPy arrays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.utils import maybe_parse_reset_bounds

from rlgrad.envs.arrays import ArrayVectorEnv

__all__ = ["AcrobotVectorEnv"]

_TORQUE = np.array(AcrobotEnv.AVAIL_TORQUE)
_SPEED = np.array([[AcrobotEnv.MAX_VEL_1], [AcrobotEnv.MAX_VEL_2]])
_GRAVITY = 9.8


class AcrobotVectorEnv(ArrayVectorEnv):
    """Gymnasium's Acrobot with the book's dynamics, all copies in one array: two angles and two angular velocities.

    Source of the equations: Sutton and Barto, Reinforcement Learning (2018), section 11.1.

    Args:
        num_envs: number of copies.
        max_episode_steps: steps after which an episode is truncated.
        render_mode: "rgb_array" or None.
    """

    single_class: ClassVar[Any] = AcrobotEnv

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = 500, render_mode: str | None = None) -> None:
        super().__init__(num_envs, max_episode_steps, render_mode)

    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        low, high = maybe_parse_reset_bounds(options, -0.1, 0.1)
        return self.np_random.uniform(low, high, (4, count)).astype(np.float32).astype(np.float64)

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        new = _runge_kutta(state, _TORQUE[action], AcrobotEnv.dt)
        angles, speeds = new[:2], new[2:]
        while (over := angles > np.pi).any():
            angles[over] -= 2 * np.pi
        while (under := angles < -np.pi).any():
            angles[under] += 2 * np.pi
        np.clip(speeds, -_SPEED, _SPEED, out=speeds)
        terminated = -np.cos(new[0]) - np.cos(new[1] + new[0]) > 1.0
        return new, terminated - 1.0, terminated

    def _observe(self, state: np.ndarray) -> np.ndarray:
        obs = np.empty((state.shape[1], 6), dtype=np.float32)
        obs[:, :4:2], obs[:, 1:4:2] = np.cos(state[:2]).T, np.sin(state[:2]).T
        obs[:, 4:] = state[2:].T
        return obs


def _runge_kutta(state: np.ndarray, torque: np.ndarray, dt: float) -> np.ndarray:
    """One step of the classical fourth-order method."""
    k1 = _derivative(state, torque)
    k2 = _derivative(state + dt / 2.0 * k1, torque)
    k3 = _derivative(state + dt / 2.0 * k2, torque)
    k4 = _derivative(state + dt * k3, torque)
    return state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def _derivative(state: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """How the state changes per second. Both links have mass, length and moment of inertia 1, their centres at 0.5."""
    theta1, theta2, speed1, speed2 = state
    cosine, sine = np.cos(theta2), np.sin(theta2)
    d1 = 0.25 + (1.25 + cosine) + 2.0
    d2 = 0.25 + 0.5 * cosine + 1.0
    phi2 = 0.5 * _GRAVITY * np.cos(theta1 + theta2 - np.pi / 2.0)
    phi1 = -0.5 * speed2**2 * sine - speed2 * speed1 * sine + 1.5 * _GRAVITY * np.cos(theta1 - np.pi / 2.0) + phi2
    ratio = d2 / d1
    acceleration2 = (torque + ratio * phi1 - 0.5 * speed1**2 * sine - phi2) / (1.25 - d2**2 / d1)
    out = np.empty_like(state)
    out[:2] = state[2:]
    out[2], out[3] = -(d2 * acceleration2 + phi1) / d1, acceleration2
    return out
