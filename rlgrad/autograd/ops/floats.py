"""Parts of floating numbers and of whole ones: exponents, neighbours, common divisors; and what is trivial for real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.arithmetic import _tensor_first, zero_gradient
from rlgrad.autograd.ops.define import binary, method, public, unary
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes

gcd = binary("gcd", "gcd", numbers="none")
lcm = binary("lcm", "lcm", numbers="none")
nextafter = binary(
    "nextafter",
    "nextafter",
    (lambda ns, g, a, b: g * ns.mask(ns.ne(a, b), g), zero_gradient),
    numbers="none",
)


@method
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``."""
    _tensor_first("ldexp", input, other)
    if other._array.dtype.kind == "b" and input.is_floating_point():
        raise NotImplementedError("ldexp is not implemented for a bool exponent; convert it with .int()")
    factor = 2.0**other
    if other._array.dtype.kind != "f" and input.is_floating_point():
        factor = factor.to(input.dtype)
    result = renamed(input * factor, "LdexpBackward0")
    return result if out is None else write_out(out, result)


inplace(ldexp)

_frexp = Op(
    "frexp",
    lambda xp, a: tuple(xp.frexp(a)),
    (lambda ns, grads, out1: grads[0] * ns.exp2(ns.cast(-out1, ns.array(grads[0]).dtype)),),
    multiple=True,
)
_Frexp = results("frexp", "mantissa exponent")


@with_out()
@method
def frexp(input: Tensor) -> Any:
    """Mantissas in [0.5, 1) and exponents with ``input = mantissa * 2 ** exponent``."""
    if not input.is_floating_point():
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype!r}")
    return _Frexp(*apply(_frexp, (input,)))


def _angle_forward(xp: Any, a: Any) -> Any:
    out = xp.asarray((a < 0).astype(a.dtype))
    out *= math.pi
    nan = a != a
    if nan.any():
        xp.copyto(out, a, where=nan)
    return out


angle = unary("angle", _angle_forward, lambda ns, g: ns.zeros_like(g), in_place=False)


def real(input: Tensor) -> Tensor:
    """The tensor itself: no dtype here is complex."""
    return input


def imag(input: Tensor) -> Tensor:
    """Imaginary parts, which real numbers have not.

    Raises:
        RuntimeError: always, as in PyTorch for real dtypes.
    """
    raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes, got {input.dtype!r}.")


def _itself(name: str) -> Any:
    def function(input: Tensor) -> Tensor:
        return input

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"PyTorch's ``{name}``, which leaves real numbers as they are."
    return method(function)


conj, resolve_conj, resolve_neg = _itself("conj"), _itself("resolve_conj"), _itself("resolve_neg")


@method
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor itself, as for all real numbers."""
    return input if out is None else write_out(out, input.clone(), True)


Tensor.conj_physical_ = lambda self: self  # type: ignore[attr-defined]


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element of a vector as rows, from the highest down unless ``increasing``."""
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got {x.ndim} dimensions")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative, got {count}")
    base = x if x.is_floating_point() else x.to(dtypes.int64)
    exponents = np.arange(count) if increasing else np.arange(count)[::-1]
    if not count:
        return base.new_empty((x.shape[0], 0))
    from rlgrad.autograd.ops.joining import stack

    return stack([base ** int(k) for k in exponents], 1)


__all__ = public(globals())
