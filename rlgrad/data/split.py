"""The split that every data set here shares: the same on every machine and with every release of NumPy."""

from __future__ import annotations

import numpy as np

from rlgrad.backend.errors import nearest

SPLITS = ("train", "test", "all")

GOLDEN = 2654435769
"""2**32 over the golden ratio: multiples of it are spread evenly (Knuth, volume 3, section 6.4)."""


def rows_of(split: str, total: int) -> np.ndarray:
    """Indices of a split: one sample in five is for testing, the others are for training.

    Which ones goes by the multiplicative hash of the index, so that in data sorted by class, or where the classes take
    turns, every class has its share of both.

    Args:
        split: ``"train"``, ``"test"`` or ``"all"``.
        total: samples there are.

    Raises:
        ValueError: for another name.

    Example:
        >>> rows_of("test", 12).tolist()
        [0, 5, 10]
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; there are {', '.join(SPLITS)}.{nearest(split, SPLITS)}")
    rows = np.arange(total)
    tested = rows * GOLDEN % 2**32 < 2**32 // 5
    return rows if split == "all" else rows[tested == (split == "test")]
