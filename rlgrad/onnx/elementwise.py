"""What operations that work element by element are in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgrad.onnx.graph import ExportError, Step, Translation, onnx_type

SAME = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "pow": "Pow",
    "pow_of_number": "Pow",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "neg": "Neg",
    "abs": "Abs",
    "sign": "Sign",
    "sgn": "Sign",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "floor": "Floor",
    "ceil": "Ceil",
    "round": "Round",
    "erf": "Erf",
    "relu": "Relu",
    "mish": "Mish",
    "hardswish": "HardSwish",
    "clone": "Identity",
    "contiguous_clone": "Identity",
    "alias": "Identity",
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
}
"""Operations that ONNX has under another name, with the same inputs."""

LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}


def _same(kind: str) -> Translation:
    return lambda s: s.add(kind, *s.names())


def _logical(kind: str) -> Translation:
    def translate(s: Step) -> str:
        boolean = onnx_type(np.bool_)
        return s.add(kind, *[s.add("Cast", name, to=boolean) for name in s.names()])

    return translate


def _bitwise(kind: str) -> Translation:
    """Of booleans the logical operation."""
    return lambda s: s.add(kind if s.dtype.kind == "b" else f"Bitwise{kind}", *s.names())


def _scaled(kind: str, after: float = 1.0, before: float = 1.0) -> Translation:
    """``after * kind(before * x)``."""

    def translate(s: Step) -> str:
        x = s[0] if before == 1 else s.add("Mul", s[0], s.constant(before))
        y = s.add(kind, x)
        return y if after == 1 else s.add("Mul", y, s.constant(after))

    return translate


def _clip(low: str, high: str) -> Translation:
    def translate(s: Step) -> str:
        x, least, most = s[0], s.attribute(low), s.attribute(high)
        if least is not None:
            x = s.add("Max", x, s.constant(least))
        return x if most is None else s.add("Min", x, s.constant(most))

    return translate


def _clamp_tensors(s: Step) -> str:
    x = s[0]
    for index, kind in ((1, "Max"), (2, "Min")):
        x = s.add(kind, x, s[index]) if s.has(index) else x
    return x


def _choose(s: Step, condition: str, x: Any, y: Any) -> str:
    return s.add("Where", condition, x, y)


def _softplus(s: Step) -> str:
    beta, threshold = s.attribute("beta"), s.attribute("threshold")
    scaled = s[0] if beta == 1 else s.add("Mul", s[0], s.constant(beta))
    y = s.add("Softplus", scaled)
    y = y if beta == 1 else s.add("Div", y, s.constant(beta))
    if threshold >= 20:  # where the bend is over
        return y
    return _choose(s, s.add("Greater", scaled, s.constant(threshold)), s[0], y)


def _gelu(s: Step) -> str:
    grown = s.add("Add", s.add("Erf", s.add("Mul", s[0], s.constant(math.sqrt(0.5)))), s.constant(1))
    return s.add("Mul", s.add("Mul", s[0], s.constant(0.5)), grown)


def _gelu_tanh(s: Step) -> str:
    cube = s.add("Mul", s.add("Mul", s.add("Mul", s[0], s[0]), s[0]), s.constant(0.044715))
    curve = s.add("Tanh", s.add("Mul", s.add("Add", s[0], cube), s.constant(math.sqrt(2 / math.pi))))
    return s.add("Mul", s.add("Mul", s[0], s.constant(0.5)), s.add("Add", curve, s.constant(1)))


def _exponential_tail(s: Step) -> str:
    """``scale * (max(0, x) + min(0, alpha * (exp(rate * x) - 1)))``: SELU and CELU."""
    alpha, scale, rate = (s.attribute(name) for name in ("alpha", "scale", "rate"))
    zero = s.constant(0)
    low = s.add("Min", s[0], zero)
    tail = s.add(
        "Mul", s.add("Sub", s.add("Exp", s.add("Mul", low, s.constant(rate))), s.constant(1)), s.constant(alpha)
    )
    return s.add("Mul", s.add("Add", s.add("Max", s[0], zero), tail), s.constant(scale))


def _shrink(s: Step, keep: bool) -> str:
    """Zero in ``[-lambd, lambd]``; outside ``x`` as it is, or moved towards zero by ``lambd``."""
    lambd = s.attribute("lambd")
    if lambd < 0:
        return s[0] if keep else s.add("Sub", s[0], s.add("Mul", s.add("Sign", s[0]), s.constant(lambd)))
    return s.add("Shrink", s[0], lambd=float(lambd), bias=0.0 if keep else float(lambd))


def _masked_fill(s: Step) -> str:
    return _choose(s, s[1], s.operand(2), s[0])


def _truncated(s: Step) -> str:
    return s.add("Mul", s.add("Sign", s[0]), s.add("Floor", s.add("Abs", s[0])))


def _remainder(s: Step) -> str:
    """With the divisor's sign."""
    x, y = s[0], s[1]
    return s.add("Sub", x, s.add("Mul", y, s.add("Floor", s.add("Div", x, y))))


def _logaddexp(s: Step) -> str:
    x, y = s[0], s[1]
    apart = s.add("Abs", s.add("Sub", x, y))
    return s.add("Add", s.add("Max", x, y), s.add("Softplus", s.add("Neg", apart)))


