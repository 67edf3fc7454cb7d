"""Comparison, logic and bits: nothing here is recorded."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import binary, broadcast_error, method, public, unary
from rlgrad.autograd.ops.inplace import assign, check_inplace, with_out, write_out
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

eq = binary("eq", "equal", methods=False, numbers="second")
ne = binary("ne", "not_equal", methods=False, numbers="second")
lt = binary("lt", "less", methods=False, numbers="second")
le = binary("le", "less_equal", methods=False, numbers="second")
gt = binary("gt", "greater", methods=False, numbers="second")
ge = binary("ge", "greater_equal", methods=False, numbers="second")
logical_and = binary("logical_and", "logical_and", numbers="none")
logical_or = binary("logical_or", "logical_or", numbers="none")
logical_xor = binary("logical_xor", "logical_xor", numbers="none")
_logical_not = Op("logical_not", "logical_not", inputs=1)
bitwise_and = binary("bitwise_and", "bitwise_and")
bitwise_or = binary("bitwise_or", "bitwise_or")
bitwise_xor = binary("bitwise_xor", "bitwise_xor")


def _invert(xp: Any, a: Any) -> Any:
    if a.dtype.kind == "f":
        raise NotImplementedError(
            f"~ and bitwise_not are for integer and bool tensors, not {dtypes.as_dtype(a.dtype)!r}"
        )
    return xp.invert(a)


bitwise_not = unary("bitwise_not", _invert, kind="same")

bitwise_left_shift = binary("bitwise_left_shift", "left_shift", refuses="b")
bitwise_right_shift = binary("bitwise_right_shift", "right_shift", refuses="b")


def _compare_in_place(name: str) -> None:
    def call(self: Tensor, *other: Any) -> Tensor:
        check_inplace(self)
        return assign(self, globals()[name](self, *other).to(self.dtype))

    call.__name__, call.__doc__ = name + "_", f"In-place form of :func:`{name}`: ones and zeros in the tensor's dtype."
    setattr(Tensor, name + "_", call)


for _compare in (eq, ne, lt, le, gt, ge):
    setattr(Tensor, _compare.__name__, _compare)
    _compare_in_place(_compare.__name__)
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


@method
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise ``not``: true where an element is zero."""
    result = apply_one(_logical_not, input)
    return result if out is None else write_out(out, result)


_compare_in_place("logical_not")


@method
def isnan(input: Tensor) -> Tensor:
    """Where an element is NaN."""
    return wrap(input._array != input._array)


@method
def isinf(input: Tensor) -> Tensor:
    """Where an element is infinite."""
    array = input._array
    return wrap(builtins.abs(array) == math.inf) if array.dtype.kind == "f" else wrap(array != array)


@method
def isfinite(input: Tensor) -> Tensor:
    """Where an element is neither infinite nor NaN."""
    array = input._array
    return wrap(builtins.abs(array) < math.inf) if array.dtype.kind == "f" else wrap(array == array)


@method
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``."""
    for argument, given in (("input", input), ("other", other)):
        if not isinstance(given, Tensor):
            raise TypeError(f"isclose(): argument '{argument}' must be Tensor, not {type(given).__name__}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose(): rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    _same_dtype("isclose", input, other)
    try:
        return wrap(np.isclose(input.numpy(force=True), other.numpy(force=True), rtol, atol, equal_nan))
    except ValueError:
        raise broadcast_error("isclose", (input._array.shape, other._array.shape)) from None


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are :func:`isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    for argument, given in (("input", input), ("other", other)):
        if not isinstance(given, Tensor):
            raise TypeError(f"equal(): argument '{argument}' must be Tensor, not {type(given).__name__}")
    return input._array.shape == other._array.shape and bool((input._array == other._array).all())


def _same_dtype(name: str, a: Tensor, b: Tensor) -> None:
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"{name}: expected both tensors to have the same dtype, got {a.dtype!r} and {b.dtype!r}")


@with_out()
@method
def isposinf(input: Tensor) -> Tensor:
    """Where an element is plus infinity."""
    return wrap(input._array == math.inf)


@with_out()
@method
def isneginf(input: Tensor) -> Tensor:
    """Where an element is minus infinity."""
    return wrap(input._array == -math.inf)


@method
def isreal(input: Tensor) -> Tensor:
    """Where an element has no imaginary part: everywhere."""
    return wrap(module_of(input._array).ones(input._array.shape, np.bool_))


@with_out()
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Where an element of ``elements`` is among ``test_elements``."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise ValueError("isin() needs a Tensor for at least one of elements and test_elements")
    a, b = (x._array if isinstance(x, Tensor) else np.asarray(x) for x in (elements, test_elements))
    xp = module_of(a if isinstance(elements, Tensor) else b)
    return wrap(xp.asarray(xp.isin(xp.asarray(a), xp.asarray(b), invert=invert)))


__all__ = public(globals())
