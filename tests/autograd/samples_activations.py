"""Sample inputs for activation functions; every number is away from their kinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def s(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def _plain(*options: dict[str, Any]) -> Callable[[Any], list[Any]]:
    """Vectors, a number and an empty tensor, with each of the options."""

    def make(m: Any) -> list[Any]:
        shapes = [(2, 3), (), (0, 2), (3, 1, 4)]
        return [s(np.asarray(m.distinct(*shape) * 1.7), **option) for shape in shapes for option in ({}, *options)]

    return make


def _gated(m: Any) -> list[Any]:
    return [s(m.normal(2, 4)), s(m.normal(4, 3), 0), s(m.normal(2, 6, 2), dim=1)]


def _learned(m: Any) -> list[Any]:
    x = m.distinct
    return [s(x(2, 3), m.normal(3)), s(x(2, 3, 2), m.normal(1)), s(x(2), m.normal(1)), s(x(), np.asarray(m.normal()))]


ACTIVATIONS: dict[str, Callable[[Any], list[Any]]] = {
    "celu": _plain({"alpha": 0.6}),
    "glu": _gated,
    "hardshrink": _plain({"lambd": 0.8}),
    "hardsigmoid": _plain(),
    "hardswish": _plain(),
    "hardtanh": _plain({"min_val": -0.3, "max_val": 0.8}),
    "mish": _plain(),
    "prelu": _learned,
    "relu6": lambda m: [s(m.distinct(5, 8)), *_plain()(m)],
    "rrelu": _plain({"lower": 0.2, "upper": 0.9}),
    "selu": _plain(),
    "softmin": lambda m: [s(m.normal(2, 3), 1), s(m.normal(2, 3), dim=0)],
    "softshrink": _plain({"lambd": 0.8}),
    "softsign": _plain(),
    "tanhshrink": _plain(),
    "threshold": lambda m: [s(m.distinct(2, 3), 0.2, 5.0), s(m.distinct(), -0.1, 0.3)],
}
"""Activations by name in ``nn.functional``."""
