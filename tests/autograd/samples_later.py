"""Samples for the operations that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


def _library(x: Any) -> Any:
    return sys.modules[type(x).__module__.split(".")[0]]


def _special(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(_library(args[-1]).special, name)(*args)


class _Fixed:
    """An argument that gets no gradient, as an array made by the tensor's library."""

    def __init__(self, function: Callable[..., Any], value: Any) -> None:
        self.function, self.value = function, value

    def __call__(self, x: Any) -> Any:
        return self.function(_library(x).from_numpy(self.value), x)


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    "i0": lambda m: [s(m.normal(2, 3)), s(m.normal())],
}
VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "igamma": lambda m: [s(m.positive(3), m.positive(2, 3))],
    "igammac": lambda m: [s(m.positive(3), m.positive(2, 3))],
}
EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[[Maker], list[np.ndarray]]]] = {
    **{
        f"special.{name}": (_special(name), lambda m: [m.normal(2, 3)])
        for name in ("i0e", "i1", "i1e", "ndtr", "log_ndtr", "erfcx")
    },
    "special.ndtri": (_special("ndtri"), lambda m: [m.positive(2, 3) / 2.1]),
    "special.entr": (_special("entr"), lambda m: [m.positive(2, 3)]),
    "special.xlog1py": (_special("xlog1py"), lambda m: [m.normal(2, 3), m.positive(3)]),
    "special.zeta": (lambda x: _special("zeta")(2.5, x), lambda m: [m.positive(3)]),
    "igamma of a constant": (
        _Fixed(lambda a, x: a.igamma(x), np.array([0.7, 1.5, 2.5])),
        lambda m: [m.positive(2, 3)],
    ),
    "igammac of a constant": (
        _Fixed(lambda a, x: a.igammac(x), np.array([0.7, 1.5, 2.5])),
        lambda m: [m.positive(2, 3)],
    ),
}
