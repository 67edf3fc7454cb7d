"""Mixtures of Gaussians in the plane: data whose modes are known, so that coverage can be counted.

The parameters are those of PacGAN (Lin et al. 2018, section 4.1): eight modes on a circle of radius 1 with
standard deviation 0.01, and 25 modes on the square grid {-4, -2, 0, 2, 4}^2 with standard deviation 0.05.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


class GaussianMixture:
    """An endless source of samples from an equal mixture of isotropic Gaussians.

    It owns its generator: drawing from it neither reads nor moves any other source of randomness.

    Args:
        centers: (modes, features), the modes' means, all different.
        sigma: standard deviation of every mode, along every axis.
        seed: where its generator starts, or the ``numpy.random.Generator`` to own.

    Raises:
        ValueError: wrong shape, repeated centres, or a sigma that is not a positive number.

    Example:
        >>> GaussianMixture([[0.0, 0.0], [1.0, 0.0]], sigma=0.1).sample(3).shape
        (3, 2)
    """

    def __init__(self, centers: ArrayLike, sigma: float, seed: int | np.random.Generator | None = None) -> None:
        self.centers = np.array(centers, dtype=np.float64)
        if self.centers.ndim != 2 or 0 in self.centers.shape:
            raise ValueError(f"centers must have shape (modes, features); got shape {self.centers.shape}")
        if not np.isfinite(self.centers).all():
            raise ValueError(f"centers must be finite; got {self.centers.tolist()}")
        if len(np.unique(self.centers.round(12), axis=0)) != len(self.centers):
            raise ValueError(
                f"the {len(self.centers)} centers must all be different, or a mode would be counted twice; "
                f"only {len(np.unique(self.centers.round(12), axis=0))} are"
            )
        if not (np.isfinite(sigma) and sigma > 0):
            raise ValueError(f"sigma must be a positive number; got {sigma}")
        self.sigma = float(sigma)
        self.rng = np.random.default_rng(seed)

    @property
    def modes(self) -> int:
        """How many Gaussians there are."""
        return self.centers.shape[0]

    @property
    def features(self) -> int:
        """Length of one sample."""
        return self.centers.shape[1]

    @property
    def scale(self) -> float:
        """Standard deviation of the centres' coordinates; samples divided by it suit a network."""
        return float(self.centers.std()) or 1.0

    def sample(self, n: int) -> np.ndarray:
        """Draw ``n`` samples.

        Returns:
            (n, features), float32.

        Raises:
            ValueError: ``n`` is negative.
        """
        if n < 0:
            raise ValueError(f"n must be at least 0; got {n}")
        noise = self.rng.standard_normal((n, self.features))
        return (self.centers[self.rng.integers(self.modes, size=n)] + self.sigma * noise).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """What the mixture is and where its generator stands, as plain numbers and arrays."""
        return {"centers": self.centers.copy(), "sigma": self.sigma, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` gave, on the same mixture.

        Raises:
            ValueError: the state belongs to a different mixture.
        """
        same = np.array_equal(np.asarray(state["centers"], np.float64), self.centers)
        if not same or state["sigma"] != self.sigma:
            raise ValueError(
                f"the state belongs to another mixture: {len(state['centers'])} modes with sigma "
                f"{state['sigma']} were saved, this one has {self.modes} modes with sigma {self.sigma}"
            )
        self.rng.bit_generator.state = state["rng"]

    def __repr__(self) -> str:
        return f"GaussianMixture(modes={self.modes}, features={self.features}, sigma={self.sigma})"


def ring(
    modes: int = 8, radius: float = 1.0, sigma: float = 0.01, seed: int | np.random.Generator | None = None
) -> GaussianMixture:
    """Gaussians evenly spaced on a circle.

    Args:
        modes: how many; the last is one step short of the first, so that all are different.
        radius: of the circle around the origin.
        sigma: standard deviation of each Gaussian.
        seed: of the samples.
    """
    if modes < 1 or not radius > 0:
        raise ValueError(f"a ring needs at least 1 mode and a positive radius; got modes={modes}, radius={radius}")
    angles = 2 * np.pi * np.arange(modes) / modes
    return GaussianMixture(radius * np.stack([np.cos(angles), np.sin(angles)], axis=1), sigma, seed)


def grid(
    side: int = 5, spacing: float = 2.0, sigma: float = 0.05, seed: int | np.random.Generator | None = None
) -> GaussianMixture:
    """Gaussians on a square grid around the origin.

    Args:
        side: modes along each axis, ``side * side`` in all.
        spacing: distance between neighbours along an axis.
        sigma: standard deviation of each Gaussian.
        seed: of the samples.
    """
    if side < 1 or not spacing > 0:
        raise ValueError(f"a grid needs side of at least 1 and a positive spacing; got side={side}, spacing={spacing}")
    axis = spacing * (np.arange(side) - (side - 1) / 2)
    return GaussianMixture(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2), sigma, seed)
