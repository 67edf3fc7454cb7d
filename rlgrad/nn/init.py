"""Parameter initialisation, drawn from the default generator unless another is given."""

from __future__ import annotations

import functools
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import device_of, move
from rlgrad.backend.errors import nearest
from rlgrad.backend.random import Generator, default_generator

_GAINS: dict[str, Callable[[Any], float]] = {
    **{name: lambda _: 1.0 for name in ("linear", "sigmoid", "conv1d", "conv2d", "conv3d")},
    **{name: lambda _: 1.0 for name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")},
    "tanh": lambda _: 5.0 / 3,
    "relu": lambda _: math.sqrt(2.0),
    "leaky_relu": lambda slope: math.sqrt(2.0 / (1 + (0.01 if slope is None else slope) ** 2)),
    "selu": lambda _: 3.0 / 4,
}


I = TypeVar("I", bound=Callable[..., Tensor])  # noqa: E741 - an initialiser


class _Skipping(threading.local):
    active = False


_skipping = _Skipping()


@contextmanager
def skipped() -> Iterator[None]:
    """Within this block nothing is initialised, and no random numbers are drawn for it."""
    outer, _skipping.active = _skipping.active, True
    try:
        yield
    finally:
        _skipping.active = outer


def _initializer(function: I) -> I:
    @functools.wraps(function)
    def initialize(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return tensor if _skipping.active else function(tensor, *args, **kwargs)

    return initialize  # type: ignore[return-value]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity.

    Args:
        nonlinearity: ``"relu"``, ``"tanh"``, ``"leaky_relu"``, ``"linear"``, ...
        param: the negative slope of ``leaky_relu``.
    """
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}.{nearest(nonlinearity, _GAINS)}")
    if nonlinearity == "leaky_relu" and param is not None and type(param) not in (int, float):
        raise ValueError(f"negative_slope {param} not a valid number")
    return _GAINS[nonlinearity](param)


def _set(tensor: Tensor, values: np.ndarray) -> Tensor:
    with no_grad():
        return tensor.copy_(wrap(move(values.astype(tensor.dtype.numpy), device_of(tensor._array))))


def _stream(generator: Generator | None) -> np.random.Generator:
    return (generator or default_generator).numpy


@_initializer
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers in [a, b).

    Args:
        tensor: filled in place.
        a, b: bounds.
        generator: owns the draw, the default one unless given.
    """
    return _set(tensor, _stream(generator).uniform(a, b, tensor.shape))


@_initializer
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers.

    Args:
        tensor: filled in place.
        mean, std: of the numbers.
        generator: owns the draw, the default one unless given.
    """
    return _set(tensor, _stream(generator).normal(mean, std, tensor.shape))


@_initializer
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers, drawing again those outside [a, b].

    Args:
        a, b: bounds, in the units of the numbers and not of ``std``.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=3,
        )
    stream = _stream(generator)
    inside = 0.5 * (math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2)))
    peak = 0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # of the density, negative logarithm

    def draw(count: int) -> np.ndarray:
        """Candidates, those to be refused as NaN: normal ones, or uniform ones where few of the former would stay."""
        if inside > 0.3:
            values = stream.normal(mean, std, count)
            return np.where((values < a) | (values > b), np.nan, values)
        values = stream.uniform(a, b, count)
        refused = np.log(stream.random(count)) > peak - 0.5 * ((values - mean) / std) ** 2
        return np.where(refused, np.nan, values)

    values = draw(tensor.numel())
    while (missing := np.isnan(values)).any():
        values[missing] = draw(int(missing.sum()))
    return _set(tensor, values.reshape(tensor.shape))


@_initializer
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return _set(tensor, np.full(tensor.shape, val))


@_initializer
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


@_initializer
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


@_initializer
def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _set(tensor, np.eye(*tensor.shape))


@_initializer
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution kernel pass its input through.

    Args:
        tensor: kernel of a convolution in one to three dimensions, filled in place.
        groups: of the convolution.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tensor.shape)
    per_group = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, tensor.shape[1])):
            values[(group * per_group + channel, channel, *middle)] = 1
    return _set(tensor, values)


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


@_initializer
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform with variance ``2 gain^2 / (fan_in + fan_out)`` (Glorot and Bengio 2010).

    Args:
        tensor: two dimensions or more, filled in place.
        gain: factor of the spread, see :func:`calculate_gain`.
        generator: owns the draw, the default one unless given.
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


@_initializer
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance ``2 gain^2 / (fan_in + fan_out)`` (Glorot and Bengio 2010).

    Args:
        tensor: two dimensions or more, filled in place.
        gain: factor of the spread, see :func:`calculate_gain`.
        generator: owns the draw, the default one unless given.
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
    return tensor.numel() == 0


@_initializer
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform with variance ``gain^2 / fan`` (He et al. 2015).

    Args:
        tensor: two dimensions or more, filled in place.
        a: negative slope, for ``leaky_relu``.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: what follows, see :func:`calculate_gain`.
        generator: owns the draw, the default one unless given.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@_initializer
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with variance ``gain^2 / fan`` (He et al. 2015).

    Args:
        tensor: two dimensions or more, filled in place.
        a: negative slope, for ``leaky_relu``.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: what follows, see :func:`calculate_gain`.
        generator: owns the draw, the default one unless given.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@_initializer
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Rows (or columns, the fewer) orthonormal, times ``gain`` (Saxe et al. 2013).

    Args:
        tensor: two dimensions or more, all but the first taken together; filled in place.
        gain: factor, such as ``sqrt(2)`` before a ReLU.
        generator: owns the draw, the default one unless given.

    Example:
        >>> import rlgrad
        >>> weight = orthogonal_(rlgrad.empty(2, 3))
        >>> rlgrad.allclose(weight @ weight.T, rlgrad.eye(2), atol=1e-6)
        True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = _stream(generator).standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diag(r))  # makes the distribution uniform over orthogonal matrices
    return _set(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


@_initializer
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers with a share ``sparsity`` of each column set to zero.

    Args:
        tensor: a matrix, filled in place.
        sparsity: share of zeros in each column.
        std: of the other numbers.
        generator: owns the draw, the default one unless given.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    stream = _stream(generator)
    values = stream.normal(0.0, std, tensor.shape)
    zeros = math.ceil(sparsity * tensor.shape[0])
    for column in range(tensor.shape[1]):
        values[stream.permutation(tensor.shape[0])[:zeros], column] = 0
    return _set(tensor, values)


def _old_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new[:-1]

    def initialize(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    initialize.__name__ = initialize.__qualname__ = old
    initialize.__doc__ = f"The name that :func:`{new}` had before."
    return initialize


uniform, normal, constant = _old_name(uniform_), _old_name(normal_), _old_name(constant_)
eye, dirac, orthogonal, sparse = _old_name(eye_), _old_name(dirac_), _old_name(orthogonal_), _old_name(sparse_)
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)
