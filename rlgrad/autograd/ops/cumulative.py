"""Running reductions along a dimension, products, and order statistics."""

from __future__ import annotations

import builtins
from collections import namedtuple
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public, spread
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out, write_outs
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.reductions import (
    _accumulable,
    _at_index,
    _extreme_vjp,
    _floating,
    _not_empty,
    _reversed_cumsum,
    _running_result,
    _with_index,
)
from rlgrad.autograd.ops.writing import renamed, weigh_by_index
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of, to_host

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
    input = _accumulable(input, dtype)
    if dim is None:
        result = apply_one(_prod_all, input, (None, False))
    else:
        dim = one_dim(dim, input._array.ndim)
        result = apply_one(_prod_dim, input, (dim if input._array.ndim else None, keepdim))
    if dtype is not None:
        result = result.to(dtype)  # NumPy multiplies small integers in larger ones
    return result if out is None else write_out(out, result)


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
    input = _accumulable(input, out.dtype if dtype is None and out is not None else dtype)
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
    hits = (a == values) | (a != a)
    positions = xp.arange(a.shape[dim]).reshape([-1 if i == dim else 1 for i in range(a.ndim)])
    return values, _accumulated(xp, "maximum", xp.where(hits, positions, 0), dim)


def _running_vjp(ns: Any, grads: Any, out1: Any, a_shape: Any, dim: int) -> Any:
    return _at_index(ns, grads, out1, a_shape, dim, True)


_cummax = Op("cummax", lambda xp, a, dim: _running(xp, a, dim, "maximum"), (_running_vjp,), multiple=True)
_cummin = Op("cummin", lambda xp, a, dim: _running(xp, a, dim, "minimum"), (_running_vjp,), multiple=True)
_CummaxResult = namedtuple("cummax", ["values", "indices"])  # type: ignore[name-match]
_CumminResult = namedtuple("cummin", ["values", "indices"])  # type: ignore[name-match]


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
    dim = one_dim(dim, input._array.ndim)
    if n == 0:
        return renamed(input.clone(), "torch::autograd::CopyBackwards")
    if prepend is not None or append is not None:
        from rlgrad.autograd.ops.joining import cat

        input = cat([x for x in (prepend, input, append) if x is not None], dim)
    for _ in range(n):
        size = builtins.max(input._array.shape[dim] - 1, 0)
        later, earlier = input.narrow(dim, builtins.min(1, input._array.shape[dim]), size), input.narrow(dim, 0, size)
        input = later.logical_xor(earlier) if input._array.dtype.kind == "b" else later - earlier
    return input


def _middle(xp: Any, a: Any, dim: int, ignore_nan: bool) -> Any:
    """Index of the lower median along a dimension; a NaN is the median unless ignored."""
    order = a.argsort(axis=dim, kind="stable")
    nan = a != a
    n = a.shape[dim]
    if ignore_nan:
        rank = xp.maximum((n - nan.sum(axis=dim, keepdims=True) - 1) // 2, 0)
        return xp.take_along_axis(order, rank, dim).squeeze(dim)
    middle = order.take((n - 1) // 2, dim)
    if xp is np and not np.count_nonzero(nan):  # as most often
        return middle
    return xp.where(nan.any(axis=dim), nan.argmax(axis=dim), middle)


def _median_forward(ignore_nan: bool) -> Any:
    def forward(xp: Any, a: Any, dim: int, keepdim: bool) -> Any:
        return _with_index(xp, a, _middle(xp, a, dim, ignore_nan) if a.ndim else 0, dim, keepdim)

    return forward


def _nothing(dtype: np.dtype[Any]) -> Any:
    """The median of no elements: NaN, or the smallest integer."""
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).min


def _median_of_all(ignore_nan: bool) -> Any:
    def forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
        flat = a.reshape(-1)
        return flat[_middle(xp, flat, 0, ignore_nan)] if flat.size else xp.asarray(_nothing(a.dtype), a.dtype)

    return forward


_median_all = Op("median_all", _median_of_all(False), (_extreme_vjp,), node="MedianBackward0")
_nanmedian_all = Op("nanmedian_all", _median_of_all(True), (_extreme_vjp,), node="NanmedianBackward0")
_median_dim = Op("median", _median_forward(False), (_at_index,), node="MedianBackward1", multiple=True)
_nanmedian_dim = Op("nanmedian", _median_forward(True), (_at_index,), node="NanmedianBackward1", multiple=True)
_MedianResult = namedtuple("median", ["values", "indices"])  # type: ignore[name-match]
_NanmedianResult = namedtuple("nanmedian", ["values", "indices"])  # type: ignore[name-match]
_ModeResult = namedtuple("mode", ["values", "indices"])  # type: ignore[name-match]


@method
@numpy_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median; with ``dim`` a pair ``(values, indices)``."""
    return _median(input, dim, keepdim, _median_all, _median_dim, _MedianResult)


@method
@numpy_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """:func:`median` of the elements that are not NaN."""
    return _median(input, dim, keepdim, _nanmedian_all, _nanmedian_dim, _NanmedianResult)


def _median(input: Tensor, dim: int | None, keepdim: bool, whole: Op, along: Op, result: Any) -> Any:
    if input._array.dtype.kind == "b":
        raise NotImplementedError("median is not implemented for torch.bool; convert the tensor with .int()")
    if dim is None:
        return apply_one(whole, input, (None, False))
    dim = one_dim(dim, input._array.ndim)
    if input._array.ndim and not input._array.shape[dim]:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    return result(*apply(along, (input,), (dim, keepdim)))


def _mode_forward(xp: Any, a: Any, dim: int, keepdim: bool) -> Any:
    if not a.ndim:
        return _with_index(xp, a, 0, dim, keepdim)
    rows = np.moveaxis(to_host(a), dim, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    index = np.empty(len(flat), np.int64)
    for i, row in enumerate(flat):
        values, counts = np.unique(row, return_counts=True, equal_nan=False)
        chosen = values[counts.argmax()]
        index[i] = np.flatnonzero((row == chosen) | ((row != row) & (chosen != chosen)))[-1]
    return _with_index(xp, a, xp.asarray(index.reshape(rows.shape[:-1])), dim, keepdim)


_mode = Op("mode", _mode_forward, (_at_index,), multiple=True)


@with_out()
@method
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim`` (the smallest of equally frequent ones), and where it is last."""
    dim = one_dim(dim, input._array.ndim)
    _not_empty("mode", input, (dim,) if input._array.ndim else None)
    return _ModeResult(*apply(_mode, (input,), (dim, keepdim)))


@with_out()
@method
@numpy_names
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The ``q``-th quantiles over ``dim``, or of everything; several ``q`` make a leading dimension."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, ignore_nan=False)


@with_out()
@method
@numpy_names
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, ignore_nan=True)


