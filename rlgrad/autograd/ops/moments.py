"""Variances and standard deviations, alone and with their means."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.define import many_dims, method, numpy_names, public, spread
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.reductions import count_of, mean_forward, mean_vjp, sum_forward
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor


def _spread_and_mean(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """The variance, and the mean with its dimensions kept."""
    mean = mean_forward(xp, a, dims, True)
    squares = a - mean
    squares *= squares
    freedom = max(count_of(a.shape, dims) - correction, 0)
    return sum_forward(xp, squares, dims, keepdim) / a.dtype.type(freedom), mean


def _var_forward(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
    return _spread_and_mean(xp, a, dims, correction, keepdim)[0]


def _var_vjp(ns: Any, g: Any, a: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    freedom = max(count_of(a_shape, dims) - correction, 0)
    scale = 2.0 / freedom if freedom else float("inf")
    return spread(ns, g, a_shape, dims, keepdim) * ((a - ns.mean(a, dims, True)) * scale)


_var = Op("var", _var_forward, (_var_vjp,))


def _std_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    slope = ns.where(out == 0, 0, g / (out * 2))
    return _var_vjp(ns, slope, a, a_shape, dims, correction, keepdim)


_std = Op(
    "std",
    lambda xp, a, dims, correction, keepdim: xp.sqrt(_var_forward(xp, a, dims, correction, keepdim)),
    (_std_vjp,),
)


def _spread_arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


@method
@numpy_names
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Variance, divided by ``n - correction`` (1 unless told)."""
    result = _moments(_var, "var", input, dim, unbiased, keepdim, correction)
    return result if out is None else write_out(out, result)


@method
@numpy_names
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Standard deviation, the root of :func:`var`."""
    result = _moments(_std, "std", input, dim, unbiased, keepdim, correction)
    return result if out is None else write_out(out, result)


def _moments(op: Op, name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    dim, correction = _spread_arguments(dim, unbiased, correction)
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"{name} only support floating point dtypes; convert the {input.dtype!r} tensor first")
    return apply(op, (input,), (many_dims(dim, input._array.ndim), correction, keepdim))


def _var_mean_forward(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    spread, mean = _spread_and_mean(xp, a, dims, correction, keepdim)
    spread = xp.asarray(spread)
    return spread, mean.reshape(spread.shape)


def _std_mean_forward(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    spread, mean = _var_mean_forward(xp, a, dims, correction, keepdim)
    return xp.asarray(xp.sqrt(spread)), mean


def _var_mean_vjp(ns: Any, grads: Any, a: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    parts = []
    if 0 in grads:
        parts.append(_var_vjp(ns, grads[0], a, a_shape, dims, correction, keepdim))
    if 1 in grads:
        parts.append(mean_vjp(ns, grads[1], a_shape, dims, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _std_mean_vjp(
    ns: Any, grads: Any, a: Any, out0: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any
) -> Any:
    parts = []
    if 0 in grads:
        parts.append(_std_vjp(ns, grads[0], a, out0, a_shape, dims, correction, keepdim))
    if 1 in grads:
        parts.append(mean_vjp(ns, grads[1], a_shape, dims, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


_var_mean = Op("var_mean", _var_mean_forward, (_var_mean_vjp,), multiple=True)
_std_mean = Op("std_mean", _std_mean_forward, (_std_mean_vjp,), multiple=True)


@numpy_names
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """:func:`var` and :func:`mean` in one."""
    return _moments(_var_mean, "var_mean", input, dim, unbiased, keepdim, correction)


@numpy_names
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """:func:`std` and :func:`mean` in one."""
    return _moments(_std_mean, "std_mean", input, dim, unbiased, keepdim, correction)


__all__ = public(globals())
