"""Figures from nearest neighbours: how good samples are, how much of the data they cover, and whether they are copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Neighbourhood", "neighbourhood_figures", "share_of_copies", "squared_distances"]

COPIES_OF_NEW = 0.01
"""The share of genuinely new samples that count as copies."""


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, m) squared Euclidean distances between the rows of (n, d) and (m, d), not below 0."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.maximum((a * a).sum(1)[:, None] - 2 * a @ b.T + (b * b).sum(1), 0.0)


def nearest_squared(a: np.ndarray, b: np.ndarray, at_a_time: int = 512) -> np.ndarray:
    """(n,) squared distances from each row of (n, d) to the nearest of (m, d), in memory for a few rows at a time."""
    starts = range(0, len(a), at_a_time)
    return np.concatenate([squared_distances(a[start : start + at_a_time], b).min(axis=1) for start in starts])


@dataclass(frozen=True)
class Neighbourhood:
    """Figures of one set of samples against real ones.

    Args:
        precision: share of samples inside some real sample's neighbourhood (Kynkäänniemi et al. 2019).
        recall: share of real samples inside some generated sample's neighbourhood.
        density: how many real neighbourhoods a sample lies in, over k; may exceed 1 (Naeem et al. 2020).
        coverage: share of real samples with a generated one in their neighbourhood.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def neighbourhood_figures(samples: np.ndarray, real: np.ndarray, k: int = 3) -> Neighbourhood:
    """Precision, recall, density and coverage; a neighbourhood reaches to the k-th nearest of its own set.

    Args:
        samples: (n, ...), generated.
        real: (m, ...).
        k: neighbours, fewer than n and m.

    Raises:
        ValueError: too few samples, or samples of another size.
    """
    fake, true = samples.reshape(len(samples), -1), real.reshape(len(real), -1)
    if fake.shape[1] != true.shape[1]:
        raise ValueError(f"samples have {fake.shape[1]} numbers each and the real ones {true.shape[1]}")
    if k < 1 or min(len(fake), len(true)) <= k:
        raise ValueError(f"k={k} neighbours need more than {k} samples; got {len(fake)} and {len(true)} real ones")
    across = squared_distances(true, fake)
    around_real, around_fake = (np.partition(squared_distances(x, x), k, axis=1)[:, k] for x in (true, fake))
    inside_real = across <= around_real[:, None]
    inside_fake = across <= around_fake[None, :]
    return Neighbourhood(
        precision=float(inside_real.any(axis=0).mean()),
        recall=float(inside_fake.any(axis=1).mean()),
        density=float(inside_real.sum(axis=0).mean() / k),
        coverage=float(inside_real.any(axis=1).mean()),
    )


def share_of_copies(samples: np.ndarray, real: np.ndarray, held_out: np.ndarray) -> float:
    """Share of samples that lie nearer to a real one than the real ones lie to each other.

    The threshold is the first percentile of the distances from held-out samples to the nearest real one: genuinely new
    samples fall below it once in a hundred times.

    Args:
        samples: (n, ...), generated.
        real: (m, ...), what was trained on.
        held_out: (o, ...), real ones that were not.
    """
    fake, true, unseen = (x.reshape(len(x), -1) for x in (samples, real, held_out))
    threshold = np.quantile(nearest_squared(unseen, true), COPIES_OF_NEW)
    return float((nearest_squared(fake, true) < threshold).mean())
