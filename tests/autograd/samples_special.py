"""Samples for special functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    **{name: lambda m: [s(m.normal(2, 3)), s(m.normal()), s(m.normal(0))] for name in ("erf", "erfc")},
    "erfinv": lambda m: [s(m.unit(2, 3)), s(m.unit())],
    "lgamma": lambda m: [s(m.positive(2, 3)), s(m.distinct(5) * 3)],
    "digamma": lambda m: [s(m.positive(2, 3)), s(m.positive())],
    "polygamma": lambda m: [s(0, m.positive(3)), s(1, m.positive(2, 2)), s(2, m.positive(3))],
    "mvlgamma": lambda m: [s(m.positive(3) + 2, 3)],
    "xlogy": lambda m: [
        s(m.normal(2, 3), m.positive(3)),
        s(m.normal(3), 2.0),
        s(1.5, m.positive(3)),
        s(np.array([0.5, 2.0]), m.positive(2, 2)),
    ],
    "logit": lambda m: [
        s(m.positive(2, 3) / 2.5),
        s(np.array([0.05, 0.4, 0.97]), 0.1),
        s(np.asarray(m.positive() / 2.5)),
    ],
    "sinc": lambda m: [s(m.normal(2, 3)), s(m.normal())],
}

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {}
