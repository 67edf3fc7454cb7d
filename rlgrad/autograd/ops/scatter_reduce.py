"""Values that meet at one place along a dimension, reduced there: sums, means, products, extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, public
from rlgrad.autograd.ops.index_slices import slice_index, source_checked
from rlgrad.autograd.ops.inplace import inplace, with_out
from rlgrad.autograd.ops.places import flat_places, full_index, gather_forward
from rlgrad.autograd.ops.scatter import checked, leading, read_back, read_part, scatter_add_write, scatter_write
from rlgrad.autograd.ops.writing import add_at, combine_at, renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import module_of

_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _scatter_reduce_forward(xp: Any, a: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
    shape = a.shape
    out = xp.array(a.reshape(1) if not shape else a, order="C")
    index = index.reshape(-1) if not shape else index
    src = src.reshape(-1) if not shape else read_part(src, index)
    if xp is np and index.size:
        target, src = out.reshape(-1), src.reshape(-1)
        where: Any = (flat_places(index, out.shape, dim).reshape(-1),)
    else:
        target, where = out, full_index(xp, index, dim)
    if not include_self:
        low, high = _limits(out.dtype)
        target[where] = {"sum": 0, "mean": 0, "prod": 1, "amax": low, "amin": high}[reduce]
    if _REDUCTIONS[reduce] == "add":
        add_at(xp, target, where, src)
    else:
        combine_at(xp, _REDUCTIONS[reduce], target, where, src)
    if reduce == "mean":
        count = _counts(xp, out.shape, index, dim, include_self, out.dtype)
        out = out / count if out.dtype.kind == "f" else out // count.astype(out.dtype)
    return out.reshape(shape)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest value of a dtype."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _counts(xp: Any, shape: Any, index: Any, dim: int, include_self: bool, dtype: Any) -> Any:
    """How many numbers met at each place, at least one."""
    count = xp.full(shape, 1 if include_self else 0, dtype)
    add_at(xp, count, full_index(xp, index, dim), xp.ones(index.shape, dtype))
    return xp.maximum(count, 1)


def _left(ns: Any, grad: Any, index: Any, dim: int, include_self: bool) -> Any:
    return grad if include_self else ns.scatter(grad, ns.zeros(grad, ()), index, dim)


def _scatter_reduce_vjp(
    ns: Any, g: Any, wants: Any, a: Any, src: Any, index: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> list[Any]:
    shape = tuple(src.shape)
    if reduce == "sum":
        return [_left(ns, g, index, dim, include_self), read_back(ns, g, index, shape, dim), None]
    raw, raw_src, where, raw_out = [ns.array(x) for x in (a, src, index, out)]
    xp = module_of(raw)
    if tuple(where.shape) != shape:  # only the part of the source that the index covers was read
        chain = leading(where.shape)
        part = ns.view_gather(src, chain)
        left, right, _ = _scatter_reduce_vjp(ns, g, wants, a, part, index, out, dim, reduce, include_self)
        return [left, ns.view_into(right, shape, chain), None]
    at = lambda x: ns.gather(x, index, dim)  # noqa: E731
    raw_at = lambda x: gather_forward(xp, x, where, dim)  # noqa: E731
    if reduce == "mean":
        flat, at_flat = (raw.shape or (1,)), where if raw.ndim else where.reshape(-1)
        count = _counts(xp, flat, at_flat, dim, include_self, raw.dtype).reshape(raw.shape)
        left, right = ns.div(g, count), ns.div(at(g), raw_at(count))
    elif reduce == "prod":
        one = xp.ones((), raw.dtype)
        safe = ns.where(raw == 0, one, a)
        safe_out = ns.scatter_reduce(safe, src, index, dim, reduce, include_self)
        left = g * safe_out / safe
        zero = raw_src == 0
        zeros = xp.zeros(raw.shape, np.int64)
        scatter_add_write(xp, zeros, zero.astype(np.int64), where, dim)
        lone = zero & (raw_at(zeros) == 1)
        without = ns.where(lone, one, src)
        rest = ns.scatter_reduce(a, without, index, dim, reduce, include_self)
        others = at(g * out) / ns.where(zero, one, src)
        right = ns.where(lone, at(g * rest), others)
    else:
        mine = xp.asarray(raw == raw_out, raw.dtype)
        if not include_self:
            scatter_write(xp, mine, xp.zeros((), raw.dtype), where, dim)
        theirs = xp.asarray(raw_src == raw_at(raw_out), raw.dtype)
        ties = mine.copy()
        scatter_add_write(xp, ties, theirs, where, dim)
        shared = ns.div(g, xp.maximum(ties, 1))
        left, right = ns.mul(shared, mine), ns.mul(at(shared), theirs)
    return [_left(ns, left, index, dim, include_self), right, None]


_scatter_reduce = Op("scatter_reduce", _scatter_reduce_forward, _scatter_reduce_vjp, inputs=3)


@with_out()
@method
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``src`` reduced along ``dim`` into the places in ``index``.

    Args:
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is there already takes part.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim, index = checked("scatter_reduce", input, dim, index, src)
    return apply(_scatter_reduce, (input, src, index), (dim, reduce, include_self))


@with_out()
@method
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The slices of ``source`` reduced along ``dim`` into the places in ``index``.

    Args:
        reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is there already takes part.
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim, index = slice_index("index_reduce", input, dim, index)
    source = source_checked("index_reduce", input, dim, index, source)
    shape = source._array.shape
    places = index.reshape([-1 if d == dim else 1 for d in range(max(len(shape), 1))]).expand(shape)
    result = apply(_scatter_reduce, (input, source, places), (dim, reduce, include_self))
    return renamed(result, "IndexReduceBackward0")


inplace(scatter_reduce)
inplace(index_reduce)

__all__ = public(globals())
