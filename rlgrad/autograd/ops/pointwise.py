"""Operations element by element."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.arithmetic import (
    _add,
    _tensor_first,
    _true_divide,
    add,
    div,
    floor_divide,
    mul,
    pow,
    remainder,
    rsub,
    sub,
    zero_gradient,
)
from rlgrad.autograd.ops.comparison import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
)
from rlgrad.autograd.ops.define import broadcast_error, method, public, unary
from rlgrad.autograd.ops.inplace import assign, check_inplace, check_overlap, inplace, same_memory, write_out
from rlgrad.autograd.registry import REGISTRY, Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.constants import INFINITY, ONE, ZERO, limited
from rlgrad.backend.devices import module_of, move
from rlgrad.backend.kernels.selecting import select
from rlgrad.backend.logistic import logistic

exp = unary("exp", "exp", lambda ns, g, out: g * out)
exp2 = unary("exp2", "exp2", lambda ns, g, out: g * (out * math.log(2)))
expm1 = unary("expm1", "expm1", lambda ns, g, out: g * (out + 1))
log = unary("log", "log", lambda ns, g, a: g / a)
log2 = unary("log2", "log2", lambda ns, g, a: g / (a * math.log(2)))
log10 = unary("log10", "log10", lambda ns, g, a: g / (a * math.log(10)))
log1p = unary("log1p", "log1p", lambda ns, g, a: g / (a + 1), node="Log1PBackward0")
sqrt = unary("sqrt", "sqrt", lambda ns, g, out: g / (out * 2))
rsqrt = unary("rsqrt", lambda xp, a: ONE.beside(xp, a) / xp.sqrt(a), lambda ns, g, out: g * (out * out * out * -0.5))
square = unary("square", "square", lambda ns, g, a: g * (a * 2), node="PowBackward0", kind="same")
REGISTRY["square"].forward = lambda xp, a: xp.square(a if a.dtype.kind != "b" else a.astype(np.int64))
reciprocal = unary("reciprocal", lambda xp, a: ONE.beside(xp, a) / a, lambda ns, g, out: g * (-out * out))

neg = unary("neg", "negative", lambda ns, g: -g, kind="same")
abs = unary("abs", "absolute", lambda ns, g, a: g * ns.sign(a), kind="same", refuses="b")


def _sign(xp: Any, a: Any) -> Any:
    if a.dtype.kind == "b":
        return a.copy()
    if a.dtype.kind != "f":
        return xp.sign(a)
    if a.size > 512:  # in a third of the time that sign() takes
        return ((a > 0).view(np.int8) - (a < 0).view(np.int8)).astype(a.dtype)
    out = xp.asarray(xp.sign(a))
    xp.copyto(out, ZERO.beside(xp, a), where=a != a)  # a NaN has the sign 0
    return out


sign = unary("sign", _sign, zero_gradient, kind="same")
sgn = unary("sgn", REGISTRY["sign"].forward, zero_gradient, kind="same")


def _times(factor: float, name: str) -> Any:
    def forward(xp: Any, a: Any) -> Any:  # NumPy's own function goes element by element
        return a * factor if a.dtype.itemsize > 2 else getattr(xp, name)(a)

    return unary(name, forward, lambda ns, g: g * factor, node=name.title() + "Backward0")


deg2rad, rad2deg = _times(math.pi / 180, "deg2rad"), _times(180 / math.pi, "rad2deg")


@method
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where an element is negative, minus zero included."""
    array = input._array
    xp = module_of(array)
    result = wrap(xp.signbit(array) if array.dtype.kind == "f" else xp.asarray(array < 0))
    return result if out is None else write_out(out, result, True)


@method
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _bounds(array: Any, nan: Any, posinf: Any, neginf: Any) -> tuple[Any, Any, Any]:
    largest = _LARGEST[array.dtype]
    return 0.0 if nan is None else nan, largest if posinf is None else posinf, -largest if neginf is None else neginf


_LARGEST = {kind: float(np.finfo(kind).max) for kind in dtypes.dtype.by_numpy if kind.kind == "f"}


_nan_to_num = Op(
    "nan_to_num",
    lambda xp, a, nan, posinf, neginf: _all_finite(xp, a, nan, posinf, neginf),
    (lambda ns, g, a: g * ns.finite(a),),
)
Op("finite", lambda xp, a: xp.isfinite(a).astype(a.dtype), inputs=1)


def _all_finite(xp: Any, a: Any, nan: float, posinf: float, neginf: float) -> Any:
    if xp is not np:
        return xp.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf)
    out, infinity = a.copy(), INFINITY[a.dtype]
    if np.count_nonzero(np.isfinite(a)) == a.size:  # as most often
        return out
    np.copyto(out, nan, where=a != a)
    np.copyto(out, posinf, where=a == infinity)
    np.copyto(out, neginf, where=a == -infinity)
    return out


