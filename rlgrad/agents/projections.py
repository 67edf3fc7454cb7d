"""Targets and losses of Q-learning, of values and of their distributions."""

from __future__ import annotations

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.nn import functional as F

__all__ = ["project_categorical", "quantile_huber_loss"]


def project_categorical(
    probabilities: np.ndarray, rewards: np.ndarray, discounts: np.ndarray, v_min: float, v_max: float
) -> np.ndarray:
    """The distribution of `r + discount * Z`, moved onto the support that Z has.

    The support is `atoms` values from `v_min` to `v_max` in equal steps. Each moved atom splits its
    probability between its two neighbours in proportion to closeness; one that falls on an atom gives it
    all, and one outside goes to the nearest end.

    Args:
        probabilities: (batch, atoms) of Z.
        rewards: (batch,).
        discounts: (batch,), 0 where nothing follows.
        v_min, v_max: ends of the support.

    Returns:
        (batch, atoms) float32, each row with the sum that it came with.

    Example:
        >>> project_categorical(np.array([[0.0, 1.0, 0.0]]), np.array([0.5]), np.array([1.0]), 0.0, 2.0)
        array([[0. , 0.5, 0.5]], dtype=float32)

    Source: Bellemare, Dabney and Munos, A Distributional Perspective on Reinforcement Learning (2017),
    equation 7 and algorithm 1.
    """
    batch, atoms = probabilities.shape
    step = (v_max - v_min) / (atoms - 1)
    support = np.linspace(v_min, v_max, atoms)
    moved = rewards[:, None] + discounts[:, None].astype(np.float64) * support
    place = (moved.clip(v_min, v_max) - v_min) / step
    lower = np.minimum(place.astype(np.int64), atoms - 2)
    share = (place - lower).clip(0.0, 1.0) * probabilities
    flat = (lower + np.arange(batch)[:, None] * atoms).ravel()
    size = batch * atoms
    result = np.bincount(flat, (probabilities - share).ravel(), size)
    result += np.bincount(flat + 1, share.ravel(), size)
    return result.reshape(batch, atoms).astype(np.float32)


def quantile_huber_loss(quantiles: Tensor, targets: Tensor) -> Tensor:
    """Regression of quantiles at the midpoints `(2 i + 1) / 2 N` onto samples of the target.

    `sum_i mean_j |tau_i - 1(u_ij < 0)| L(u_ij)` with `u_ij = target_j - quantile_i` and the Huber loss L.

    Args:
        quantiles: (batch, N).
        targets: (batch, M), not differentiated.

    Returns:
        (batch,) losses.

    Source: Dabney et al., Distributional Reinforcement Learning with Quantile Regression (2018), equation 10
    and algorithm 1.
    """
    batch, number = quantiles.shape
    shape = (batch, number, targets.shape[1])
    here, there = quantiles.unsqueeze(2).expand(shape), targets.unsqueeze(1).expand(shape)
    midpoints = (rlgrad.arange(number, device=quantiles.device).unsqueeze(1) + 0.5) / number
    with rlgrad.no_grad():
        weights = (midpoints - (there < here).to(quantiles.dtype)).abs()
    return (F.smooth_l1_loss(here, there, reduction="none") * weights).mean(2).sum(1)
