"""Running sums, products and extremes along a dimension, products of everything, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public, spread
from rlgrad.autograd.ops.extremes import at_index
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out, write_outs
from rlgrad.autograd.ops.reductions import accumulable
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import module_of


def _reversed_cumsum(ns: Any, g: Any, dim: int) -> Any:
    return ns.flip(ns.cumsum(ns.flip(g, (dim,)), dim), (dim,))


def _running_result(xp: Any, ufunc: str, a: Any, dim: int) -> Any:
    """Running sums or products in the array's own dtype."""
    if not a.ndim:
        return a.copy()
    if xp is np:
        return getattr(np, ufunc).accumulate(a, dim, a.dtype)
    return (xp.cumsum if ufunc == "add" else xp.cumprod)(a, axis=dim, dtype=a.dtype)


_cumsum = Op(
    "cumsum",
    lambda xp, a, dim: _running_result(xp, "add", a, dim),
    (lambda ns, g, a_shape, dim: _reversed_cumsum(ns, g, dim) if a_shape else g,),
)


@method
def cumsum(input: Tensor, dim: Any = None, *, axis: Any = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sum along ``dim``."""
    if axis is not None:
        dim = axis
    input = accumulable(input, out.dtype if dtype is None and out is not None else dtype)
    result = apply_one(_cumsum, input, (one_dim(dim, input._array.ndim),))
    return result if out is None else write_out(out, result)


# Products. Where an element is zero, dividing by it is not the way to the product of the others.


def _has_zero(ns: Any, a: Any) -> bool:
    return not bool(ns.array(a).all())


def _others(shape: tuple[int, ...], dim: int) -> tuple[tuple[int, ...], np.ndarray]:
    """The shape with a new dimension before ``dim``, and a mask there of the element that is left out."""
    n = shape[dim]
    wide = (*shape[:dim], 1, *shape[dim:])
    left_out = np.eye(n, dtype=bool).reshape((n, n, *[1] * (len(shape) - dim - 1)))
    return wide, left_out


def _product_of_others(xp: Any, a: Any, dim: int) -> Any:
    """For each element the product of the others along ``dim``."""
    one = xp.ones((*a.shape[:dim], 1, *a.shape[dim + 1 :]), a.dtype)
    first, last = (slice(None),) * dim + (slice(1, None),), (slice(None),) * dim + (slice(None, -1),)
    before = xp.cumprod(xp.concatenate([one, a[last]], dim), dim)
    after = xp.flip(xp.cumprod(xp.flip(xp.concatenate([a[first], one], dim), dim), dim), dim)
    return before * after


Op("product_of_others", _product_of_others, inputs=1)


def _prod_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dim: Any, keepdim: bool) -> Any:
    if not a_shape:
        return g
    if dim is None:
        flat = ns.reshape(a, (-1,))
        return ns.reshape(_prod_vjp(ns, g, flat, out, flat.shape, 0, False), a_shape)
    g = spread(ns, g, a_shape, (dim,), keepdim)
    if not _has_zero(ns, a):
        return g * spread(ns, out, a_shape, (dim,), keepdim) / a
    if not ns.recorded:
        return g * ns.product_of_others(a, dim)
    wide, left_out = _others(tuple(a_shape), dim)
    return g * ns.prod(ns.where(_like(ns, a, left_out), 1, ns.reshape(a, wide)), dim + 1, False)


def _like(ns: Any, a: Any, mask: np.ndarray) -> Any:
    return module_of(ns.array(a)).asarray(mask)


def _prod_forward(xp: Any, a: Any, dim: int | None, keepdim: bool) -> Any:
    last = a.size if dim is None else a.shape[dim] if dim == a.ndim - 1 else 0
    if xp is not np or last < _FOLDED or a.dtype.kind != "f" or not a.flags.c_contiguous:
        return xp.prod(a, axis=dim, keepdims=keepdim)
    rows = a.reshape(-1, last)
    while rows.shape[1] >= _FOLDED:  # NumPy multiplies whole rows several times as fast as neighbours
        width = rows.shape[1] // 16
        folded = np.multiply.reduce(rows[:, : 16 * width].reshape(len(rows), 16, width), 1)
        folded[:, : rows.shape[1] - 16 * width] *= rows[:, 16 * width :]
        rows = folded
    lead = () if dim is None else a.shape[:-1]
    return np.multiply.reduce(rows, 1).reshape((*lead, 1) if keepdim else lead)


_FOLDED = 512
_PROD = (_prod_forward, (_prod_vjp,))
_prod_all = Op("prod_all", *_PROD, node="ProdBackward0")
_prod_dim = Op("prod", *_PROD, node="ProdBackward1")


@method
@numpy_names
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Product over ``dim``, or of everything."""
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype
    input = accumulable(input, dtype)
    if dim is None:
        result = apply_one(_prod_all, input, (None, False))
    else:
        dim = one_dim(dim, input._array.ndim)
        result = apply_one(_prod_dim, input, (dim if input._array.ndim else None, keepdim))
    if dtype is not None:
        result = result.to(dtype)  # NumPy multiplies small integers in larger ones
    return result if out is None else write_out(out, result, True)


def _cumprod_gradient(xp: Any, g: Any, a: Any, dim: int) -> Any:
    """Gradient of a running product: one pass from the end, without a division."""
    g, a = xp.moveaxis(g, dim, 0), xp.moveaxis(a, dim, 0)
    before = xp.concatenate([xp.ones((1, *a.shape[1:]), a.dtype), xp.cumprod(a[:-1], 0)])
    result = xp.empty(a.shape, a.dtype)
    tail = xp.zeros(a.shape[1:], a.dtype)
    for i in range(a.shape[0] - 1, -1, -1):
        tail = g[i] + (tail * a[i + 1] if i + 1 < a.shape[0] else 0)
        result[i] = before[i] * tail
    return xp.moveaxis(result, 0, dim)


Op("cumprod_gradient", _cumprod_gradient, inputs=2)


def _cumprod_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dim: int) -> Any:
    if not a_shape:
        return g
    if not _has_zero(ns, a):
        return _reversed_cumsum(ns, g * out, dim) / a
    if not ns.recorded:
        return ns.cumprod_gradient(g, a, dim)
    wide, left_out = _others(tuple(a_shape), dim)
    n = a_shape[dim]
    later = np.triu(np.ones((n, n), bool)).reshape(left_out.shape)
    running = ns.cumprod(ns.expand(*_filled(ns, a, left_out, wide, dim)), dim + 1)
    return ns.sum(ns.where(_like(ns, a, later), ns.reshape(g, wide) * running, 0), (dim + 1,), False)


