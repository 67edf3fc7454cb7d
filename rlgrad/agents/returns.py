"""Returns of recorded rollouts, as plain array functions."""

from __future__ import annotations

import numpy as np

__all__ = ["reward_to_go"]


def reward_to_go(
    rewards: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    final_values: np.ndarray,
    gamma: float,
) -> np.ndarray:
    r"""Discounted return from each step to the end of its episode.

    `G_t = r_t + gamma G_{t+1}` inside an episode, `G_t = r_t` in the step that terminates it, and
    `G_t = r_t + gamma V(s_T)` in the step that truncates it: a time limit ends the recording, not the task,
    so the value of the state it stopped in stands for the rewards that were cut off. A step that is both
    terminated and truncated counts as terminated.

    Args:
        rewards: (steps, num_envs).
        terminated: (steps, num_envs) bool.
        truncated: (steps, num_envs) bool.
        final_values: (steps, num_envs), value of the last observation of an episode in the entry where it is
            truncated; other entries are not read. Zeros treat a time limit as the end of the task.
        gamma: discount per environment step.

    Returns:
        (steps, num_envs) float32. Rows after an environment's last finished episode hold the return of an
        unfinished one and are the caller's to drop.

    Source: Sutton and Barto, Reinforcement Learning (2018), section 13.3; Pardo et al., Time Limits in
    Reinforcement Learning (2018), section 3, for the bootstrap.
    """
    shape = rewards.shape
    for name, array in (("terminated", terminated), ("truncated", truncated), ("final_values", final_values)):
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected that of rewards, {shape}.")
    inside = ~(terminated | truncated)
    tail = np.where(truncated & ~terminated, final_values, 0.0)
    returns = np.empty(shape, dtype=np.float64)
    following = np.zeros(shape[1:], dtype=np.float64)
    for step in range(len(rewards) - 1, -1, -1):
        following = rewards[step] + gamma * np.where(inside[step], following, tail[step])
        returns[step] = following
    return returns.astype(np.float32)
