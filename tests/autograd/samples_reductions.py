"""Samples for reductions beyond the basic ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


def _moments(m: Maker) -> list[Sample]:
    return [
        s(m.normal(5)),
        s(m.normal(3, 4), 0),
        s(m.normal(3, 4), (0, 1), keepdim=True),
        s(m.normal(3, 4), 1, correction=0),
        s(m.normal(3, 4), unbiased=False),
    ]


def _sums(m: Maker) -> list[Sample]:
    return [s(m.normal(2, 3)), s(m.normal()), s(m.normal(2, 3), 0), s(m.normal(2, 3, 2), (0, -1), True)]


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    "var_mean": _moments,
    "std_mean": _moments,
    "aminmax": lambda m: [s(m.distinct(2, 3)), s(m.distinct(2, 3), dim=0), s(m.distinct(2, 3), dim=-1, keepdim=True)],
    "nansum": _sums,
    "nanmean": _sums,
    "trace": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 4)), s(m.normal(3, 2))],
}

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "count_nonzero": lambda m: [
        s(m.ints(2, 3, 4)),
        s(m.ints(2, 3, 4), 0),
        s(m.ints(2, 3, 4), (0, 1)),
        s(np.array([0.0, np.nan])),
    ],
}
