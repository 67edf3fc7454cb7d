"""Samples for functions that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {}

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "tril_indices": lambda m: [s(3, 3), s(2, 4, 1), s(4, 2, -1), s(0, 3)],
    "triu_indices": lambda m: [s(3, 3), s(2, 4, 1), s(4, 2, -1), s(0, 3)],
    "scalar_tensor": lambda m: [s(3), s(2.5), s(True)],
    "zeros": lambda m: [s(2, 3), s((2, 0)), s(()), s(size=(2, 3))],
    "ones": lambda m: [s(2, 3), s((2, 0)), s([2]), s(size=(1,))],
    "arange": lambda m: [
        s(5),
        s(2, 7),
        s(1, 2, 0.25),
        s(5, 0, -2),
        s(0),
        s(1.0, 4.0),
        s(0, 1, 0.1),
        s(0.5),
        s(-3, 3, 2),
        s(2.0, -1.0, -0.75),
        s(7, 7),
    ],
}
