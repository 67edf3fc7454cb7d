"""Medians, modes, quantiles and counts of how often values occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public
from rlgrad.autograd.ops.extremes import at_index, extreme_vjp, with_index
from rlgrad.autograd.ops.inplace import with_out, write_out
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.ranks import place_of_rank
from rlgrad.autograd.ops.reductions import floating_input, not_empty
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import renamed, weigh_by_index
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of, to_host


def _middle(xp: Any, a: Any, dim: int, ignore_nan: bool) -> Any:
    """Index of the lower median along a dimension; a NaN is the median unless ignored."""
    nan = a != a
    n = a.shape[dim]
    if xp is np and not np.count_nonzero(nan):  # as most often
        return place_of_rank(xp, a, (n - 1) // 2, dim)
    if ignore_nan:
        order = a.argsort(axis=dim, kind="stable")
        rank = xp.maximum((n - nan.sum(axis=dim, keepdims=True) - 1) // 2, 0)
        return xp.take_along_axis(order, rank, dim).squeeze(dim)
    return xp.where(nan.any(axis=dim), nan.argmax(axis=dim), place_of_rank(xp, a, (n - 1) // 2, dim))


def _median_forward(ignore_nan: bool) -> Any:
    def forward(xp: Any, a: Any, dim: int, keepdim: bool) -> Any:
        return with_index(xp, a, _middle(xp, a, dim, ignore_nan) if a.ndim else 0, dim, keepdim)

    return forward


def _nothing(dtype: np.dtype[Any]) -> Any:
    """The median of no elements: NaN, or the smallest integer."""
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).min


def _median_of_all(ignore_nan: bool) -> Any:
    def forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
        flat = a.reshape(-1)
        return flat[_middle(xp, flat, 0, ignore_nan)] if flat.size else xp.asarray(_nothing(a.dtype), a.dtype)

    return forward


_median_all = Op("median_all", _median_of_all(False), (extreme_vjp,), node="MedianBackward0")
_nanmedian_all = Op("nanmedian_all", _median_of_all(True), (extreme_vjp,), node="NanmedianBackward0")
_median_dim = Op("median", _median_forward(False), (at_index,), node="MedianBackward1", multiple=True)
_nanmedian_dim = Op("nanmedian", _median_forward(True), (at_index,), node="NanmedianBackward1", multiple=True)
_MedianResult = results("median", "values indices")
_NanmedianResult = results("nanmedian", "values indices")
_ModeResult = results("mode", "values indices")


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
        return with_index(xp, a, 0, dim, keepdim)
    rows = np.moveaxis(to_host(a), dim, -1)
    last = rows.shape[-1] - 1
    order = rows.argsort(-1, kind="stable")
    ordered = np.take_along_axis(rows, order, -1)
    places = np.arange(last + 1)
    starts = np.zeros(rows.shape, np.int64)  # of the run of equal elements that each is part of
    np.multiply(ordered[..., 1:] != ordered[..., :-1], places[1:], out=starts[..., 1:])
    np.maximum.accumulate(starts, -1, out=starts)
    ends = (places - starts).argmax(-1)[..., None]  # of the first of the longest runs
    index = np.take_along_axis(order, ends, -1)
    chosen = np.take_along_axis(rows, index, -1)
    index = np.where(chosen == chosen, index, last)[
        ..., 0
    ]  # NaN counts once, and is chosen where there is nothing else
    return with_index(xp, a, xp.asarray(index), dim, keepdim)


_mode = Op("mode", _mode_forward, (at_index,), multiple=True)


@with_out()
@method
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim`` (the smallest of equally frequent ones), and where it is last."""
    dim = one_dim(dim, input._array.ndim)
    not_empty("mode", input, (dim,) if input._array.ndim else None)
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
    input = floating_input("histc", input, None)
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


__all__ = public(globals())
