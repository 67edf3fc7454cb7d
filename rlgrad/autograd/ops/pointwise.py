"""Operations element by element."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import (
    assign,
    binary,
    broadcast_error,
    check_inplace,
    inplace,
    method,
    public,
    unary,
    write_out,
)
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import move

# Helpers of derivatives. What is piecewise constant has no derivative of its own.

_zeros_like = Op("zeros_like", lambda xp, a: xp.zeros_like(a), (lambda ns, g: ns.zeros_like(g),))
Op("mask", lambda xp, condition, like: condition.astype(like.dtype), inputs=2)
Op("half_ties", lambda xp, a, b: xp.where(a == b, a.dtype.type(0.5), (a > b).astype(a.dtype)), inputs=2)
Op("logical_both", lambda xp, a, b: a & b, inputs=2)

# Arithmetic

_add = binary("add", "add", (lambda ns, g: g, lambda ns, g: g), methods=False)
_sub = binary("sub", "subtract", (lambda ns, g: g, lambda ns, g: -g), methods=False)
mul = binary("mul", "multiply", (lambda ns, g, b: g * b, lambda ns, g, a: g * a))
_true_divide = binary(
    "div", "divide", (lambda ns, g, b: g / b, lambda ns, g, a, b: -g * (a / (b * b))), kind="float", methods=False
)


def _pow_base(ns: Any, g: Any, a: Any, b: Any) -> Any:
    return g * ns.where(b == 0, ns.zeros_like(a * b), b * a ** (b - 1))


def _pow_exponent(ns: Any, g: Any, a: Any, b: Any, out: Any) -> Any:
    return g * ns.where(ns.logical_both(a == 0, b >= 0), ns.zeros_like(out), out * ns.log(a))


def _power(xp: Any, a: Any, b: Any) -> Any:
    return a**b


def _pow_number(ns: Any, g: Any, a: Any, exponent: Any) -> Any:
    if exponent == 2:
        return g * (a * 2)
    return ns.zeros_like(g) if exponent == 0 else g * (a ** (exponent - 1) * exponent)


_pow_tensors = binary("pow", _power, (_pow_base, _pow_exponent), node="PowBackward1", methods=False)
_pow_scalar = Op("pow_scalar", lambda xp, a, exponent: a**exponent, (_pow_number,), node="PowBackward0")
_floor_divide = binary(
    "floor_divide",
    "floor_divide",
    (lambda ns, g: ns.zeros_like(g), lambda ns, g: ns.zeros_like(g)),
    node="DivBackward2",
)
floor_divide = _floor_divide
remainder = binary("remainder", "remainder", (lambda ns, g: g, lambda ns, g, a, b: -g * ns.floor_divide(a, b)))
fmod = binary("fmod", "fmod", (lambda ns, g: g, lambda ns, g, a, b: -g * ns.trunc(a / b)))
maximum = binary(
    "maximum", "maximum", (lambda ns, g, a, b: g * ns.half_ties(a, b), lambda ns, g, a, b: g * ns.half_ties(b, a))
)
minimum = binary(
    "minimum", "minimum", (lambda ns, g, a, b: g * ns.half_ties(b, a), lambda ns, g, a, b: g * ns.half_ties(a, b))
)
atan2 = binary(
    "atan2",
    "arctan2",
    (lambda ns, g, a, b: g * (b / (a * a + b * b)), lambda ns, g, a, b: g * (-a / (a * a + b * b))),
    kind="float",
)
hypot = binary("hypot", "hypot", (lambda ns, g, a, out: g * (a / out), lambda ns, g, b, out: g * (b / out)))
logaddexp = binary(
    "logaddexp",
    "logaddexp",
    (lambda ns, g, a, out: g * ns.exp(a - out), lambda ns, g, b, out: g * ns.exp(b - out)),
)


@method
def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other`` with broadcasting and type promotion."""
    if alpha != 1:
        other = mul(other, alpha) if isinstance(other, Tensor) else other * alpha
    return _add(input, other, out=out)


