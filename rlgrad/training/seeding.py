"""One seed for a run, one independent generator for each purpose in it."""

from __future__ import annotations

import zlib

import numpy as np


def spawn_generators(seed: int, *names: str) -> dict[str, np.random.Generator]:
    """Make one independent generator per name from a single seed.

    A generator depends on the seed and its own name alone, so a run that later needs one more source of
    randomness leaves the others' draws as they were.

    Args:
        seed: non-negative integer.
        names: what each generator is for, such as ``"environment"`` or ``"exploration"``.

    Raises:
        ValueError: the seed is negative.

    Example:
        >>> first = spawn_generators(0, "environment", "exploration")["exploration"].random()
        >>> first == spawn_generators(0, "exploration")["exploration"].random()
        True
    """
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer, got {seed}")
    return {
        name: np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),))))
        for name in names
    }