def _logit(s: Step) -> str:
    x, eps = s[0], s.attribute("eps")
    if eps is not None and eps >= 0:
        x = s.add("Min", s.add("Max", x, s.constant(eps)), s.constant(1 - eps))
    return s.add("Log", s.add("Div", x, s.add("Sub", s.constant(1), x)))


def _floats(translation: Translation) -> Translation:
    """A translation that does not hold for integers."""

    def translate(s: Step) -> Any:
        if s.dtype.kind != "f":
            raise ExportError("of integers it has no translation to ONNX")
        return translation(s)

    return translate


def _numbers_first(s: Step) -> str:
    return s.add("Sub", s[1], s[0])


TABLE: dict[str, Translation] = {
    **{name: _same(kind) for name, kind in SAME.items()},
    **{name: _logical(kind) for name, kind in LOGICAL.items()},
    **{f"bitwise_{kind.lower()}": _bitwise(kind) for kind in ("And", "Or", "Xor", "Not")},
    "ne": lambda s: s.add("Not", s.add("Equal", *s.names())),
    "rsub": _numbers_first,
    "rsub_tensor": _numbers_first,
    "square": lambda s: s.add("Mul", s[0], s[0]),
    "pow_scalar": lambda s: s.add("Pow", s[0], s.constant(s.attribute("exponent"))),
    "rsqrt": lambda s: s.add("Reciprocal", s.add("Sqrt", s[0])),
    "log2": _scaled("Log", after=1 / math.log(2)),
    "log10": _scaled("Log", after=1 / math.log(10)),
    "exp2": _scaled("Exp", before=math.log(2)),
    "log1p": lambda s: s.add("Log", s.add("Add", s[0], s.constant(1))),
    "expm1": lambda s: s.add("Sub", s.add("Exp", s[0]), s.constant(1)),
    "lerp": lambda s: s.add("Add", s[0], s.add("Mul", s.operand(2), s.add("Sub", s[1], s[0]))),
    "lerp_number": lambda s: s.add("Add", s[0], s.add("Mul", s.operand(2), s.add("Sub", s[1], s[0]))),
    "addcmul": lambda s: s.add("Add", s[0], s.add("Mul", s.operand(3), s.add("Mul", s[1], s[2]))),
    "addcdiv": lambda s: s.add("Add", s[0], s.add("Mul", s.operand(3), s.add("Div", s[1], s[2]))),
    **dict.fromkeys(("floor_div", "floor_divide"), _floats(lambda s: s.add("Floor", s.add("Div", *s.names())))),
    **dict.fromkeys(("remainder", "remainder_number"), _floats(_remainder)),
    **dict.fromkeys(("fmod", "fmod_number"), lambda s: s.add("Mod", s[0], s.operand(1), fmod=1)),
    "trunc": _truncated,
    "frac": lambda s: s.add("Sub", s[0], _truncated(s)),
    "logaddexp": _logaddexp,
    "logit": _logit,
    "erfc": lambda s: s.add("Sub", s.constant(1), s.add("Erf", s[0])),
    "hypot": lambda s: s.add("Sqrt", s.add("Add", *[s.add("Mul", name, name) for name in s.names()])),
    "deg2rad": lambda s: s.add("Mul", s[0], s.constant(math.pi / 180)),
    "rad2deg": lambda s: s.add("Mul", s[0], s.constant(180 / math.pi)),
    "cast": lambda s: s.add("Cast", s[0], to=onnx_type(s.attribute("dtype"))),
    "where": lambda s: _choose(s, s[0], s[1], s[2]),
    "masked_fill": _masked_fill,
    "masked_fill_tensor": _masked_fill,
    "clamp": _clip("low", "high"),
    "clamp_min": _clip("low", "high"),
    "clamp_max": _clip("low", "high"),
    "hardtanh": _clip("low", "high"),
    "clamp_tensors": _clamp_tensors,
    "clamp_min_tensor": _clamp_tensors,
    "clamp_max_tensor": _clamp_tensors,
    "leaky_relu": lambda s: s.add("LeakyRelu", s[0], alpha=float(s.attribute("slope"))),
    "elu": lambda s: s.add("Elu", s[0], alpha=float(s.attribute("alpha"))),
    "selu": _exponential_tail,
    "celu": _exponential_tail,
    "softplus": _softplus,
    "logsigmoid": lambda s: s.add("Neg", s.add("Softplus", s.add("Neg", s[0]))),
    "silu": lambda s: s.add("Mul", s[0], s.add("Sigmoid", s[0])),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "hardsigmoid": lambda s: s.add("HardSigmoid", s[0], alpha=1 / 6, beta=0.5),
    "hardshrink": lambda s: _shrink(s, keep=True),
    "softshrink": lambda s: _shrink(s, keep=False),
    "threshold": lambda s: _choose(
        s, s.add("Greater", s[0], s.constant(s.attribute("threshold"))), s[0], s.constant(s.attribute("value"))
    ),
    "prelu": lambda s: _choose(s, s.add("Greater", s[0], s.constant(0)), s[0], s.add("Mul", s[0], s[1])),
}
