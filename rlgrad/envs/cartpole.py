"""CartPole over NumPy arrays."""

from __future__ import annotations

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

    def _draw(self, count: int, options: dict[str, Any]) -> np.ndarray:
        low, high = maybe_parse_reset_bounds(options, -0.05, 0.05)
        return self.np_random.uniform(low, high, (4, count))

    def _advance(self, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pole = self._single
        theta, theta_dot = state[2], state[3]
        cosine, sine = np.cos(theta), np.sin(theta)
        force = (action * 2 - 1) * pole.force_mag
        temp = (force + pole.polemass_length * (theta_dot * theta_dot) * sine) / pole.total_mass
        theta_acc = (pole.gravity * sine - cosine * temp) / (
            pole.length * (4.0 / 3.0 - pole.masspole * (cosine * cosine) / pole.total_mass)
        )
        x_acc = temp - pole.polemass_length * theta_acc * cosine / pole.total_mass
        new = np.empty_like(state)
        new[::2] = state[::2] + pole.tau * state[1::2]
        new[1] = state[1] + pole.tau * x_acc
        new[3] = theta_dot + pole.tau * theta_acc
        terminated = np.logical_or.reduce(np.abs(new[::2]) > self._limits)
        rewards = -terminated.astype(np.float64) if self._sutton_barto_reward else np.ones(self.num_envs)
        return new, rewards, terminated

    def _observe(self, state: np.ndarray) -> np.ndarray:
        return state.T.astype(np.float32, order="C")
