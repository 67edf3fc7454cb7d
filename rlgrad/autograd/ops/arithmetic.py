"""Arithmetic of two and three operands, with broadcasting and type promotion."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import Vjp, binary, broadcast_error, elementwise, method, public
from rlgrad.autograd.ops.inplace import inplace, write_out
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes
from rlgrad.backend.constants import HALF, ONE
from rlgrad.backend.kernels import elementary

# Helpers of derivatives. What is piecewise constant has no derivative of its own.

Op("zeros_like", lambda xp, a: xp.zeros_like(a), (lambda ns, g: ns.zeros_like(g),))
Op("mask", lambda xp, condition, like: condition.astype(like.dtype), inputs=2)
Op("half_ties", lambda xp, a, b: xp.where(a == b, a.dtype.type(0.5), (~(a < b)).astype(a.dtype)), inputs=2)
Op("logical_both", lambda xp, a, b: a & b, inputs=2)


def zero_gradient(ns: Any, g: Any) -> Any:
    """The derivative of what is constant between its jumps."""
    return ns.zeros_like(g)


def no_derivative(name: str, argument: str = "") -> Vjp:
    """The derivative of a function, or by one of its arguments, for which PyTorch has none: asking for it is an error."""
    by = f" by {argument!r}" if argument else ""

    def vjp(ns: Any, g: Any) -> Any:
        raise NotImplementedError(
            f"derivative for aten::{name}{by} is not implemented; compute it under no_grad() or on .detach()ed tensors"
        )

    return vjp


_add = binary("add", "add", (lambda ns, g: g, lambda ns, g: g), methods=False, numbers="both")
_sub = binary("sub", "subtract", (lambda ns, g: g, lambda ns, g: -g), methods=False, numbers="both")
_rsub_number = binary(
    "rsub", lambda xp, a, b: b - a, (lambda ns, g: -g, lambda ns, g: g), node="RsubBackward1", methods=False
)
_rsub = binary(
    "rsub_tensor", lambda xp, a, b: b - a, (lambda ns, g: -g, lambda ns, g: g), node="RsubBackward0", methods=False
)
mul = binary("mul", "multiply", (lambda ns, g, b: g * b, lambda ns, g, a: g * a), numbers="both")


@method
def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other`` with broadcasting and type promotion."""
    if alpha != 1 or alpha is True:
        other = _scaled(input, other, alpha)
    return _add(input, other, out=out)


