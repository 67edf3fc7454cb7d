"""Special functions: error functions, the gamma family, and products that stay finite at zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import binary, elementwise, method, public, unary
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes
from rlgrad.backend.kernels import elementary
from rlgrad.backend.kernels.selecting import select
from rlgrad.backend.special import special_of


def _from_scipy(name: str, half: bool = True) -> Callable[[Any, Any], Any]:
    """The forward of a function that SciPy and CuPy have.

    Args:
        half: PyTorch has it in half precision too.
    """

    def forward(xp: Any, a: Any) -> Any:
        if not half:
            refuse_half(name, a)
        return getattr(special_of(xp), name)(a).astype(a.dtype)

    return forward


def refuse_half(name: str, array: Any) -> None:
    """Refuse half precision, which PyTorch has no kernel for here."""
    if array.dtype == np.float16:
        raise NotImplementedError(f"{name} is not implemented for torch.float16; convert the tensor with .float()")


_SLOPE = 2 / math.sqrt(math.pi)


def _erf_forward(xp: Any, a: Any) -> Any:
    found = elementary.erf(a)
    return special_of(xp).erf(a).astype(a.dtype) if found is None else found


erf = unary("erf", _erf_forward, lambda ns, g, a: g * (ns.exp(-a * a) * _SLOPE))
erfc = unary("erfc", _from_scipy("erfc"), lambda ns, g, a: g * (ns.exp(-a * a) * -_SLOPE))
erfinv = unary("erfinv", _from_scipy("erfinv"), lambda ns, g, out: g * (ns.exp(out * out) * (1 / _SLOPE)))


def _lgamma_forward(xp: Any, a: Any) -> Any:
    return xp.where(xp.isinf(a), math.inf, special_of(xp).gammaln(a)).astype(a.dtype)


def _polygamma_forward(xp: Any, a: Any, n: int) -> Any:
    library = special_of(xp)
    if n == 0:
        return library.digamma(a).astype(a.dtype)
    wide = a.astype(np.float64)
    if n == 1:  # by reflection on the negative side, which the library leaves out
        negative = wide < 0.5
        with np.errstate(divide="ignore"):
            if not xp.any(negative):
                return _of_positive(xp, wide, 1).astype(a.dtype)
            values = _of_positive(xp, xp.where(negative, 1 - wide, wide), 1)
            own = np.float64 if a.dtype == np.float64 else np.float32  # PyTorch rounds the angle: it decides at poles
            sine = xp.sin(own(math.pi) * xp.where(negative, a, 1).astype(own)).astype(np.float64)
            return xp.where(negative, (math.pi / sine) ** 2 - values, values).astype(a.dtype)
    values = _of_positive(xp, wide, n) if n < 5 and not xp.any(wide <= 0) else library.polygamma(n, wide)
    return xp.where(wide == math.inf, math.nan, values).astype(a.dtype)


def _of_positive(xp: Any, wide: Any, n: int) -> Any:
    """``polygamma`` of positive numbers, for a large array on the CPU ten times as fast as the library's."""
    return elementary.polygamma(n, wide) if xp is np and wide.size > 64 else special_of(xp).polygamma(n, wide)


