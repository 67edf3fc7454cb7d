"""Samples for arithmetic and pointwise functions beyond the basic ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


def _pair(m: Maker) -> list[Sample]:
    return [s(m.distinct(2, 3), m.distinct(2, 3) + 0.03), s(m.distinct(3), m.distinct(2, 1) + 0.03)]


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -1.5])

SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    "fmax": _pair,
    "fmin": _pair,
    "logaddexp2": lambda m: [s(m.normal(2, 3), m.normal(3)), s(m.normal(2), m.normal(2) * 30)],
    "copysign": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3)), s(m.distinct(3), -1.0), s(m.distinct(3), 2)],
    "float_power": lambda m: [s(m.positive(2, 3), m.normal(3)), s(m.positive(3), 2), s(2, m.normal(3))],
    "deg2rad": lambda m: [s(m.normal(2, 3)), s(m.normal())],
    "rad2deg": lambda m: [s(m.normal(2, 3)), s(m.normal())],
    "nan_to_num": lambda m: [s(m.normal(2, 3)), s(m.normal(3), 1.0)],
    "positive": lambda m: [s(m.normal(2, 3))],
}

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "heaviside": lambda m: [
        s(np.array([-1.0, 0.0, 2.0]), np.array(0.5)),
        s(np.array([-1, 0, 2]), np.array([3, 4, 5])),
    ],
    "signbit": lambda m: [s(SPECIAL), s(m.ints(5, 4) - 2), s(m.bools(3))],
    "isposinf": lambda m: [s(SPECIAL), s(m.ints(5, 4))],
    "isneginf": lambda m: [s(SPECIAL), s(m.ints(5, 4))],
    "isreal": lambda m: [s(SPECIAL)],
    "isin": lambda m: [
        s(m.ints(5, 4), m.ints(5, 2)),
        s(m.ints(5, 4), 3),
        s(m.ints(5, 2, 2), m.ints(5, 2), invert=True),
    ],
    **{
        name: lambda m: [s(m.ints(8, 4), m.ints(4, 4)), s(m.ints(8, 4), 2)]
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    },
}
