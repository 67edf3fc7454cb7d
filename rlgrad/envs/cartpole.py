"""CartPole over NumPy arrays with the autoreset mode that learning code wants."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv as GymnasiumCartPoleVectorEnv
from gymnasium.vector import AutoresetMode

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv(GymnasiumCartPoleVectorEnv):
    """Gymnasium's NumPy CartPole, with SAME_STEP autoreset instead of NEXT_STEP.

    Gymnasium's vector entry point resets on the step *after* an episode's end: that step ignores its action
    and gives reward 0, a row that belongs to no episode. Here the reset happens in the step that ends the
    episode, as `SyncVectorEnv(autoreset_mode="SameStep")` does: the returned observation is the first of the
    next episode, and `infos["final_obs"]` holds the last of the finished one.

    The dynamics, and the distribution of start states, are Gymnasium's. The random numbers are drawn by one
    generator for all copies, so trajectories differ from those of synchronous environments with the same
    seed.

    `infos` of a step in which episodes ended carries, in Gymnasium's layout:
        final_obs: (num_envs,) object array, the last observation `(4,)` of each finished episode, else None.
        _final_obs: (num_envs,) bool, which entries of `final_obs` are set.
    """

    metadata = {  # noqa: RUF012 - declared by the parent
        **GymnasiumCartPoleVectorEnv.metadata,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def step(self, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advances every copy by one step and starts a new episode where one ended.

        Args:
            action: (num_envs,) integers in {0, 1}.

        Returns:
            obs (num_envs, 4) float32, reward (num_envs,) float32, terminated and truncated (num_envs,) bool,
            infos.
        """
        obs, reward, terminated, truncated, infos = super().step(action)
        done = self.prev_done
        if done.any():
            # A fresh array, not a cleared one: the parent resets on its next step whatever this mask still
            # marks.
            self.prev_done = np.zeros_like(done)
            final_obs = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(done):
                final_obs[index] = obs[index].copy()
            infos = {**infos, "final_obs": final_obs, "_final_obs": done}
            assert self.state is not None
            self.state[:, done] = self.np_random.uniform(self.low, self.high, size=(4, int(done.sum())))
            self.steps[done] = 0
            obs[done] = self.state[:, done].T
        return obs, reward, terminated, truncated, infos