_polygamma = Op("polygamma", _polygamma_forward, (lambda ns, g, a, n: g * ns.polygamma(a, n + 1),))
lgamma = unary("lgamma", _lgamma_forward, lambda ns, g, a: g * ns.digamma(a))
digamma = unary("digamma", _from_scipy("digamma"), lambda ns, g, a: g * ns.polygamma(a, 1))


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of :func:`digamma`."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    result = apply_one(_polygamma, _floating(input), (n,))
    return result if out is None else write_out(out, result)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The ``n``-th derivative of ``digamma`` at each element."""
    return polygamma(n, self)


Tensor.polygamma = _polygamma_method  # type: ignore[attr-defined]
inplace(_polygamma_method, "polygamma_")


@with_out(cast=True)
@method
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return apply_one(_mvlgamma, _floating(input), (p,))


def _mvlgamma_forward(xp: Any, a: Any, p: int) -> Any:
    parts = sum(_lgamma_forward(xp, a - a.dtype.type(j / 2)) for j in range(p))
    return xp.asarray(parts + a.dtype.type(p * (p - 1) / 4 * math.log(math.pi)))


_mvlgamma = Op("mvlgamma", _mvlgamma_forward, (lambda ns, g, a, p: g * sum(ns.digamma(a - j / 2) for j in range(p)),))
inplace(mvlgamma)


def _floating(input: Tensor) -> Tensor:
    return input if input._array.dtype.kind == "f" else input.to(dtypes.get_default_dtype())


# Products that are zero where a factor is


def _xlogy_forward(xp: Any, a: Any, b: Any) -> Any:
    product = xp.asarray(a * (xp.log(b) if hasattr(b, "dtype") else float(np.log(b))))
    zero = a == 0
    if xp is np and not np.count_nonzero(zero):  # as most often
        return product
    return select(xp, xp.asarray(zero & (b == b)), 0, product)


_xlogy = binary(
    "xlogy",
    _xlogy_forward,
    (
        lambda ns, g, a, b: g * ns.where(ns.nothing_times_log(a, b), 0, ns.log(b)),
        lambda ns, g, a, b: g * (a / b),
    ),
    kind="float",
    methods=False,
)
Op("nothing_times_log", lambda xp, a, b: (a == 0) & (b <= 0), inputs=2)
_xlogy_of_number = Op("xlogy_of_number", _xlogy_forward, (None, lambda ns, g, a, b: g * (a / b)), node="XlogyBackward1")
_xlogy_number = Op(
    "xlogy_number",
    _xlogy_forward,
    (lambda ns, g, a, b: g * ns.where(ns.nothing_times_log(a, b), 0, math.log(b) if b > 0 else math.nan), None),
    node="XlogyBackward2",
)


def xlogy(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and zero where ``input`` is."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"xlogy(): expected a Tensor among the operands, got {input!r} and {other!r}")
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        result = _xlogy(input, other)
    else:
        result = elementwise(_xlogy_number if isinstance(input, Tensor) else _xlogy_of_number, (input, other), "float")
    return result if out is None else write_out(out, result)


Tensor.xlogy = xlogy  # type: ignore[attr-defined]
inplace(xlogy)


def _logit_forward(xp: Any, a: Any, eps: float | None) -> Any:
    clamped = a if eps is None else xp.clip(a, eps, 1 - eps)
    return xp.log(clamped / (1 - clamped))


def _logit_vjp(ns: Any, g: Any, a: Any, eps: float | None) -> Any:
    slope = g / (a * (1 - a))
    if eps is None:
        return ns.where(ns.within(a, 0, 1), slope, math.nan)
    return ns.where(ns.within(a, eps, 1 - eps), slope, 0)


_logit = Op("logit", _logit_forward, (_logit_vjp,))


@method
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of :func:`sigmoid`; with ``eps`` the input is first clamped to ``[eps, 1 - eps]``."""
    result = apply_one(_logit, _floating(input), (eps,))
    return result if out is None else write_out(out, result)


inplace(logit)


def _sinc_slope_forward(xp: Any, a: Any) -> Any:
    safe = xp.where(a == 0, 1, a)
    return xp.where(a == 0, 0, (xp.cos(math.pi * a) - xp.sinc(a)) / safe).astype(a.dtype)


def _sinc_curvature(ns: Any, g: Any, a: Any) -> Any:
    at_zero = a == 0
    away = ns.sinc_slope(a) * -2 / ns.where(at_zero, 1, a)
    return g * (ns.where(at_zero, ns.sinc(a) * (2 * math.pi**2 / 3), away) - ns.sinc(a) * math.pi**2)


Op("sinc_slope", _sinc_slope_forward, (_sinc_curvature,))


def _sinc_forward(xp: Any, a: Any) -> Any:
    angle = xp.asarray((a.astype(np.float32) if a.dtype == np.float16 else a) * math.pi)
    zero = xp.asarray(a == 0)
    if xp is not np or np.count_nonzero(zero):
        angle = select(xp, zero, xp.asarray(1, angle.dtype), angle)
        return select(xp, zero, xp.asarray(1, angle.dtype), xp.sin(angle) / angle).astype(a.dtype, copy=False)
    return (xp.sin(angle) / angle).astype(a.dtype, copy=False)


sinc = unary("sinc", _sinc_forward, lambda ns, g, a: g * ns.sinc_slope(a))

__all__ = public(globals(), internal=["refuse_half"])