@method
def nan_to_num(
    input: Tensor, nan: Any = None, posinf: Any = None, neginf: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """``input`` with NaN and infinities replaced: by 0 and by the largest and smallest finite numbers unless told."""
    if input._array.dtype.kind != "f":
        result = input.clone()
    else:
        result = apply_one(_nan_to_num, input, _bounds(input._array, nan, posinf, neginf))
    return result if out is None else write_out(out, result, True)


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


sigmoid = unary("sigmoid", logistic, lambda ns, g, out: g * ((1 - out) * out))

floor = unary("floor", lambda xp, a: xp.floor(a) if a.dtype.kind == "f" else a, zero_gradient, kind="same", refuses="b")
ceil = unary("ceil", lambda xp, a: xp.ceil(a) if a.dtype.kind == "f" else a, zero_gradient, kind="same", refuses="b")
trunc = unary("trunc", lambda xp, a: xp.trunc(a) if a.dtype.kind == "f" else a, zero_gradient, kind="same", refuses="b")
frac = unary("frac", lambda xp, a: a - xp.trunc(a), lambda ns, g: g, kind="same", refuses="biu")
_round = unary("round", "rint", zero_gradient, kind="same", methods=False, refuses="b")


@method
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """To the nearest integer (ties to even), or to so many decimals."""
    if input._array.dtype.kind in "iu":
        return input.clone()
    result = _round(input) if decimals == 0 else apply_one(_round_decimals, input, (decimals,))
    return result if out is None else write_out(out, result, True)


def _round_forward(xp: Any, a: Any, decimals: int) -> Any:
    scale = a.dtype.type(10.0 ** builtins.abs(decimals))
    return xp.rint(a * scale) / scale if decimals > 0 else xp.rint(a / scale) * scale


_round_decimals = Op("round_decimals", _round_forward, (zero_gradient,), node="RoundBackward1")


def _relu(xp: Any, a: Any) -> Any:
    if xp is not np:
        return xp.maximum(a, 0)
    if a.size > 512 and a.dtype.kind == "f":  # NumPy vectorises clip, but not maximum against one number
        return a.clip(ZERO[a.dtype], INFINITY[a.dtype])
    return np.maximum(a, ZERO[a.dtype])


def _where_positive(xp: Any, g: Any, out: Any) -> Any:
    mask = (out != ZERO.beside(xp, out)).astype(g.dtype)
    mask *= g
    return mask


relu = unary("relu", _relu, lambda ns, g, out: ns.where_positive(g, out), kind="same", refuses="b")
Op("where_positive", _where_positive, (lambda ns, g, out: ns.where_positive(g, out), None))
Op("positive", lambda xp, a: a > 0, inputs=1)

_clamp = Op(
    "clamp",
    limited,
    (lambda ns, g, a, low, high: g * ns.within(a, low, high),),
    node="ClampBackward1",
)


def _within(xp: Any, a: Any, low: Any, high: Any) -> Any:
    if low is None:
        return a <= high
    return a >= low if high is None else (a >= low) & (a <= high)


Op("within", _within, inputs=1)


_clamp_min = Op(
    "clamp_min",
    limited,
    (lambda ns, g, a, low, high: g * ns.within(a, low, high),),
    node="ClampMinBackward0",
)
_clamp_max = Op("clamp_max", _clamp_min.forward, _clamp_min.vjps, node="ClampMaxBackward0")


def _between(xp: Any, a: Any, low: Any, high: Any) -> Any:
    if low is not None:
        a = xp.maximum(a, low)
    return a if high is None else xp.minimum(a, high)


def _low_holds(xp: Any, a: Any, low: Any, high: Any) -> Any:
    return (a < low if high is None else (low < high) & (a < low)).astype(a.dtype)


def _high_holds(xp: Any, a: Any, low: Any, high: Any) -> Any:
    return (a > high if low is None else (a > high) | (high < low)).astype(a.dtype)


Op("low_holds", _low_holds, inputs=3)
Op("high_holds", _high_holds, inputs=3)
_BETWEEN = (
    lambda ns, g, a, low, high: g * ns.within_tensors(a, low, high),
    lambda ns, g, a, low, high: g * ns.low_holds(a, low, high),
    lambda ns, g, a, low, high: g * ns.high_holds(a, low, high),
)
Op("within_tensors", lambda xp, a, low, high: _within(xp, a, low, high).astype(a.dtype), inputs=3)
_clamp_tensors = Op("clamp_tensors", _between, _BETWEEN, node="ClampBackward0")
_clamp_min_tensor = Op("clamp_min_tensor", _between, _BETWEEN, node="ClampMinBackward1")
_clamp_max_tensor = Op("clamp_max_tensor", _between, _BETWEEN, node="ClampMaxBackward1")


def _plain(limit: Any) -> bool:
    """No limit, or a Python number that is not NaN."""
    return limit is None or ((limit.__class__ is float or limit.__class__ is int) and limit == limit)


def _clamped(numbers: Op, tensors: Op, input: Tensor, min: Any, max: Any, out: Tensor | None) -> Tensor:
    if out is None and _plain(min) and _plain(max) and input._array.dtype.kind == "f":
        return apply_one(numbers, input, (min, max))
    given = [limit for limit in (min, max) if limit is not None]
    common = dtypes.result_type(input, *given)
    input = input if input.dtype is common else input.to(common)
    if any(isinstance(limit, Tensor) for limit in given):
        limits = [x.to(common) if isinstance(x, Tensor) else x if x is None else _operand(x, input) for x in (min, max)]
        try:
            result = apply(tensors, (input, *limits))
        except ValueError:
            raise broadcast_error("clamp", [x._array.shape for x in (input, *limits) if x is not None]) from None
    elif any(limit != limit for limit in given):
        result = apply_one(_clamp, input, (math.nan, None)) if input.is_floating_point() else input.clone()
    else:
        result = apply_one(numbers, input, (min, max))
    return result if out is None else write_out(out, result)


@method
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit every element to ``[min, max]``; either end may be left open, and both may be tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return _clamped(_clamp, _clamp_tensors, input, min, max, out)


def _operand(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else wrap(module_of(like._array).asarray(value, like._array.dtype))


@method
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Limit from below."""
    _tensor_first("clamp_min", input)
    return _clamped(_clamp_min, _clamp_min_tensor, input, min, None, out)


@method
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Limit from above."""
    _tensor_first("clamp_max", input)
    return _clamped(_clamp_max, _clamp_max_tensor, input, None, max, out)


@method
def clip(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Another name for :func:`clamp`."""
    return clamp(input, min, max, out=out)


_where = Op(
    "where",
    lambda xp, condition, a, b: select(xp, condition, a, b),
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
    operands = [input, other]
    if not (isinstance(input, Tensor) and isinstance(other, Tensor) and input._array.dtype is other._array.dtype):
        target = dtypes.result_type(input, other)
        like = condition._array
        operands = [x.to(target) if isinstance(x, Tensor) else wrap(_full(like, x, target.numpy)) for x in operands]
    try:
        result = apply(_where, (condition, *operands))
    except ValueError:
        raise broadcast_error("where", [x._array.shape for x in (condition, *operands)]) from None
    return result if out is None else write_out(out, result, True)


def _full(like: Any, value: Any, dtype: Any) -> Any:
    return module_of(like).asarray(dtypes.number_as(value, dtype), dtype)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``where(condition, self, other)``."""
    return where(condition, self, other)


Tensor.where = _where_method  # type: ignore[attr-defined]


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` where ``mask`` is true."""
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype!r}")
    op = _masked_fill_tensor if isinstance(value, Tensor) else _masked_fill
    value = value if isinstance(value, Tensor) else wrap(_full(input._array, value, input._array.dtype))
    try:
        return apply(op, (input, mask, value.to(input.dtype)))
    except ValueError:
        raise broadcast_error("masked_fill", [input._array.shape, mask._array.shape]) from None


_MASKED_FILL = (
    lambda xp, a, mask, value: select(xp, mask, value, a),
    (
        lambda ns, g, mask: ns.where(mask, 0, g),
        None,
        lambda ns, g, mask: ns.sum(ns.where(mask, g, 0), None, False),
    ),
)
_masked_fill = Op("masked_fill", *_MASKED_FILL)
_masked_fill_tensor = Op("masked_fill_tensor", *_MASKED_FILL, node="MaskedFillBackward1")


_cast = Op("cast", lambda xp, a, dtype: a.astype(dtype), (lambda ns, g: g,), node="ToCopyBackward0")
Op(
    "move",
    lambda xp, a, target, source: move(a, target),
    (lambda ns, g, target, source: ns.move(g, source, target),),
    node="ToCopyBackward0",
)
_clone = Op("clone", lambda xp, a: a.copy("C" if 0 in a.strides else "K"), (lambda ns, g: g,))
_contiguous_clone = Op("contiguous_clone", lambda xp, a: a.copy(), (lambda ns, g: g,), node="CloneBackward0")
_fill = Op(
    "fill",
    lambda xp, a, value: xp.full_like(a, dtypes.number_as(value, a.dtype)),
    (zero_gradient,),
    node="FillBackward2",
)
_fill_tensor = Op(
    "fill_tensor",
    lambda xp, a, value: xp.broadcast_to(value, a.shape).astype(a.dtype),
    (zero_gradient, lambda ns, g: ns.sum(g, None, False)),
    node="FillBackward3",
)
_zero = Op("zero", lambda xp, a: xp.zeros_like(a), (zero_gradient,))
_copy = Op(
    "copy",
    lambda xp, a, source: xp.broadcast_to(source, a.shape).astype(a.dtype),
    (zero_gradient, lambda ns, g: g),
    node="torch::autograd::CopyBackwards",
)


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that stays connected: gradients flow back through it.

    Args:
        memory_format: ``contiguous_format`` for row-major order; otherwise the copy is laid out as the input is.
    """
    if memory_format is not None and "contiguous" in str(memory_format):
        return apply_one(_contiguous_clone, input)
    return apply_one(_clone, input)


@method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the elements with those of ``src``, broadcast and converted."""
    if not isinstance(src, Tensor):
        if not isinstance(src, (builtins.bool, builtins.int, builtins.float)):
            raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(src).__name__}")
        src = wrap(_full(self._array, src, dtypes.scalar_dtype(src).numpy))
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
    check_overlap(self._array, src._array)
    return assign(self, apply(_copy, (self, src)), same_memory(self._array, src._array))


Tensor.copy_ = copy_  # type: ignore[attr-defined]


def _fill_method(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value."""
    check_inplace(self)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
            )
        return assign(self, apply(_fill_tensor, (self, value.to(self.dtype))), True)
    return assign(self, apply_one(_fill, self, (value,)), True)


def _zero_method(self: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    check_inplace(self)
    return assign(self, apply_one(_zero, self), True)


Tensor.fill_, Tensor.zero_ = _fill_method, _zero_method  # type: ignore[attr-defined]


for _function in (clamp, clip, clamp_min, clamp_max, round, masked_fill, nan_to_num):
    inplace(_function)
_ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "divide": "div", "fix": "trunc", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne", "subtract": "sub",
}  # fmt: skip
for _alias, _name in _ALIASES.items():
    _given = getattr(Tensor, _name)
    setattr(Tensor, _alias, _given)
    globals()[_alias] = _given
    if hasattr(Tensor, _name + "_"):
        setattr(Tensor, _alias + "_", getattr(Tensor, _name + "_"))


_OPERANDS = (Tensor, builtins.bool, builtins.int, builtins.float, np.bool_, np.integer, np.floating, np.ndarray)


def _operator(function: Any, reflected: builtins.bool = False) -> Any:
    def forward(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    def backward(self: Tensor, other: Any) -> Any:
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return backward if reflected else forward


def _reciprocal_times(self: Tensor, other: Any) -> Tensor:
    return reciprocal(self) * other


_BINARY = {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide, "mod": remainder, "pow": pow,
    "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift,
    "rshift": bitwise_right_shift,
}  # fmt: skip
_binary_function: Any
for _symbol, _binary_function in _BINARY.items():
    setattr(Tensor, f"__{_symbol}__", _operator(_binary_function))
    setattr(Tensor, f"__r{_symbol}__", _operator(_binary_function, reflected=True))
    setattr(Tensor, f"__i{_symbol}__", getattr(Tensor, _binary_function.__name__ + "_"))
Tensor.__add__ = Tensor.__radd__ = _add  # type: ignore[method-assign]
Tensor.__rsub__ = _operator(rsub)  # type: ignore[method-assign]
Tensor.__rtruediv__ = _operator(_reciprocal_times)  # type: ignore[method-assign]
Tensor.__mul__ = Tensor.__rmul__ = mul  # type: ignore[method-assign]
Tensor.__truediv__ = _true_divide  # type: ignore[method-assign]
for _function in (eq, ne, lt, le, gt, ge):
    setattr(Tensor, f"__{_function.__name__}__", _operator(_function))
Tensor.__neg__ = neg  # type: ignore[method-assign]
Tensor.__pos__ = positive  # type: ignore[method-assign]
Tensor.__abs__ = abs  # type: ignore[attr-defined]


def _inverted(self: Tensor) -> Tensor:
    if self._array.dtype.kind == "f":
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, not {self.dtype!r}"
        )
    return bitwise_not(self)


Tensor.__invert__ = _inverted  # type: ignore[method-assign]

__all__ = public(globals(), internal=["copy_"])
