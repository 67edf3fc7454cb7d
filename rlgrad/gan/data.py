"""Where the real samples come from, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.backend.errors import nearest
from rlgrad.data.mixtures import GaussianMixture, grid, ring

__all__ = ["DATA", "GaussianMixture", "grid", "make_data", "ring"]

DATA: dict[str, Callable[..., GaussianMixture]] = {"ring": ring, "grid": grid}


def make_data(name: str, seed: int | np.random.Generator | None = None, **options: Any) -> GaussianMixture:
    """Build a data source by name.

    Args:
        name: a key of :data:`DATA`.
        seed: of its samples.
        options: that source's own settings, for instance ``modes=12`` for the ring.

    Raises:
        ValueError: no source has that name, or it has no such setting.

    Example:
        >>> make_data("grid", seed=0, side=3)
        GaussianMixture(modes=9, features=2, sigma=0.05)
    """
    if name not in DATA:
        raise ValueError(f"unknown data {name!r}; known data: {', '.join(sorted(DATA))}.{nearest(name, DATA)}")
    build = DATA[name]
    known = [parameter for parameter in build.__annotations__ if parameter not in ("seed", "return")]
    for option in options:
        if option not in known:
            raise ValueError(
                f"data {name!r} has no setting {option!r}; it has {', '.join(known)}.{nearest(option, known)}"
            )
    return build(seed=seed, **options)
