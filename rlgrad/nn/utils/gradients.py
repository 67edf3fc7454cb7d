"""Clipping gradients, with as few array calls as it takes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from rlgrad.autograd.graph import LeafNode
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

_ndarray = np.ndarray


def _gradients(parameters: Tensor | Iterable[Tensor]) -> tuple[list[Any], list[list[int]]]:
    """The gradients as raw arrays, and the version cells of those that somebody holds as tensors."""
    arrays: list[Any] = []
    cells: list[list[int]] = []
    for parameter in (parameters,) if isinstance(parameters, Tensor) else parameters:
        edge = parameter._edge
        gradient = edge.grad if edge.__class__ is LeafNode else parameter.grad
        if gradient.__class__ is _ndarray:
            arrays.append(gradient)
        elif isinstance(gradient, Tensor):
            arrays.append(gradient._array)
            cells.append(gradient._cell)
        elif gradient is not None:
            arrays.append(gradient)
    return arrays, cells


def _total_norm(arrays: list[Any], norm_type: float) -> Any:
    """The norm of all elements, as a NumPy scalar or, on a GPU, an array with one element."""
    if not arrays:
        return np.float32(0)
    if norm_type == 2.0:
        total = 0.0
        for array in arrays:
            flat = array.ravel()
            total += flat.dot(flat)
        return arrays[0].dtype.type(math.sqrt(total)) if arrays[0].__class__ is _ndarray else total**0.5
    parts = [abs(array) for array in arrays]
    if math.isinf(norm_type):
        extreme = "max" if norm_type > 0 else "min"
        found = module_of(arrays[0]).stack([getattr(p, extreme)() if p.size else p.sum() for p in parts])
        return getattr(found, extreme)()
    if norm_type == 0.0:  # as in PyTorch, of the norms of the tensors: how many of them are not zero
        return arrays[0].dtype.type(sum(bool(p.any()) for p in parts))
    return sum((p**norm_type).sum() for p in parts) ** (1.0 / norm_type)


def _check_finite(total: Any, norm_type: float) -> None:
    if not math.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The norm of all elements of several tensors.

    Args:
        tensors: one or more, often gradients.
        norm_type: order of the norm, possibly ``inf``.
        error_if_nonfinite: raise when the norm is NaN or infinite.
        foreach: accepted for PyTorch's sake; there is one implementation.

    Raises:
        RuntimeError: for a norm that is not finite, when asked to.
    """
    total = _total_norm([t._array for t in ([tensors] if isinstance(tensors, Tensor) else tensors)], float(norm_type))
    if error_if_nonfinite:
        _check_finite(total, norm_type)
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
        parameters: those without a gradient are left out.
        max_norm: the largest norm that is let pass.
        norm_type: order of the norm, possibly ``inf``.
        error_if_nonfinite: raise when the norm is NaN or infinite.
        foreach: accepted for PyTorch's sake; there is one implementation.

    Raises:
        RuntimeError: for a norm that is not finite, when asked to.

    Example:
        >>> import rlgrad
        >>> p = rlgrad.zeros(2, requires_grad=True)
        >>> p.grad = rlgrad.tensor([3.0, 4.0])
        >>> rlgrad.nn.utils.clip_grad_norm_([p], 1.0)
        tensor(5.)
    """
    arrays, cells = _gradients(parameters)
    total = _total_norm(arrays, float(norm_type))
    if error_if_nonfinite:
        _check_finite(total, norm_type)
    _scale(arrays, cells, max_norm, total)
    return wrap(total)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    """:func:`clip_grad_norm_` under its name from before PyTorch 0.4."""
    warnings.warn("clip_grad_norm is deprecated: use clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: Any = None
) -> None:
    """Scale all gradients in place as :func:`clip_grad_norm_` does, for a norm that is known already."""
    arrays, cells = _gradients(parameters)
    _scale(arrays, cells, max_norm, total_norm._array)


def _scale(arrays: list[Any], cells: list[list[int]], max_norm: float, total: Any) -> None:
    if not arrays:
        return
    if arrays[0].__class__ is _ndarray:
        scale = float(max_norm) / (float(total) + 1e-6)
        if scale >= 1.0:
            return
        factor = None
        for array in arrays:
            if factor is None or factor.dtype is not array.dtype:
                factor = np.asarray(scale, array.dtype)
            np.multiply(array, factor, array)
    else:  # without asking the GPU for the number
        xp = module_of(arrays[0])
        scale = xp.minimum(float(max_norm) / (total + 1e-6), 1.0)
        for array in arrays:
            array *= scale.astype(array.dtype)
    for cell in cells:
        cell[0] += 1


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: Any = None) -> None:
    """Limit every gradient element to ``[-clip_value, clip_value]`` in place.

    Args:
        parameters: those without a gradient are left out.
        clip_value: the largest size that is let pass.
        foreach: accepted for PyTorch's sake; there is one implementation.
    """
    arrays, cells = _gradients(parameters)
    for array in arrays:
        module_of(array).clip(array, -float(clip_value), float(clip_value), out=array)
    for cell in cells:
        cell[0] += 1