@method
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other`` with broadcasting and type promotion."""
    if _is_bool(input) or _is_bool(other):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. Use the `^`, `logical_xor()` or `~` operator, "
            "or convert the tensor first"
        )
    if alpha != 1:
        other = mul(other, alpha) if isinstance(other, Tensor) else other * alpha
    return _sub(input, other, out=out)


def _is_bool(value: Any) -> bool:
    return value._array.dtype.kind == "b" if isinstance(value, Tensor) else isinstance(value, bool)


@method
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    return sub(other, input, alpha=alpha)


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; integers give floats.

    Args:
        rounding_mode: ``None``, ``"floor"`` or ``"trunc"`` (these keep integers).
    """
    if rounding_mode is None:
        result = _true_divide(input, other)
    elif rounding_mode == "floor":
        result = _floor_divide(input, other)
    elif rounding_mode == "trunc":
        common = dtypes.result_type(input, other)
        result = trunc(_true_divide(input, other)) if common.is_floating_point else _trunc_divide(input, other)
    else:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    return result if out is None else write_out(out, result)


_trunc_divide = binary("trunc_divide", lambda xp, a, b: xp.sign(a) * xp.sign(b) * (abs(a) // abs(b)), methods=False)
true_divide = div


@method
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, elementwise."""
    if isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        kind = input._array.dtype.kind
        if kind != "f":
            if isinstance(exponent, builtins.int) and exponent < 0 and kind in "iu":
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            common = dtypes.result_type(input, exponent)
            input = input.to(common)
        result = apply(_pow_scalar, (input,), (exponent,))
    else:
        result = _pow_tensors(input, exponent)
    return result if out is None else write_out(out, result)


# Exponentials and roots

exp = unary("exp", "exp", lambda ns, g, out: g * out)
exp2 = unary("exp2", "exp2", lambda ns, g, out: g * (out * math.log(2)))
expm1 = unary("expm1", "expm1", lambda ns, g, out: g * (out + 1))
log = unary("log", "log", lambda ns, g, a: g / a)
log2 = unary("log2", "log2", lambda ns, g, a: g / (a * math.log(2)))
log10 = unary("log10", "log10", lambda ns, g, a: g / (a * math.log(10)))
log1p = unary("log1p", "log1p", lambda ns, g, a: g / (a + 1))
sqrt = unary("sqrt", "sqrt", lambda ns, g, out: g / (out * 2))
rsqrt = unary("rsqrt", lambda xp, a: 1 / xp.sqrt(a), lambda ns, g, out: g * (out * out * out * -0.5))
square = unary("square", "square", lambda ns, g, a: g * (a * 2), node="PowBackward0", kind="same")
reciprocal = unary("reciprocal", lambda xp, a: 1 / a, lambda ns, g, out: g * (-out * out))

# Signs and magnitudes

neg = unary("neg", "negative", lambda ns, g: -g, kind="same")
negative = neg
abs = unary("abs", "absolute", lambda ns, g, a: g * ns.sign(a), kind="same")
absolute = abs
sign = unary(
    "sign", lambda xp, a: xp.sign(a) if a.dtype.kind != "b" else a.copy(), lambda ns, g: ns.zeros_like(g), kind="same"
)
sgn = sign

# Trigonometric and hyperbolic

sin = unary("sin", "sin", lambda ns, g, a: g * ns.cos(a))
cos = unary("cos", "cos", lambda ns, g, a: g * -ns.sin(a))
tan = unary("tan", "tan", lambda ns, g, out: g * (out * out + 1))
asin = unary("asin", "arcsin", lambda ns, g, a: g * ns.rsqrt(1 - a * a))
acos = unary("acos", "arccos", lambda ns, g, a: g * -ns.rsqrt(1 - a * a))
atan = unary("atan", "arctan", lambda ns, g, a: g / (a * a + 1))
sinh = unary("sinh", "sinh", lambda ns, g, a: g * ns.cosh(a))
cosh = unary("cosh", "cosh", lambda ns, g, a: g * ns.sinh(a))
tanh = unary("tanh", "tanh", lambda ns, g, out: g * (1 - out * out))
asinh = unary("asinh", "arcsinh", lambda ns, g, a: g * ns.rsqrt(a * a + 1))
acosh = unary("acosh", "arccosh", lambda ns, g, a: g * ns.rsqrt(a * a - 1))
atanh = unary("atanh", "arctanh", lambda ns, g, a: g / (1 - a * a))


def _sigmoid(xp: Any, a: Any) -> Any:
    return 0.5 * xp.tanh(0.5 * a) + 0.5  # stable at both ends without a branch


sigmoid = unary("sigmoid", _sigmoid, lambda ns, g, out: g * ((1 - out) * out))

# Rounding

floor = unary(
    "floor", lambda xp, a: xp.floor(a) if a.dtype.kind == "f" else a, lambda ns, g: ns.zeros_like(g), kind="same"
)
ceil = unary(
    "ceil", lambda xp, a: xp.ceil(a) if a.dtype.kind == "f" else a, lambda ns, g: ns.zeros_like(g), kind="same"
)
trunc = unary(
    "trunc", lambda xp, a: xp.trunc(a) if a.dtype.kind == "f" else a, lambda ns, g: ns.zeros_like(g), kind="same"
)
fix = trunc
frac = unary("frac", lambda xp, a: a - xp.trunc(a), lambda ns, g: g, kind="same")
_round = unary("round", "rint", lambda ns, g: ns.zeros_like(g), kind="same", methods=False)


@method
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest integer (ties to even), or to so many decimals."""
    if input._array.dtype.kind != "f":
        return input.clone()
    result = _round(input) if decimals == 0 else _round(input * 10.0**decimals) / 10.0**decimals
    return result if out is None else write_out(out, result)


# Activations

_ZEROS = {kind: np.zeros((), kind) for kind in dtypes.dtype.by_numpy}  # cheaper operands than Python's 0
_INFINITY = {kind: np.asarray(math.inf, kind) for kind in dtypes.dtype.by_numpy if kind.kind == "f"}


def _relu(xp: Any, a: Any) -> Any:
    if xp is not np:
        return xp.maximum(a, 0)
    if a.size > 512 and a.dtype.kind == "f":  # NumPy vectorises clip, but not maximum against one number
        return a.clip(_ZEROS[a.dtype], _INFINITY[a.dtype])
    return np.maximum(a, _ZEROS[a.dtype])


def _where_positive(xp: Any, g: Any, out: Any) -> Any:
    mask = (out > (_ZEROS[out.dtype] if xp is np else 0)).astype(g.dtype)
    mask *= g
    return mask


relu = unary("relu", _relu, lambda ns, g, out: ns.where_positive(g, out), kind="same")
Op("where_positive", _where_positive, (lambda ns, g, out: ns.where_positive(g, out), None))
Op("positive", lambda xp, a: a > 0, inputs=1)

_clamp = Op(
    "clamp",
    lambda xp, a, low, high: xp.clip(a, low, high),
    (lambda ns, g, a, low, high: g * ns.within(a, low, high),),
    node="ClampBackward1",
)


def _within(xp: Any, a: Any, low: Any, high: Any) -> Any:
    if low is None:
        return a <= high
    return a >= low if high is None else (a >= low) & (a <= high)


Op("within", _within, inputs=1)


@method
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit every element to ``[min, max]``; either end may be left open, and both may be tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        result = input if min is None else maximum(input, _operand(min, input))
        result = result if max is None else minimum(result, _operand(max, input))
    else:
        common = dtypes.result_type(input, *[limit for limit in (min, max) if limit is not None])
        result = apply(_clamp, (input if input.dtype is common else input.to(common),), (min, max))
    return result if out is None else write_out(out, result)


def _operand(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else wrap(np.asarray(value, like._array.dtype))


@method
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Limit from below."""
    return clamp(input, min=min)


@method
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Limit from above."""
    return clamp(input, max=max)


@method
def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Another name for :func:`clamp`."""
    return clamp(input, min, max)


# Comparison and logic: results are bool, nothing is recorded

eq = binary("eq", "equal", methods=False)
ne = binary("ne", "not_equal", methods=False)
lt = binary("lt", "less", methods=False)
le = binary("le", "less_equal", methods=False)
gt = binary("gt", "greater", methods=False)
ge = binary("ge", "greater_equal", methods=False)
logical_and = binary("logical_and", "logical_and")
logical_or = binary("logical_or", "logical_or")
logical_xor = binary("logical_xor", "logical_xor")
_logical_not = Op("logical_not", "logical_not", inputs=1)
bitwise_and = binary("bitwise_and", "bitwise_and")
bitwise_or = binary("bitwise_or", "bitwise_or")
bitwise_xor = binary("bitwise_xor", "bitwise_xor")
bitwise_not = unary("bitwise_not", "invert", kind="same")
for _compare in (eq, ne, lt, le, gt, ge):
    setattr(Tensor, _compare.__name__, _compare)
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


@method
def logical_not(input: Tensor) -> Tensor:
    """Elementwise ``not``: true where an element is zero."""
    return apply(_logical_not, (input,))


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
    _same_dtype("isclose", input, other)
    return wrap(np.isclose(input.numpy(force=True), other.numpy(force=True), rtol, atol, equal_nan))


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are :func:`isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return input._array.shape == other._array.shape and bool((input._array == other._array).all())


def _same_dtype(name: str, a: Tensor, b: Tensor) -> None:
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"{name}: expected both tensors to have the same dtype, got {a.dtype!r} and {b.dtype!r}")


# Choosing between elements

_where = Op(
    "where",
    lambda xp, condition, a, b: xp.where(condition, a, b),
    (
        None,
        lambda ns, g, condition: ns.where(condition, g, 0),
        lambda ns, g, condition: ns.where(condition, 0, g),
    ),
    node="WhereBackward0",
)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Take from ``input`` where ``condition`` holds and from ``other`` elsewhere; alone, the indices where it holds."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype!r}"
        )
    target = dtypes.result_type(input, other)
    xp_like = condition._array
    operands = [
        x.to(target) if isinstance(x, Tensor) else wrap(_full(xp_like, x, target.numpy)) for x in (input, other)
    ]
    try:
        result = apply(_where, (condition, *operands))
    except ValueError:
        raise broadcast_error("where", [x._array.shape for x in (condition, *operands)]) from None
    return result if out is None else write_out(out, result)


def _full(like: Any, value: Any, dtype: Any) -> Any:
    from rlgrad.backend.devices import module_of

    return module_of(like).asarray(value, dtype)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``where(condition, self, other)``."""
    return where(condition, self, other)


Tensor.where = _where_method  # type: ignore[attr-defined]


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` where ``mask`` is true."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype!r}")
    value = value if isinstance(value, Tensor) else wrap(_full(input._array, value, input._array.dtype))
    try:
        return apply(_masked_fill, (input, mask, value.to(input.dtype)))
    except ValueError:
        raise broadcast_error("masked_fill", [input._array.shape, mask._array.shape]) from None


_masked_fill = Op(
    "masked_fill",
    lambda xp, a, mask, value: xp.where(mask, value, a),
    (
        lambda ns, g, mask: ns.where(mask, 0, g),
        None,
        lambda ns, g, mask: ns.sum(ns.where(mask, g, 0), None, False),
    ),
)


@method
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``."""
    return input + (end - input) * weight


@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * tensor2 * value)


@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    return input + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)


# Dtypes and copies

_cast = Op("cast", lambda xp, a, dtype: a.astype(dtype), (lambda ns, g: g,), node="ToCopyBackward0")
Op(
    "move",
    lambda xp, a, target, source: move(a, target),
    (lambda ns, g, target, source: ns.move(g, source, target),),
    node="ToCopyBackward0",
)
_clone = Op("clone", lambda xp, a: a.copy(), (lambda ns, g: g,))
_fill = Op("fill", lambda xp, a, value: xp.full_like(a, value), (lambda ns, g: ns.zeros_like(g),))
_copy = Op(
    "copy",
    lambda xp, a, source: xp.broadcast_to(source, a.shape).astype(a.dtype),
    (lambda ns, g: ns.zeros_like(g), lambda ns, g: g),
    node="CopyBackwards",
)


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that stays connected: gradients flow back through it."""
    return apply(_clone, (input,))


@method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the elements with those of ``src``, broadcast and converted."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(src).__name__}")
    check_inplace(self)
    if src.device != self.device:
        src = src.to(self.device)
    try:
        fits = np.broadcast_shapes(src._array.shape, self._array.shape) == self._array.shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"copy_(): a tensor of shape {list(src.shape)} does not broadcast to the shape {list(self.shape)} it is copied into"
        )
    return assign(self, apply(_copy, (self, src)))


Tensor.copy_ = copy_  # type: ignore[attr-defined]


def _fill_method(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value."""
    check_inplace(self)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
            )
        return copy_(self, value)
    return assign(self, apply(_fill, (self,), (value,)))


def _zero_method(self: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    return _fill_method(self, 0)


Tensor.fill_, Tensor.zero_ = _fill_method, _zero_method  # type: ignore[attr-defined]


def _clamp_method(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place form of :func:`clamp`."""
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        check_inplace(self)
        return assign(self, clamp(self, min, max))
    result = self if min is None else self.maximum_(_operand(min, self))
    return result if max is None else result.minimum_(_operand(max, self))


Tensor.clamp_ = Tensor.clip_ = _clamp_method  # type: ignore[attr-defined]

for _function in (
    add,
    sub,
    div,
    pow,
    clamp_min,
    clamp_max,
    round,
    masked_fill,
    lerp,
    addcmul,
    addcdiv,
    logical_not,
):
    inplace(_function)
for _alias, _name in (
    ("negative", "neg"), ("absolute", "abs"), ("true_divide", "div"), ("subtract", "sub"), ("multiply", "mul"),
    ("divide", "div"), ("sgn", "sign"), ("fix", "trunc"), ("greater", "gt"), ("greater_equal", "ge"), ("less", "lt"),
    ("less_equal", "le"), ("not_equal", "ne"), ("arctan2", "atan2"), ("arcsin", "asin"), ("arccos", "acos"),
    ("arctan", "atan"), ("arcsinh", "asinh"), ("arccosh", "acosh"), ("arctanh", "atanh"),
):  # fmt: skip
    setattr(Tensor, _alias, getattr(Tensor, _name))
    globals()[_alias] = globals()[_name]
    if hasattr(Tensor, _name + "_"):
        setattr(Tensor, _alias + "_", getattr(Tensor, _name + "_"))


# Python's operators

_OPERANDS = (Tensor, builtins.bool, builtins.int, builtins.float, np.bool_, np.integer, np.floating)


def _operator(function: Any, reflected: builtins.bool = False) -> Any:
    def forward(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def backward(self: Tensor, other: Any) -> Any:
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return backward if reflected else forward


_BINARY = {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide, "mod": remainder, "pow": pow,
    "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor,
}  # fmt: skip
_binary_function: Any
for _symbol, _binary_function in _BINARY.items():
    setattr(Tensor, f"__{_symbol}__", _operator(_binary_function))
    setattr(Tensor, f"__r{_symbol}__", _operator(_binary_function, reflected=True))
    setattr(Tensor, f"__i{_symbol}__", getattr(Tensor, _binary_function.__name__ + "_"))
Tensor.__add__ = Tensor.__radd__ = _add  # type: ignore[method-assign]
Tensor.__mul__ = Tensor.__rmul__ = mul  # type: ignore[method-assign]
Tensor.__truediv__ = _true_divide  # type: ignore[method-assign]
for _function in (eq, ne, lt, le, gt, ge):
    setattr(Tensor, f"__{_function.__name__}__", _operator(_function))
Tensor.__neg__ = neg  # type: ignore[method-assign]
Tensor.__pos__ = lambda self: self  # type: ignore[method-assign]
Tensor.__abs__ = abs  # type: ignore[attr-defined]
Tensor.__invert__ = bitwise_not  # type: ignore[method-assign]

__all__ = public(globals(), internal=["copy_"])
