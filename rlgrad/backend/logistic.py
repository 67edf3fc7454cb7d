"""The logistic function of raw arrays, to full relative precision where it is nearly zero too."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.backend.constants import HALF, ONE


@np.errstate(over="ignore")  # to infinity, whose reciprocal is the zero that is meant
def _by_exp(a: np.ndarray) -> np.ndarray:
    gate = np.asarray(np.negative(a))
    np.exp(gate, gate)
    gate += ONE[gate.dtype]
    return np.reciprocal(gate, gate)


def logistic(xp: Any, a: Any) -> Any:
    """``1 / (1 + exp(-a))`` as a new array of the same dtype."""
    if xp is not np:
        return 1 / (1 + xp.exp(-a))
    if a.itemsize == 2:
        return logistic(xp, a.astype(np.float32)).astype(a.dtype)
    return _by_exp(a) if a.size <= 1024 else _by_tanh(a)


def _by_tanh(a: np.ndarray) -> np.ndarray:
    """The fastest way for many numbers, which alone is good to absolute precision only."""
    half = HALF[a.dtype]
    gate = np.tanh(a * half)
    gate *= half
    gate += half
    low = a < -5
    if low.any():
        tail = np.exp(a[low])
        gate[low] = tail / (tail + 1)
    return gate