def _filled(ns: Any, a: Any, left_out: np.ndarray, wide: tuple[int, ...], dim: int) -> tuple[Any, tuple[int, ...]]:
    n = wide[dim + 1]
    full = (*wide[:dim], n, *wide[dim + 1 :])
    return ns.where(_like(ns, a, left_out), 1, ns.reshape(a, wide)), full


_cumprod = Op(
    "cumprod",
    lambda xp, a, dim: _running_result(xp, "multiply", a, dim),
    (_cumprod_vjp,),
)


@method
@numpy_names
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running product along ``dim``."""
    input = accumulable(input, out.dtype if dtype is None and out is not None else dtype)
    result = apply_one(_cumprod, input, (one_dim(dim, input._array.ndim),))
    return result if out is None else write_out(out, result)


def _accumulated(xp: Any, name: str, a: Any, dim: int) -> Any:
    """Running results of an associative ufunc along ``dim``; CuPy has those of sums and products only."""
    ufunc = getattr(xp, name)
    if xp is np:
        return ufunc.accumulate(a, axis=dim)
    out, step = xp.moveaxis(a, dim, 0).copy(), 1
    while step < len(out):  # after each round an element covers twice as many before it (Hillis and Steele, 1986)
        out[step:] = ufunc(out[step:], out[:-step])
        step *= 2
    return xp.moveaxis(out, 0, dim)


def _running(xp: Any, a: Any, dim: int, name: str) -> tuple[Any, Any]:
    if not a.ndim:
        return a.copy(), xp.zeros((), np.int64)
    values = _accumulated(xp, name, a, dim)
    hits = a == values
    hits |= a != a
    positions = xp.arange(a.shape[dim]).reshape(-1, *[1] * (a.ndim - dim - 1))
    return values, _accumulated(xp, "maximum", hits * positions, dim)


def _running_vjp(ns: Any, grads: Any, out1: Any, a_shape: Any, dim: int) -> Any:
    return at_index(ns, grads, out1, a_shape, dim, True)


_cummax = Op("cummax", lambda xp, a, dim: _running(xp, a, dim, "maximum"), (_running_vjp,), multiple=True)
_cummin = Op("cummin", lambda xp, a, dim: _running(xp, a, dim, "minimum"), (_running_vjp,), multiple=True)
_CummaxResult = results("cummax", "values indices")
_CumminResult = results("cummin", "values indices")


@method
@numpy_names
def cummax(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """Largest element so far along ``dim``, and where it was (the latest of equals)."""
    result = _CummaxResult(*apply(_cummax, (input,), (one_dim(dim, input._array.ndim),)))
    return result if out is None else write_outs(out, result)


@method
@numpy_names
def cummin(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """Smallest element so far along ``dim``, and where it was (the latest of equals)."""
    result = _CumminResult(*apply(_cummin, (input,), (one_dim(dim, input._array.ndim),)))
    return result if out is None else write_outs(out, result)


def _logcumsumexp_forward(xp: Any, a: Any, dim: int) -> Any:
    return _accumulated(xp, "logaddexp", a, dim) if a.ndim else a.copy()


def _logcumsumexp_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dim: int) -> Any:
    if not a_shape:
        return g
    lowest = float(np.finfo(ns.array(a).dtype).min)

    def part(positive: Any, magnitude: Any) -> Any:  # in logarithms, so that nothing overflows
        log = ns.where(positive, ns.log(ns.where(positive, magnitude, 1)), lowest)
        return ns.exp(ns.flip(ns.logcumsumexp(ns.flip(log - out, (dim,)), dim), (dim,)) + a)

    return part(ns.positive(g), g) - part(ns.positive(-g), -g)


_logcumsumexp = Op("logcumsumexp", _logcumsumexp_forward, (_logcumsumexp_vjp,))


@method
@numpy_names
def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the running sum of exponentials along ``dim``, without overflow."""
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"logcumsumexp is not implemented for {input.dtype!r}; convert with .float()")
    result = apply_one(_logcumsumexp, input, (one_dim(dim, input._array.ndim),))
    return result if out is None else write_out(out, result, True)


@with_out()
@method
@numpy_names
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The ``n``-th differences of neighbours along ``dim``."""
    if input._array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return renamed(input.clone(), "torch::autograd::CopyBackwards")
    dim = one_dim(dim, input._array.ndim)
    for x in (prepend, append):
        if x is not None and x._array.ndim != input._array.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if prepend is not None or append is not None:
        from rlgrad.autograd.ops.joining import cat

        input = cat([x for x in (prepend, input, append) if x is not None], dim)
    for _ in range(n):
        size = max(input._array.shape[dim] - 1, 0)
        later, earlier = input.narrow(dim, min(1, input._array.shape[dim]), size), input.narrow(dim, 0, size)
        input = later.logical_xor(earlier) if input._array.dtype.kind == "b" else later - earlier
    return input


inplace(cumsum)
inplace(cumprod)

__all__ = public(globals())
