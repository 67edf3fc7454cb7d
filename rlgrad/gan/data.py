"""Where the real samples come from, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.backend.errors import nearest
from rlgrad.data.mixtures import GaussianMixture, grid, ring
from rlgrad.gan.files import images, npz
from rlgrad.gan.sources import ArraySource, MixtureSource, Seed, Source

__all__ = ["DATA", "as_source", "make_data"]


def _mixture(build: Callable[..., GaussianMixture]) -> Callable[..., Source]:
    def source(seed: Seed = None, **options: Any) -> Source:
        return MixtureSource(build(seed=seed, **options))

    source.__annotations__ = build.__annotations__
    source.__wrapped__ = build  # type: ignore[attr-defined]
    return source


def _bundled(name: str) -> Callable[..., Source]:
    def source(seed: Seed = None) -> Source:
        from rlgrad import data

        train, test = (getattr(data, name)(split, (-1.0, 1.0)).tensors for split in ("train", "test"))
        return ArraySource(train[0].numpy(), train[1].numpy(), test[0].numpy(), seed, name)

    return source


def _shape_in_the_plane(name: str) -> Callable[..., Source]:
    def source(n: int = 20_000, noise: float = 0.05, seed: Seed = None) -> Source:
        from rlgrad import data

        build = getattr(data, name)
        # The points are the same whatever the seed, which decides on their order alone.
        train, test = (build(n, noise, 0, split).tensors[0].numpy() for split in ("train", "test"))
        return ArraySource(train, None, test, seed, name, {"n": n, "noise": noise})

    return source


DATA: dict[str, Callable[..., Source]] = {
    "ring": _mixture(ring),
    "grid": _mixture(grid),
    "digits": _bundled("digits"),
    "mnist5k": _bundled("mnist5k"),
    "swiss_roll": _shape_in_the_plane("swiss_roll"),
    "two_moons": _shape_in_the_plane("two_moons"),
    "npz": npz,
    "images": images,
}


def make_data(name: str, seed: Seed = None, **options: Any) -> Source:
    """Build a data source by name.

    Args:
        name: a key of :data:`DATA`.
        seed: of its samples, or of their order.
        options: that source's own settings, for instance ``modes=12`` for the ring.

    Raises:
        ValueError: no source has that name, or it has no such setting.

    Example:
        >>> make_data("grid", seed=0, side=3).mixture
        GaussianMixture(modes=9, features=2, sigma=0.05)
    """
    if name not in DATA:
        raise ValueError(f"unknown data {name!r}; known data: {', '.join(sorted(DATA))}.{nearest(name, DATA)}")
    build = DATA[name]
    known = [parameter for parameter in build.__annotations__ if parameter not in ("seed", "return")]
    for option in options:
        if option not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"data {name!r} has no setting {option!r}; {has}.{nearest(option, known)}")
    return build(seed=seed, **options)


def as_source(data: str | Source | GaussianMixture, seed: Seed) -> Source:
    """A source by name, which draws from ``seed``; or one that was made before, which keeps its own generator."""
    if isinstance(data, str):
        return make_data(data, seed)
    return MixtureSource(data) if isinstance(data, GaussianMixture) else data
