"""Elements or channels dropped at random."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.inplace import assign, check_inplace
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of
from rlgrad.backend.random import Generator, default_generator

_dropout = Op("dropout", lambda xp, a, kept: a * kept, (lambda ns, g, kept: g * kept, None), node="MulBackward0")


def _kept(input: Tensor, p: float, shape: tuple[int, ...], generator: Generator | None) -> Any:
    """Ones for what stays and zeros for what is dropped, in the input's dtype."""
    array = input._array
    xp = module_of(array)
    if p == 1:
        return xp.zeros(shape, array.dtype)
    draw = np.float32 if array.dtype.itemsize <= 4 else np.float64
    return ((generator or default_generator).on(xp).random(shape, dtype=draw) >= p).astype(array.dtype)


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop(
    input: Tensor, p: float, training: bool, inplace: bool, generator: Generator | None, shape: tuple[int, ...]
) -> Tensor:
    """Drop in blocks: ``shape`` is that of the choices, which broadcast to the input's."""
    _check(p)
    if not training or p == 0:
        return input
    if inplace:
        check_inplace(input)
    kept = _kept(input, p, shape, generator)
    if p < 1:
        kept *= 1.0 / (1.0 - p)
    result = apply(_dropout, (input, wrap(kept)))
    return assign(input, result) if inplace else result


def _channels(input: Tensor, lead: int) -> tuple[int, ...]:
    """The input's shape with everything after the first ``lead`` dimensions of extent one."""
    shape = input._array.shape
    return shape[:lead] + (1,) * (len(shape) - lead)


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Zero elements with probability ``p`` and scale the rest by ``1 / (1 - p)`` (Srivastava et al., 2014).

    Args:
        generator: the source of randomness; the default generator when not given.
    """
    return _drop(input, p, training, inplace, generator, input._array.shape)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, length)``, or without the batch."""
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _drop(input, p, training, inplace, None, _channels(input, input.ndim - 1))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, height, width)``, or of ``(batch, channels, length)``."""
    _check(p)
    if input.ndim != 4:
        warnings.warn(
            f"dropout2d: expected 4D input, but received a {input.ndim}D input; the first two dimensions are taken for batch "
            "and channels. Use dropout1d for 3D inputs with a batch.",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, None, _features(input))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, depth, height, width)``, or without the batch."""
    _check(p)
    if input.ndim not in (4, 5):
        warnings.warn(f"dropout3d: Expected 4D or 5D input, but received a {input.ndim}D input.", stacklevel=2)
    return _drop(input, p, training, inplace, None, _features(input) if input.ndim == 5 else _channels(input, 1))


def _features(input: Tensor) -> tuple[int, ...]:
    if input.ndim < 2:
        raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {input.ndim}")
    return _channels(input, 2)


_SATURATION = 1.7580993408473766  # of SELU at minus infinity, with the sign turned


def _alpha_drop(input: Tensor, p: float, training: bool, inplace: bool, whole_channels: bool) -> Tensor:
    """Klambauer et al. (2017), appendix: dropped elements take SELU's least value, then scale and shift restore both moments."""
    _check(p)
    if not training or p == 0:
        return input
    if inplace:
        check_inplace(input)
    kept = _kept(input, p, _features(input) if whole_channels else input._array.shape, None)
    if p == 1:
        result = apply(_dropout, (input, wrap(kept)))
        return assign(input, result) if inplace else result
    scale = 1 / math.sqrt((_SATURATION * _SATURATION * p + 1) * (1 - p))
    shift = (kept - 1) * (_SATURATION * scale) + _SATURATION * scale * p
    result = apply(_dropout, (input, wrap(kept * scale))) + wrap(shift)
    return assign(input, result) if inplace else result


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of :func:`selu`'s outputs (Klambauer et al., 2017)."""
    return _alpha_drop(input, p, training, inplace, False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole channels of ``(batch, channels, *)``."""
    return _alpha_drop(input, p, training, inplace, True)


__all__: Sequence[str] = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]
