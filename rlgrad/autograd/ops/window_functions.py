"""Window functions of signal processing, which fade a stretch of samples in and out.

Source of the formulas: Harris (1978), "On the use of windows for harmonic analysis with the discrete Fourier transform".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.ops.creation import Device, _place
from rlgrad.autograd.ops.define import public
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes


def _window(
    name: str,
    length: Any,
    periodic: bool,
    shape: Callable[[np.ndarray], np.ndarray],
    dtype: Any,
    device: Device,
    requires_grad: bool,
) -> Tensor:
    """A window whose value at the fraction ``t`` of its width is ``shape(t)``."""
    if not isinstance(length, (int, np.integer)) or isinstance(length, bool):
        raise TypeError(f"{name}(): argument 'window_length' must be int, not {type(length).__name__}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind!r}")
    values = np.ones(length)
    if length > 1:
        values = shape(np.arange(length) / (length if periodic else length - 1))
    return _place(values.astype(kind.numpy), device, requires_grad)


def _cosines(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """``w0 - w1 cos(2 pi t) + w2 cos(4 pi t)``."""
    terms = [(-1) ** k * weight for k, weight in enumerate(weights)]
    return lambda t: sum((w * np.cos(2 * np.pi * k * t) for k, w in enumerate(terms)), np.zeros_like(t))


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hann window ``sin(pi t)^2``, of shape ``(window_length,)``.

    Args:
        window_length: how many samples.
        periodic: the last sample is left out, so that windows can follow one another; otherwise it is symmetric.

    Raises:
        RuntimeError: for a negative length, or a dtype that is not floating.

    Example:
        >>> import rlgrad
        >>> rlgrad.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, device, requires_grad)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    layout: Any = None, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hamming window ``alpha - beta cos(2 pi t)``; the other arguments are those of :func:`hann_window`.

    Example:
        >>> import rlgrad
        >>> rlgrad.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    shape = _cosines(alpha, beta)
    return _window("hamming_window", window_length, periodic, shape, dtype, device, requires_grad)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Blackman window ``0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)``; arguments as for :func:`hann_window`.

    Example:
        >>> import rlgrad
        >>> rlgrad.blackman_window(4).round(decimals=2).abs()
        tensor([0.0000, 0.3400, 1.0000, 0.3400])
    """
    shape = _cosines(0.42, 0.5, 0.08)
    return _window("blackman_window", window_length, periodic, shape, dtype, device, requires_grad)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The triangular window ``1 - |2t - 1|``; arguments as for :func:`hann_window`.

    Example:
        >>> import rlgrad
        >>> rlgrad.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window", window_length, periodic, lambda t: 1 - np.abs(2 * t - 1), dtype, device, requires_grad
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
    device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window ``I0(beta sqrt(1 - (2t - 1)^2)) / I0(beta)``; other arguments as for :func:`hann_window`.

    Args:
        beta: how narrow it is; 0 is a rectangle.

    Example:
        >>> import rlgrad
        >>> rlgrad.kaiser_window(3, periodic=False, beta=0.0)
        tensor([1., 1., 1.])
    """

    def shape(t: np.ndarray) -> np.ndarray:
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, shape, dtype, device, requires_grad)


__all__ = public(globals())
