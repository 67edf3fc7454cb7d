"""Clipping gradients, all in one pass over a joined buffer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def _total_norm(arrays: list[Any], norm_type: float) -> Any:
    xp = module_of(arrays[0])
    if norm_type == math.inf:
        return xp.stack([abs(a).max() if a.size else a.sum() for a in arrays]).max()
    if norm_type == 2.0:
        total = arrays[0].dtype.type(0)
        for a in arrays:
            flat = a.ravel()
            total = total + flat.dot(flat)
        return xp.sqrt(total)
    return sum((abs(a) ** norm_type).sum() for a in arrays) ** (1.0 / norm_type)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The norm of all elements of several tensors."""
    arrays = [t._array for t in ([tensors] if isinstance(tensors, Tensor) else tensors)]
    if not arrays:
        return wrap(np.zeros((), np.float32))
    total = _total_norm(arrays, float(norm_type))
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(total)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    """Scale all gradients in place so that their joint norm is at most ``max_norm``; return the norm before.

    Args:
        norm_type: order of the norm, possibly ``inf``.
        error_if_nonfinite: raise when the norm is NaN or infinite.
    """
    gradients = _gradients(parameters)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    if gradients:
        scale = float(max_norm) / (float(total._array) + 1e-6)
        if not scale >= 1.0:
            for gradient in gradients:
                gradient._array *= gradient._array.dtype.type(scale)
                gradient._cell[0] += 1
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: Any = None) -> None:
    """Limit every gradient element to ``[-clip_value, clip_value]`` in place."""
    for gradient in _gradients(parameters):
        gradient.clamp_(-clip_value, clip_value)
