"""Returns of recorded rollouts, as plain array functions."""

from __future__ import annotations

import numpy as np

__all__ = ["gae", "reward_to_go"]


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
    _check_shapes(rewards, terminated=terminated, truncated=truncated, final_values=final_values)
    inside = ~(terminated | truncated)
    tail = np.where(truncated & ~terminated, final_values, 0.0)
    returns = np.empty(shape, dtype=np.float64)
    following = np.zeros(shape[1:], dtype=np.float64)
    for step in range(len(rewards) - 1, -1, -1):
        following = rewards[step] + gamma * np.where(inside[step], following, tail[step])
        returns[step] = following
    return returns.astype(np.float32)


def gae(
    rewards: np.ndarray,
    values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    final_values: np.ndarray,
    last_values: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> np.ndarray:
    r"""Generalised advantage estimates of a rollout that need not hold whole episodes.

    `A_t = delta_t + gamma lambda A_{t+1}` inside an episode with `delta_t = r_t + gamma V(s_{t+1}) - V(s_t)`.
    In the step that terminates an episode `delta_t = r_t - V(s_t)`; in the step that truncates it, the value of
    the episode's last observation stands for what was cut off. Both end the sum. A step that is both
    terminated and truncated counts as terminated.

    Args:
        rewards: (steps, num_envs).
        values: (steps, num_envs), of the observations that were acted on.
        terminated: (steps, num_envs) bool.
        truncated: (steps, num_envs) bool.
        final_values: (steps, num_envs), value of the last observation of an episode in the entry where it is
            truncated; other entries are not read.
        last_values: (num_envs,), of the observations after the last step; not read where an episode ended.
        gamma: discount per environment step.
        gae_lambda: weight of later deltas, 0 for one-step advantages and 1 for returns minus values.

    Returns:
        (steps, num_envs) float32; adding `values` gives the targets of the value function.

    Example:
        >>> ones, no = np.ones((2, 1)), np.zeros((2, 1), bool)
        >>> gae(ones, 0 * ones, no, no, 0 * ones, np.zeros(1), gamma=1.0, gae_lambda=1.0).ravel().tolist()
        [2.0, 1.0]

    Source: Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation (2016),
    equation 16; Pardo et al., Time Limits in Reinforcement Learning (2018), section 3, for the bootstrap.
    """
    _check_shapes(rewards, values=values, terminated=terminated, truncated=truncated, final_values=final_values)
    following = np.append(values[1:], last_values[None], axis=0)
    np.copyto(following, final_values, where=truncated)
    np.copyto(following, 0.0, where=terminated)
    deltas = rewards + gamma * following - values
    decay = (gamma * gae_lambda) * ~(terminated | truncated)
    advantages = np.empty(rewards.shape, dtype=np.float32)
    running = np.zeros(rewards.shape[1:])
    for step in range(len(rewards) - 1, -1, -1):
        running = deltas[step] + decay[step] * running
        advantages[step] = running
    return advantages


def _check_shapes(rewards: np.ndarray, **arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        if array.shape != rewards.shape:
            raise ValueError(f"{name} has shape {array.shape}, expected that of rewards, {rewards.shape}.")
