"""Samples for running reductions, products and order statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


def _zeros(m: Maker) -> np.ndarray:
    return np.array([[1.5, 0.0, -2.0], [0.0, 0.5, 0.0], [2.0, 1.0, 3.0]])


def _along(m: Maker) -> list[Sample]:
    return [s(m.distinct(2, 3), 0), s(m.distinct(2, 3), -1), s(m.distinct(2, 3, 2), 1), s(m.distinct(), 0)]


def _medians(m: Maker) -> list[Sample]:
    return [s(m.distinct(7)), s(m.distinct(2, 3)), *_along(m), s(m.distinct(2, 4), 1, True), s(m.distinct())]


def _constant(array: np.ndarray) -> object:
    from .samples import Constant

    return Constant(array)


def _quantiles(m: Maker) -> list[Sample]:
    several = _constant(np.array([0.1, 0.5, 0.75]))
    return [
        s(m.distinct(7), 0.3),
        s(m.distinct(3, 4), 0.4, 0),
        s(m.distinct(3, 4), 0.4, 1, True),
        s(m.distinct(3, 4), several, -1),
        s(m.distinct(3, 4), several, 0, True),
        s(m.distinct(3, 4), several),
        s(m.distinct(2, 3), 0.25, keepdim=True),
        *[s(m.distinct(5), 0.3, interpolation=i) for i in ("lower", "higher", "midpoint", "nearest")],
    ]


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    "prod": lambda m: [
        s(m.distinct(2, 3)),
        s(m.distinct(2, 3), 0),
        s(m.distinct(2, 3, 2), -2, True),
        s(m.distinct()),
        s(_zeros(m)),
        s(_zeros(m), 0),
        s(_zeros(m), 1, True),
        s(np.array([0.0, 2.0, 3.0])),
        s(m.distinct(0)),
    ],
    "cumprod": lambda m: [*_along(m), s(_zeros(m), 0), s(_zeros(m), 1)],
    "cummax": _along,
    "cummin": _along,
    "logcumsumexp": lambda m: [*_along(m), s(m.normal(4) * 20, 0)],
    "diff": lambda m: [
        s(m.normal(4)),
        s(m.normal(3, 4), 2, 0),
        s(m.normal(2, 3), prepend=m.normal(2, 1), append=m.normal(2, 2)),
        s(m.normal(1), 2),
    ],
    "median": _medians,
    "nanmedian": _medians,
    "mode": lambda m: [s(m.distinct(5)), s(m.distinct(2, 3), 0), s(m.distinct(2, 3), 1, True)],
    "quantile": _quantiles,
    "nanquantile": _quantiles,
}

NAN = np.array([[1.0, np.nan, 3.0, -1.0], [2.0, 5.0, 4.0, 0.0], [np.nan, np.nan, 7.0, np.nan]])

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "histc": lambda m: [s(m.normal(9), 4), s(m.normal(9), 4, -1, 1), s(np.ones(3), 2)],
    "bincount": lambda m: [
        s(m.ints(5, 8)),
        s(m.ints(3, 4), minlength=6),
        s(m.ints(3, 4), _constant(m.positive(4))),
        s(m.ints(3, 0)),
    ],
}