@method
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other`` with broadcasting and type promotion."""
    if _is_bool(input) or _is_bool(other):
        _no_bool_subtraction(input, other)
    if alpha != 1 or alpha is True:
        other = _scaled(input, other, alpha)
    return _sub(input, other, out=out)


def _no_bool_subtraction(input: Any, other: Any) -> None:
    if _is_bool(input) and _is_bool(other):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator"
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead."
    )


def _scaled(input: Any, other: Any, alpha: Any) -> Any:
    if isinstance(alpha, np.generic):
        alpha = builtins.float(alpha) if isinstance(alpha, np.bool_) else alpha.item()
    if isinstance(alpha, bool) and not (_is_bool(input) and _is_bool(other)):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    whole = not isinstance(alpha, builtins.float) or any(
        (x.is_floating_point() if isinstance(x, Tensor) else isinstance(x, builtins.float)) for x in (input, other)
    )
    if not whole:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return mul(other, alpha) if isinstance(other, Tensor) else other * alpha


def _tensor_first(name: str, *operands: Any) -> None:
    """Refuse numbers where PyTorch takes tensors only."""
    for operand in operands:
        if not isinstance(operand, Tensor):
            raise TypeError(f"{name}(): expected a Tensor, got {type(operand).__name__}")


def _is_bool(value: Any) -> bool:
    return value._array.dtype.kind == "b" if isinstance(value, Tensor) else isinstance(value, bool)


@method
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    _tensor_first("rsub", input)
    if _is_bool(input) or _is_bool(other):
        _no_bool_subtraction(input, other)
    if alpha != 1 or alpha is True:
        return renamed(sub(other, input, alpha=alpha), f"RsubBackward{0 if isinstance(other, Tensor) else 1}")
    return _rsub(input, other) if isinstance(other, Tensor) else _rsub_number(input, other)


subtract = sub


def _divisible(xp: Any, a: Any, b: Any) -> None:
    if getattr(a, "size", 1) == 0:
        return
    if (a if hasattr(a, "dtype") else b).dtype.kind in "iu" and not (b.all() if hasattr(b, "dtype") else b):
        raise RuntimeError("ZeroDivisionError: an integer tensor is divided by zero; convert to a floating dtype first")


def _floor_quotient(xp: Any, a: Any, b: Any) -> Any:
    _divisible(xp, a, b)
    return elementary.floor_divide(xp, a, b)


def _trunc_quotient(xp: Any, a: Any, b: Any) -> Any:
    _divisible(xp, a, b)
    if xp.result_type(a, b).kind == "f":
        return xp.trunc(xp.true_divide(a, b))
    quotient = a // b
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0)))


def _remainder_forward(xp: Any, a: Any, b: Any) -> Any:
    _divisible(xp, a, b)
    return elementary.remainder(xp, a, b)


def _fmod_forward(xp: Any, a: Any, b: Any) -> Any:
    _divisible(xp, a, b)
    return elementary.fmod(xp, a, b)


def _identity_gradient(ns: Any, g: Any) -> Any:
    return g


_true_divide = binary(
    "div",
    "divide",
    (lambda ns, g, b: g / b, lambda ns, g, a, b: -g * (a / (b * b))),
    kind="float",
    methods=False,
    numbers="both",
)
_floor_div = binary(
    "floor_div",
    _floor_quotient,
    (zero_gradient, zero_gradient),
    node="DivBackward2",
    methods=False,
    numbers="both",
    refuses="b",
)
_trunc_div = binary(
    "trunc_div",
    _trunc_quotient,
    (zero_gradient, zero_gradient),
    node="DivBackward2",
    methods=False,
    numbers="both",
    refuses="b",
)
floor_divide = binary(
    "floor_divide",
    _floor_quotient,
    (no_derivative("floor_divide"), no_derivative("floor_divide")),
    node="torch::autograd::NotImplemented",
    numbers="both",
    refuses="b",
)
_remainder = binary(
    "remainder",
    _remainder_forward,
    (_identity_gradient, lambda ns, g, a, b: -g * ns.floor_div(a, b)),
    node="RemainderBackward1",
    methods=False,
    refuses="b",
)
_remainder_number = binary(
    "remainder_number",
    _remainder_forward,
    (_identity_gradient, None),
    node="RemainderBackward0",
    methods=False,
    refuses="b",
)
_fmod = binary(
    "fmod",
    _fmod_forward,
    (_identity_gradient, lambda ns, g, a, b: -g * ns.trunc_div(a, b)),
    node="FmodBackward1",
    methods=False,
    refuses="b",
)
_fmod_number = binary(
    "fmod_number", _fmod_forward, (_identity_gradient, None), node="FmodBackward0", methods=False, refuses="b"
)


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; integers give floats.

    Args:
        rounding_mode: ``None``, ``"floor"`` or ``"trunc"`` (these keep integers).
    """
    if rounding_mode is None:
        return _true_divide(input, other, out=out)
    if rounding_mode == "floor":
        return _floor_div(input, other, out=out)
    if rounding_mode == "trunc":
        return _trunc_div(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


@method
def true_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Another name for :func:`div` without rounding."""
    return _true_divide(input, other, out=out)


@method
def remainder(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """What is left of ``input`` after whole multiples of ``other``, with the sign of ``other`` (Python's ``%``)."""
    return (_remainder if isinstance(other, Tensor) else _remainder_number)(input, other, out=out)


@method
def fmod(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """What is left of ``input`` after whole multiples of ``other``, with the sign of ``input`` (C's ``fmod``)."""
    _tensor_first("fmod", input)
    return (_fmod if isinstance(other, Tensor) else _fmod_number)(input, other, out=out)


divide = div


def _pow_base(ns: Any, g: Any, a: Any, b: Any) -> Any:
    return g * ns.where(b == 0, ns.zeros_like(a * b), b * a ** (b - 1))


def _pow_exponent(ns: Any, g: Any, a: Any, b: Any, out: Any) -> Any:
    return g * ns.where(ns.logical_both(a == 0, b >= 0), ns.zeros_like(out), out * ns.log(a))


def _number_power(ns: Any, g: Any, a: Any, b: Any, out: Any) -> Any:
    if a == 0:
        return g * ns.where(b >= 0, ns.zeros_like(out), out * -np.inf)
    return g * (out * (np.log(a) if a > 0 else np.nan))


def _power(xp: Any, a: Any, b: Any) -> Any:
    if b.dtype.kind == "i" and (b < 0).any():
        odd = xp.where(b % 2 == 0, 1, a)  # an integer's reciprocal is 0 except for 1 and -1
        return xp.where(b < 0, xp.where(a == 1, 1, xp.where(a == -1, odd, 0)), a ** xp.where(b < 0, 0, b)).astype(
            b.dtype
        )
    return xp.power(a, b)


def _pow_number(ns: Any, g: Any, a: Any, exponent: Any) -> Any:
    if exponent == 2:
        return g * (a * 2)
    return ns.zeros_like(g) if exponent == 0 else g * (a ** (exponent - 1) * exponent)


_pow_tensors = binary("pow", _power, (_pow_base, _pow_exponent), node="PowBackward1", methods=False, refuses="b")
_pow_scalar = Op(
    "pow_scalar",
    lambda xp, a, exponent: (
        1 / xp.sqrt(a) if exponent == -0.5 and a.dtype.name in ("float32", "float64") else a**exponent
    ),
    (_pow_number,),
    node="PowBackward0",
)
_pow_of_number = Op("pow_of_number", _power, (None, _number_power), node="PowBackward2", inputs=2)


@method
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, elementwise."""
    if not isinstance(input, Tensor):
        _tensor_first("pow", exponent)
    if not isinstance(input, Tensor):
        result = elementwise(_pow_of_number, (input, exponent), "same")
    elif isinstance(exponent, Tensor):
        result = _pow_tensors(input, exponent)
    else:
        if isinstance(exponent, np.generic):  # promotes as Python's numbers do
            exponent = exponent.item()
        if not isinstance(exponent, (builtins.int, builtins.float)):
            raise TypeError(f"pow(): expected a Tensor or a number as exponent, got {type(exponent).__name__}")
        kind = input._array.dtype.kind
        if kind == "b" and isinstance(exponent, bool):
            input, exponent = input.to(dtypes.int64), builtins.int(exponent)
            return pow(input, exponent, out=out) if out is not None else pow(input, exponent).to(dtypes.bool_)
        if kind != "f":
            if isinstance(exponent, builtins.int) and exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            input = input.to(dtypes.result_type(input, exponent))
        result = apply_one(_pow_scalar, input, (exponent,))
    return result if out is None else write_out(out, result)


def _double(value: Any) -> builtins.float:
    if not isinstance(value, (builtins.int, builtins.float, np.generic)):
        raise TypeError(f"float_power(): expected a Tensor or a number, got {type(value).__name__}")
    return builtins.float(value)


@method
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in float64."""
    if not isinstance(input, Tensor):
        _tensor_first("float_power", exponent)
    input, exponent = (x.to(dtypes.float64) if isinstance(x, Tensor) else _double(x) for x in (input, exponent))
    result = pow(input, exponent)
    return result if out is None else write_out(out, result, True)


maximum = binary(
    "maximum",
    "maximum",
    (lambda ns, g, a, b: g * ns.half_ties(a, b), lambda ns, g, a, b: g * ns.half_ties(b, a)),
    numbers="none",
)
minimum = binary(
    "minimum",
    "minimum",
    (lambda ns, g, a, b: g * ns.half_ties(b, a), lambda ns, g, a, b: g * ns.half_ties(a, b)),
    numbers="none",
)
Op("first_of_max", lambda xp, a, b, like: ((a >= b) | (b != b)).astype(like.dtype), inputs=3)
Op("first_of_min", lambda xp, a, b, like: ((a <= b) | (b != b)).astype(like.dtype), inputs=3)
fmax = binary(
    "fmax",
    "fmax",
    (lambda ns, g, a, b: g * ns.first_of_max(a, b, a), lambda ns, g, a, b: g * (1 - ns.first_of_max(a, b, a))),
    numbers="none",
)
fmin = binary(
    "fmin",
    "fmin",
    (lambda ns, g, a, b: g * ns.first_of_min(a, b, a), lambda ns, g, a, b: g * (1 - ns.first_of_min(a, b, a))),
    numbers="none",
)


def _per_square(ns: Any, part: Any, a: Any, b: Any) -> Any:
    """``part / (a**2 + b**2)``, and zero at the origin, where the angle has no derivative."""
    square = a * a + b * b
    return part / ns.where(square == 0, math.inf, square)


atan2 = binary(
    "atan2",
    "arctan2",
    (lambda ns, g, a, b: g * _per_square(ns, b, a, b), lambda ns, g, a, b: g * -_per_square(ns, a, a, b)),
    kind="float",
    numbers="none",
)
hypot = binary(
    "hypot",
    lambda xp, a, b: elementary.hypot(xp, a, b),
    (lambda ns, g, a, out: g * (a / out), lambda ns, g, b, out: g * (b / out)),
    numbers="none",
    refuses="biu",
)
logaddexp = binary(
    "logaddexp",
    lambda xp, a, b: elementary.logaddexp(xp, a, b),
    (lambda ns, g, a, b: g * ns.sigmoid(a - b), lambda ns, g, a, b: g * ns.sigmoid(b - a)),
    numbers="none",
    refuses="biu",
)
logaddexp2 = binary(
    "logaddexp2",
    lambda xp, a, b: elementary.logaddexp2(xp, a, b),
    (
        lambda ns, g, a, b: g * ns.sigmoid((a - b) * math.log(2)),
        lambda ns, g, a, b: g * ns.sigmoid((b - a) * math.log(2)),
    ),
    numbers="none",
    refuses="biu",
)


def _copysign_slope(xp: Any, a: Any, out: Any) -> Any:
    return xp.where(a == 0, 0, out / xp.where(a == 0, 1, a)).astype(out.dtype)


Op("copysign_slope", _copysign_slope, inputs=2)
_copysign = binary(
    "copysign",
    "copysign",
    (lambda ns, g, a, out: g * ns.copysign_slope(a, out), zero_gradient),
    node="CopysignBackward0",
    kind="float",
    methods=False,
)
_copysign_number = binary(
    "copysign_number",
    "copysign",
    (lambda ns, g, a, out: g * ns.copysign_slope(a, out), None),
    node="CopysignBackward1",
    kind="float",
    methods=False,
)


@method
def copysign(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of ``input`` with the sign of ``other``."""
    _tensor_first("copysign", input)
    return (_copysign if isinstance(other, Tensor) else _copysign_number)(input, other, out=out)


_heaviside = binary(
    "heaviside",
    lambda xp, a, b: xp.where(a == 0, b, a > 0).astype(a.dtype),
    (no_derivative("heaviside"), no_derivative("heaviside")),
    node="torch::autograd::NotImplemented",
    methods=False,
)


@method
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is zero."""
    _tensor_first("heaviside", input, values)
    if input._array.dtype != values._array.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    result = _heaviside(input, values)
    return result if out is None else write_out(out, result, True)


def _of_floats(op: Op, tensors: tuple[Any, ...], attributes: tuple[Any, ...] = ()) -> Tensor:
    """Apply an elementwise op of tensors and perhaps a number: at once where all have one floating dtype."""
    dtype = None
    for x in tensors:
        if not isinstance(x, Tensor) or x._array.dtype is not (dtype or x._array.dtype):
            return elementwise(op, (*tensors, *attributes), "same")
        dtype = x._array.dtype
    if dtype.kind != "f":  # type: ignore[union-attr]
        return elementwise(op, (*tensors, *attributes), "same")
    try:
        return apply(op, tensors, attributes)
    except ValueError:
        raise broadcast_error(op.name, [x._array.shape for x in tensors]) from None


def _lerp_forward(xp: Any, a: Any, b: Any, weight: Any) -> Any:
    if not hasattr(weight, "dtype"):
        return a + weight * (b - a) if builtins.abs(weight) < 0.5 else b - (b - a) * (1 - weight)
    one, half = ONE.beside(xp, weight), HALF.beside(xp, weight)
    difference = b - a
    out = xp.asarray(b - difference * (one - weight))
    xp.copyto(out, a + weight * difference, where=abs(weight) < half)
    return out


_LERP = (
    lambda ns, g, weight: g * (1 - weight),
    lambda ns, g, weight: g * weight,
    lambda ns, g, a, b: g * (b - a),
)
_lerp = Op("lerp", _lerp_forward, _LERP, node="LerpBackward1")
_lerp_number = Op("lerp_number", _lerp_forward, _LERP[:2], node="LerpBackward0")


@method
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``."""
    if isinstance(weight, np.generic):
        weight = builtins.float(weight)
    elif isinstance(weight, Tensor) and weight._array.ndim == 0 and weight._array.dtype.kind == "f":
        weight = weight.to(input.dtype)
    for name, x in (("end", end), ("weight", weight)):
        if isinstance(x, Tensor) and x._array.dtype is not input._array.dtype:
            raise RuntimeError(f"expected dtype {input.dtype.name} for `{name}` but got dtype {x.dtype.name}")
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"lerp is not implemented for {input.dtype!r}; convert with .float()")
    if isinstance(weight, Tensor):
        result = _of_floats(_lerp, (input, end, weight))
    else:
        result = _of_floats(_lerp_number, (input, end), (weight,))
    return result if out is None else write_out(out, result)


_addcmul = Op(
    "addcmul",
    lambda xp, a, b, c, value: a + (b * c if value == 1 else b * c * value),
    (
        lambda ns, g: g,
        lambda ns, g, c, value: g * (c * value),
        lambda ns, g, b, value: g * (b * value),
    ),
    inputs=3,
)
_addcdiv = Op(
    "addcdiv",
    lambda xp, a, b, c, value: a + (b / c if value == 1 else b / c * value),
    (
        lambda ns, g: g,
        lambda ns, g, c, value: g * (value / c),
        lambda ns, g, b, c, value: -g * (b * value / (c * c)),
    ),
    inputs=3,
)


@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    result = _of_floats(_addcmul, (input, tensor1, tensor2), (value,))
    return result if out is None else write_out(out, result)


@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    if "f" not in (tensor1._array.dtype.kind, tensor2._array.dtype.kind):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; convert tensor1 or tensor2 to a floating dtype"
        )
    result = _of_floats(_addcdiv, (input, tensor1, tensor2), (value,))
    return result if out is None else write_out(out, result)


for _function in (
    add,
    sub,
    div,
    true_divide,
    remainder,
    fmod,
    pow,
    float_power,
    copysign,
    heaviside,
    lerp,
    addcmul,
    addcdiv,
):
    inplace(_function)

__all__ = public(globals(), internal=["no_derivative", "zero_gradient"])
