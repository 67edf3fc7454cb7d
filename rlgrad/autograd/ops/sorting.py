"""Order: sorting, the largest few, distinct elements and places in sorted sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public
from rlgrad.autograd.ops.inplace import with_out, write_outs
from rlgrad.autograd.ops.places import gather_forward
from rlgrad.autograd.ops.ranks import place_of_rank
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.scatter import gathering
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

_sort, _stable_sort = gathering("sort"), gathering("stable_sort")
_stable_sort.node.__name__ = "SortBackward1"
_topk = gathering("topk")
_kthvalue = Op(
    "kthvalue",
    lambda xp, a, index, dim, shape: gather_forward(xp, a, index, dim).reshape(shape),
    (
        lambda ns, g, index, a_shape, dim: ns.scatter_add_into(ns.reshape(g, tuple(index.shape)), index, a_shape, dim),
        None,
    ),
)

_Sorted = results("sort", "values indices")
_Topk = results("topk", "values indices")
_Kth = results("kthvalue", "values indices")


def _order(array: Any, dim: int, descending: bool) -> Any:
    """Indices that sort along ``dim``, equal elements in their order; NaN counts as the largest."""
    xp = module_of(array)
    if array.ndim == 0:
        return xp.zeros((), np.int64)
    if not descending:
        return array.argsort(axis=dim, kind="stable")
    # Sorting the reversed sequence and reversing the result keeps equal elements in their order.
    reverse = (*(slice(None),) * dim, slice(None, None, -1))
    backwards = array[reverse].argsort(axis=dim, kind="stable")
    return xp.ascontiguousarray(array.shape[dim] - 1 - backwards[reverse])


def _ordered(op: Op, input: Tensor, index: Any, dim: int) -> tuple[Tensor, Tensor]:
    where = wrap(index)
    return apply(op, (input, where), (dim,)), where


@method
@numpy_names
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    """The elements in order along ``dim``, and where each came from; equal elements keep their order."""
    dim = one_dim(dim, input._array.ndim)
    op = _sort if stable is None else _stable_sort
    result = _Sorted(*_ordered(op, input, _order(input._array, dim, descending), dim))
    return result if out is None else write_outs(out, result)


@method
@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices of :func:`sort`."""
    return wrap(_order(input._array, one_dim(dim, input._array.ndim), descending))


@with_out()
@method
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@with_out()
@method
@numpy_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along ``dim`` and where they are, the most extreme first."""
    array = input._array
    dim = one_dim(dim, array.ndim)
    if not 0 <= k <= (array.shape[dim] if array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if array.ndim == 0:
        return _Topk(*_ordered(_topk, input, module_of(array).zeros((), np.int64), 0))
    return _Topk(*_ordered(_topk, input, _extremes(array, k, dim, largest), dim))


def _extremes(array: Any, k: int, dim: int, largest: bool) -> Any:
    xp, n = module_of(array), array.shape[dim]
    lead = (slice(None),) * dim
    if k == 0 or n < 64 or 4 * k > n:
        return _order(array, dim, largest)[(*lead, slice(0, k))].copy()
    place = n - k if largest else k - 1
    chosen = xp.argpartition(array, place, dim)[(*lead, slice(n - k, n) if largest else slice(0, k))]
    chosen = xp.sort(chosen, dim)  # equal elements in their order
    inner = _order(xp.take_along_axis(array, chosen, dim), dim, largest)
    return xp.take_along_axis(chosen, inner, dim)


@with_out()
@method
@numpy_names
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest element along ``dim`` (the smallest is the first) and where it is."""
    array = input._array
    dim = one_dim(dim, array.ndim)
    extent = array.shape[dim] if array.ndim else 1
    if not extent:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= extent:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    xp = module_of(array)
    if array.ndim and array.dtype.kind == "b":
        raise NotImplementedError("kthvalue is not implemented for torch.bool; convert the tensor with .int()")
    if array.ndim == 0:
        zero = wrap(xp.zeros((), np.int64))
        return _Kth(apply(_kthvalue, (input, zero), (0, ())), zero)
    place = xp.asarray(place_of_rank(xp, array, k - 1, dim))
    index = xp.expand_dims(place, dim)
    where = index if keepdim else place
    return _Kth(apply(_kthvalue, (input, wrap(index)), (dim, where.shape)), wrap(where))


@method
@numpy_names
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along ``dim``) in order.

    Args:
        sorted: they are in order whatever this says.
        return_inverse: also, for each element, where it is among the distinct ones.
        return_counts: also how often each occurs.
    """
    array = input._array
    xp = module_of(array)
    if dim is not None:
        dim = one_dim(dim, array.ndim)
    values, inverse, counts = xp.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(array.shape if dim is None else -1)
    return _distinct(values, inverse, counts, return_inverse, return_counts)


def _distinct(values: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    result = [wrap(values)]
    if return_inverse:
        result.append(wrap(inverse.astype(np.int64, copy=False)))
    if return_counts:
        result.append(wrap(counts.astype(np.int64, copy=False)))
    return result[0] if len(result) == 1 else tuple(result)


@method
@numpy_names
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One element (or slice along ``dim``) for each run of equal ones; options as in :func:`unique`."""
    array = input._array
    xp = module_of(array)
    if dim is None:
        rows, at = array.reshape(-1), 0
    else:
        at = one_dim(dim, array.ndim)
        rows = xp.moveaxis(array, at, 0)
    n = rows.shape[0]
    starts = xp.ones(n, bool)
    if n > 1:
        starts[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
    first = starts.nonzero()[0]
    values = rows[first] if dim is None else xp.ascontiguousarray(xp.moveaxis(rows[first], 0, at))
    inverse = xp.cumsum(starts) - 1
    if dim is None:
        inverse = inverse.reshape(array.shape)
    counts = xp.diff(xp.concatenate([first, xp.asarray([n])]))
    return _distinct(values, inverse, counts, return_inverse, return_counts)


@with_out()
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element would go in the last dimension of a sorted sequence to keep it sorted.

    Args:
        right: after equal elements instead of before them; ``side="right"`` says the same.
        sorter: indices that sort the sequence.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    array = sorted_sequence._array
    xp = module_of(array)
    if isinstance(input, Tensor):
        values = input._array
        if values.dtype != array.dtype:
            common = dtypes.result_type(sorted_sequence, input).numpy
            values, array = values.astype(common), array.astype(common)
    else:
        values = xp.asarray(input)
    if array.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundary tensor should have positive dimension, but got 0 dimension")
    if sorter is not None:
        array = xp.take_along_axis(array, sorter._array, -1)
    where = "right" if right or side == "right" else "left"
    if array.ndim == 1:
        found = xp.searchsorted(array, values, where)
    else:
        if values.shape[:-1] != array.shape[:-1] or values.ndim == 0:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                f"tensor and input value tensor must match, but we got boundaries tensor {list(array.shape)} and input "
                f"value tensor {list(values.shape)}"
            )
        count = math.prod(array.shape[:-1])
        rows, wanted = array.reshape(count, array.shape[-1]), values.reshape(count, values.shape[-1])
        found = xp.zeros(wanted.shape, np.int64)
        for row in range(len(rows)):
            found[row] = xp.searchsorted(rows[row], wanted[row], where)
        found = found.reshape(values.shape)
    return wrap(xp.asarray(found).astype(np.int32 if out_int32 else np.int64))


@with_out()
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The bucket of each element between sorted boundaries; ``right`` puts a boundary itself into the next one."""
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


Tensor.bucketize = bucketize  # type: ignore[attr-defined]

__all__ = public(globals())