_PLACES = {"linear": "floor", "lower": "floor", "higher": "ceil", "midpoint": "floor", "nearest": "rint"}


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    if interpolation not in _PLACES:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if input._array.dtype.kind != "f" or input._array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not input._array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if isinstance(q, Tensor) and q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    xp = module_of(input._array)
    levels = xp.asarray(q._array if isinstance(q, Tensor) else q, input._array.dtype)
    if levels.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if bool(((levels < 0) | (levels > 1)).any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    ndim = input._array.ndim
    axis = None if dim is None else one_dim(dim, ndim)
    rows = input.reshape(-1) if axis is None or not ndim else input.movedim(axis, -1)
    array = rows._array
    nan = (array != array).sum(-1, keepdims=True)
    last = array.shape[-1] - 1 - (nan if ignore_nan else 0 * nan)
    ranks = xp.clip(levels.reshape(-1) * last.astype(array.dtype), 0, None)
    if not ignore_nan:
        ranks = xp.where(nan > 0, last, ranks).astype(array.dtype)
    order = xp.argsort(array, axis=-1, kind="stable")

    def at(places: Any) -> Tensor:
        return rows.gather(-1, wrap(xp.take_along_axis(order, places.astype(np.int64), -1).astype(np.int64)))

    result = at(getattr(xp, _PLACES[interpolation])(ranks))
    if interpolation in ("linear", "midpoint"):
        weight: Any = wrap(xp.full_like(ranks, 0.5))
        if interpolation == "linear":
            weight = wrap(ranks - xp.floor(ranks))
            if isinstance(q, Tensor) and q.requires_grad:
                exact = q.reshape(-1) * wrap(last.astype(array.dtype)) - wrap(xp.floor(ranks))
                weight = where(wrap((nan == 0) | ignore_nan), exact, weight)
        result = result.lerp(at(xp.ceil(ranks)), weight)
    shape = array.shape[:-1]
    if keepdim:
        shape = (
            (1,) * ndim
            if axis is None or not ndim
            else (*input._array.shape[:axis], 1, *input._array.shape[axis + 1 :])
        )
    if levels.ndim:
        result, shape = result.movedim(-1, 0), (levels.size, *shape)
    return renamed(result.reshape((*shape, 1)).squeeze(-1), "SqueezeBackward4")


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall into each of ``bins`` equal intervals; without limits, between the extremes."""
    input = _floating("histc", input, None)
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    array = input._array
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("max must be larger than min")
    xp = module_of(array)
    counts = xp.histogram(array.reshape(-1).astype(np.float64), bins, (low, high))[0]
    result = wrap(counts.astype(array.dtype))
    return result if out is None else write_out(out, result)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of the weights where it does."""
    array = input._array
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and int(array.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    xp = module_of(array)
    if weights is None:
        return wrap(xp.bincount(array, minlength=minlength).astype(np.int64))
    if weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.dtype(np.float32) if weights._array.dtype == np.float32 else np.dtype(np.float64)
    return wrap(weigh_by_index(xp, array, weights._array.astype(np.float64), minlength).astype(kind))


for _function in (histc, bincount):
    setattr(Tensor, _function.__name__, _function)
inplace(cumprod)

__all__ = public(globals())
