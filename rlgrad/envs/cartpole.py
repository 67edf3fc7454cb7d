"""CartPole over NumPy arrays."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.utils import maybe_parse_reset_bounds

from rlgrad.envs.arrays import ArrayVectorEnv

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv(ArrayVectorEnv):
    """Gymnasium's CartPole, all copies in one array: position, velocity, angle and angular velocity of each.

    Source of the equations: Florian, Correct equations for the dynamics of the cart-pole system (2005).

    Args:
        num_envs: number of copies.
        max_episode_steps: steps after which an episode is truncated.
        render_mode: "rgb_array" or None.
        sutton_barto_reward: 0 for each step and -1 for the last, instead of 1 for each.
    """

    single_class: ClassVar[Any] = CartPoleEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 500,
        render_mode: str | None = None,
        sutton_barto_reward: bool = False,
    ) -> None:
        super().__init__(num_envs, max_episode_steps, render_mode, sutton_barto_reward=sutton_barto_reward)
        self._sutton_barto_reward = sutton_barto_reward
        self._limits = np.array([[self._single.x_threshold], [self._single.theta_threshold_radians]])
        self._forces = np.array([-self._single.force_mag, self._single.force_mag])

    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        low, high = maybe_parse_reset_bounds(options, -0.05, 0.05)
        return self.np_random.uniform(low, high, (4, count))

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        tau, forces = self._single.tau, self._forces.take(action)
        if self.num_envs == 1:  # numbers take a quarter of the time that arrays of one do
            x, x_dot, theta, theta_dot = state[:, 0].tolist()
            x_acc, theta_acc = self._accelerate(theta_dot, math.cos(theta), math.sin(theta), forces.item())
            x, theta = x + tau * x_dot, theta + tau * theta_dot
            new = np.array([[x], [x_dot + tau * x_acc], [theta], [theta_dot + tau * theta_acc]])
            terminated = np.array(
                [abs(x) > self._single.x_threshold or abs(theta) > self._single.theta_threshold_radians]
            )
        else:
            theta, theta_dot = state[2], state[3]
            slope = np.empty_like(state)
            slope[::2] = state[1::2]
            slope[1], slope[3] = self._accelerate(theta_dot, np.cos(theta), np.sin(theta), forces)
            slope *= tau
            new = state + slope
            terminated = np.logical_or.reduce(np.abs(new[::2]) > self._limits)
        rewards = -terminated.astype(np.float64) if self._sutton_barto_reward else np.ones(self.num_envs)
        return new, rewards, terminated

    def _accelerate(self, theta_dot: Any, cosine: Any, sine: Any, force: Any) -> tuple[Any, Any]:
        """Of the cart and of the pole's angle; numbers or arrays."""
        pole = self._single
        temp = (force + pole.polemass_length * (theta_dot * theta_dot) * sine) / pole.total_mass
        theta_acc = (pole.gravity * sine - cosine * temp) / (
            pole.length * (4.0 / 3.0 - pole.masspole * (cosine * cosine) / pole.total_mass)
        )
        return temp - pole.polemass_length * theta_acc * cosine / pole.total_mass, theta_acc

    def _observe(self, state: np.ndarray) -> np.ndarray:
        return state.T.astype(np.float32, order="C")
