"""Synthetic shapes in the plane, with the numbers that tell where on the shape a point lies."""

from __future__ import annotations

import numpy as np

from rlgrad.autograd.tensor import wrap
from rlgrad.data.dataset import TensorDataset
from rlgrad.data.split import rows_of


def swiss_roll(
    n: int = 1000, noise: float = 0.05, seed: int | np.random.Generator | None = None, split: str = "all"
) -> TensorDataset:
    """Points on a spiral of one and a half to four and a half half-turns, scaled to a radius of 1.

    Args:
        n: points before the split.
        noise: standard deviation of what is added to each coordinate.
        seed: of the points.
        split: ``"train"``, ``"test"`` (one in five) or ``"all"``.

    Returns:
        Points (n, 2), float32, and how far along the spiral each lies (n,), float32 from 0 to 1.

    Raises:
        ValueError: for fewer than no points or a negative noise.
    """
    rng = _checked(n, noise, seed)
    along = rng.random(n)
    angle = 1.5 * np.pi * (1 + 2 * along)
    points = (angle / (4.5 * np.pi))[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _dataset(points + noise * rng.standard_normal((n, 2)), along.astype(np.float32), split)


def two_moons(
    n: int = 1000, noise: float = 0.05, seed: int | np.random.Generator | None = None, split: str = "all"
) -> TensorDataset:
    """Points on two half circles of radius 1 that reach into each other.

    Args:
        n: points before the split, half of them on each.
        noise: standard deviation of what is added to each coordinate.
        seed: of the points.
        split: ``"train"``, ``"test"`` (one in five) or ``"all"``.

    Returns:
        Points (n, 2), float32, and which moon each lies on (n,), int64.

    Raises:
        ValueError: for fewer than no points or a negative noise.
    """
    rng = _checked(n, noise, seed)
    moon = rng.permutation(np.arange(n) % 2)
    angle = np.pi * rng.random(n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    points = np.where(moon[:, None] == 0, upper, lower)
    return _dataset(points + noise * rng.standard_normal((n, 2)), moon.astype(np.int64), split)


def _checked(n: int, noise: float, seed: int | np.random.Generator | None) -> np.random.Generator:
    if n < 0 or not noise >= 0:
        raise ValueError(f"n and noise must be at least 0; got n={n}, noise={noise}")
    return np.random.default_rng(seed)


def _dataset(points: np.ndarray, labels: np.ndarray, split: str) -> TensorDataset:
    rows = rows_of(split, len(points))
    return TensorDataset(wrap(points[rows].astype(np.float32)), wrap(labels[rows]))
