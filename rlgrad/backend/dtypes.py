"""dtype objects with PyTorch's names and promotion rules over NumPy's dtypes."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import numpy as np

_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


class dtype:
    """Element type of a tensor, for example ``rlgrad.float32``.

    Instances are unique, so ``x.dtype is rlgrad.float32`` holds; they print as PyTorch's do, so that printed tensors
    can be pasted back under ``import rlgrad as torch``.
    """

    __slots__ = ("category", "name", "numpy")
    by_numpy: ClassVar[dict[np.dtype[Any], dtype]] = {}
    by_name: ClassVar[dict[str, dtype]] = {}

    def __init__(self, name: str, numpy: Any) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.category = _CATEGORY[self.numpy.kind]
        dtype.by_numpy[self.numpy] = self
        dtype.by_name[name] = self

    @property
    def is_floating_point(self) -> bool:
        return self.category == 2

    @property
    def is_complex(self) -> bool:
        return self.category == 3

    @property
    def is_signed(self) -> bool:
        return self.numpy.kind in "ifc"

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    def to_complex(self) -> dtype:
        raise TypeError("rlgrad has no complex dtypes")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_by_name, (self.name,))


def _by_name(name: str) -> dtype:
    return dtype.by_name[name]


bool_ = dtype("bool", np.bool_)
uint8 = dtype("uint8", np.uint8)
int8 = dtype("int8", np.int8)
int16 = dtype("int16", np.int16)
int32 = dtype("int32", np.int32)
int64 = dtype("int64", np.int64)
uint16 = dtype("uint16", np.uint16)
uint32 = dtype("uint32", np.uint32)
uint64 = dtype("uint64", np.uint64)
float16 = dtype("float16", np.float16)
float32 = dtype("float32", np.float32)
float64 = dtype("float64", np.float64)

ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64}
_FROM_PYTHON = {bool: bool_, int: int64, float: float32}
_default = [float32]


def get_default_dtype() -> dtype:
    """Return the floating dtype that factories and Python floats use; float32 unless set."""
    return _default[0]


def set_default_dtype(d: dtype) -> None:
    """Set the floating dtype that factories and Python floats use."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"set_default_dtype expects a floating-point dtype such as rlgrad.float64, got {d!r}")
    _default[0] = d


def as_dtype(value: Any) -> dtype:
    """Turn a dtype object, a Python type or a NumPy dtype into a :class:`dtype`."""
    if isinstance(value, dtype):
        return value
    if value is float:
        return _default[0]
    try:
        found = _FROM_PYTHON.get(value) or dtype.by_numpy[np.dtype(value)]
    except (TypeError, KeyError):
        raise TypeError(f"{value!r} is not a dtype; use one such as rlgrad.float32 or rlgrad.int64") from None
    return found


def to_numpy(value: Any) -> np.dtype[Any]:
    """The NumPy dtype of a dtype argument."""
    return as_dtype(value).numpy


def promote_types(a: dtype, b: dtype) -> dtype:
    """The dtype of an operation between two tensors of dimension one or more (PyTorch's rules, not NumPy's)."""
    if a is b:
        return a
    if a.category != b.category:
        return a if a.category > b.category else b
    return dtype.by_numpy[np.promote_types(a.numpy, b.numpy)]


def scalar_dtype(value: Any) -> dtype:
    """The dtype that a Python scalar stands for where no tensor of its category takes part."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating, np.bool_)):  # NumPy's truth values are numbers to PyTorch
        return _default[0]
    raise TypeError(f"expected a tensor or a Python number, got {type(value).__name__}")


def number_as(value: Any, kind: np.dtype[Any]) -> Any:
    """A Python number as an element of a dtype: truncated, negative ones wrapped where there is no sign.

    Raises:
        RuntimeError: it lies beyond the dtype's range.
    """
    if kind.kind == "b":
        return bool(value)
    if kind.kind == "f":
        fits = not math.isfinite(value) or abs(value) <= _limits(kind)[1]
        value = float(value)
    else:
        low, high = _limits(kind)
        whole = not isinstance(value, (float, np.floating))  # only whole numbers wrap
        fits = math.isfinite(value) and (low if low or not whole else -high) <= value <= high
        value = int(value) % (high + 1) if fits and not low else value
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {value}")
    return value if kind.kind == "f" else int(value)


@functools.lru_cache(32)
def _limits(kind: np.dtype[Any]) -> tuple[Any, Any]:
    if kind.kind == "f":
        return float(np.finfo(kind).min), float(np.finfo(kind).max)
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def result_type(*operands: Any) -> dtype:
    """The common dtype of tensors and Python numbers.

    Within one category (bool, integer, floating) tensors of dimension one or more win over 0-d tensors, and these over
    Python numbers; a higher category always wins. Source: PyTorch's "Tensor attributes" page, section torch.dtype.

    Example:
        >>> import rlgrad
        >>> rlgrad.result_type(rlgrad.ones(3, dtype=rlgrad.int64), 1.5)
        torch.float32
    """
    best: list[dtype | None] = [None, None, None]  # by rank: tensors, 0-d tensors, numbers
    for operand in operands:
        array = getattr(operand, "_array", operand if isinstance(operand, np.ndarray) else None)
        if array is None:
            rank, found = 2, scalar_dtype(operand)
        else:
            rank, found = (0 if array.ndim else 1), dtype.by_numpy[array.dtype]
        known = best[rank]
        best[rank] = found if known is None else promote_types(known, found)
    result = best[0]
    for other in best[1:]:
        if other is not None and (result is None or other.category > result.category):
            result = other
    if result is None:
        raise ValueError("result_type needs at least one operand")
    return result


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether PyTorch lets an in-place result of dtype ``source`` be stored in ``target``."""
    return source.category <= target.category


_DIGITS = {16: 3, 32: 6, 64: 15}


class finfo:
    """Limits of a floating dtype: ``bits``, ``eps``, ``min``, ``max``, ``tiny``, ``resolution``."""

    def __init__(self, type: dtype | None = None) -> None:
        self._dtype = as_dtype(type or _default[0])
        if not self._dtype.is_floating_point:
            raise TypeError(f"finfo needs a floating-point dtype, got {self._dtype!r}; use iinfo")
        info = np.finfo(self._dtype.numpy)
        self.bits = int(info.bits)
        self.eps = float(info.eps)
        self.min = float(info.min)
        self.max = float(info.max)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)
        self.dtype = self._dtype.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={10.0 ** -_DIGITS[self.bits]:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: ``bits``, ``min``, ``max``."""

    def __init__(self, type: dtype) -> None:
        self._dtype = as_dtype(type)
        if self._dtype.category != 1:
            raise TypeError(f"iinfo needs an integer dtype, got {self._dtype!r}; use finfo")
        info = np.iinfo(self._dtype.numpy)
        self.bits, self.min, self.max = int(info.bits), int(info.min), int(info.max)
        self.dtype = self._dtype.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
