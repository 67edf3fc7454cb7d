"""How much of a known mixture a generator covers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

EVALUATION_SAMPLES = 2500
"""How many samples the published mode-coverage figures are taken from."""


@dataclass(frozen=True)
class ModeCoverage:
    """Mode-coverage figures of one set of samples (protocol of PacGAN, Lin et al. 2018, section 4.1).

    Args:
        modes: modes with at least one high-quality sample.
        total_modes: modes there are.
        high_quality: share of samples within the threshold of a centre, 0 to 1. Real data reach ``1 -
            exp(-4.5) = 0.989`` in the plane at the threshold of 3.
        reverse_kl: Kullback-Leibler divergence, in nats, of the high-quality samples' histogram over modes
            from the uniform one: 0 when they are spread evenly, ``log(total_modes)`` when all are on one
            mode, infinite when there are none.
    """

    modes: int
    total_modes: int
    high_quality: float
    reverse_kl: float

    def __str__(self) -> str:
        return (
            f"{self.modes}/{self.total_modes} modes, {100 * self.high_quality:.1f} % high quality, "
            f"reverse KL {self.reverse_kl:.4f}"
        )


def mode_coverage(samples: ArrayLike, centers: ArrayLike, sigma: float, threshold: float = 3.0) -> ModeCoverage:
    """Count the modes that samples reach, and how evenly.

    A sample belongs to its nearest centre and is of high quality when its Mahalanobis distance from that
    centre, ``|sample - centre| / sigma``, is below the threshold. A sample that is not finite is never of
    high quality.

    Args:
        samples: (n, features); published figures use n = 2,500.
        centers: (modes, features).
        sigma: standard deviation of every mode, in the units of the samples.
        threshold: Mahalanobis distance.

    Raises:
        ValueError: wrong shapes, no samples, or a sigma or threshold that is not positive.

    Example:
        >>> print(mode_coverage([[0.0, 0.1], [0.1, 0.0]], centers=[[0.0, 0.0], [9.0, 0.0]], sigma=0.1))
        1/2 modes, 100.0 % high quality, reverse KL 0.6931
    """
    points, means = np.asarray(samples, np.float64), np.asarray(centers, np.float64)
    if means.ndim != 2 or 0 in means.shape:
        raise ValueError(f"centers must have shape (modes, features); got shape {means.shape}")
    if points.ndim != 2 or points.shape[0] == 0 or points.shape[1] != means.shape[1]:
        raise ValueError(
            f"samples must have shape (n, {means.shape[1]}) with n of at least 1, to match centers of "
            f"shape {means.shape}; got shape {points.shape}"
        )
    if not (sigma > 0 and threshold > 0):
        raise ValueError(f"sigma and threshold must be positive; got sigma={sigma}, threshold={threshold}")
    n, total_modes = len(points), len(means)
    points = points[np.isfinite(points).all(axis=1)]
    squared = ((points[:, None, :] - means) ** 2).sum(axis=-1)
    nearest_center = squared.argmin(axis=1)
    is_high_quality = squared[np.arange(len(points)), nearest_center] < (threshold * sigma) ** 2
    counts = np.bincount(nearest_center[is_high_quality], minlength=total_modes)
    good = int(counts.sum())
    share = counts[counts > 0] / max(good, 1)
    return ModeCoverage(
        modes=int((counts > 0).sum()),
        total_modes=total_modes,
        high_quality=good / n,
        reverse_kl=float((share * np.log(share * total_modes)).sum()) if good else math.inf,
    )
