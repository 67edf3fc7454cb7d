"""Elements chosen by a mask, masks as numbers of elements, and classes as masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error, method, public
from rlgrad.autograd.ops.indexing import reading
from rlgrad.autograd.ops.inplace import with_out, write_out
from rlgrad.autograd.ops.places import broadcast
from rlgrad.autograd.ops.writing import write_in_place, writing
from rlgrad.autograd.registry import apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

_masked_select = reading("masked_select")


@method
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where ``mask`` is true, in one dimension."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = _together("masked_select", input, mask)
    if not shape:
        input, mask, shape = input.reshape(1), mask.reshape(1), (1,)
    wide = input if input._array.shape == shape else input.expand(shape)
    where = broadcast(mask._array, shape).nonzero()
    result = apply_one(_masked_select, wide, (where,))
    return result if out is None else write_out(out, result, True)


def _together(name: str, a: Tensor, b: Tensor) -> tuple[int, ...]:
    if a._array.shape == b._array.shape:
        return a._array.shape
    try:
        return np.broadcast_shapes(a._array.shape, b._array.shape)
    except ValueError:
        raise broadcast_error(name, [a._array.shape, b._array.shape]) from None


def _masked_scatter_write(xp: Any, a: Any, source: Any, mask: Any) -> None:
    a[mask] = source.reshape(-1)[: int(xp.count_nonzero(mask))]


def _first(ns: Any, g: Any, shape: tuple[int, ...], mask: Any) -> Any:
    """Gradient of the source: what the mask let through, then zeros."""
    count = 1
    for n in shape:
        count *= n
    chosen = ns.index(g, mask.nonzero() if mask.ndim else (mask.reshape(1).nonzero()[0],))
    rest = ns.zeros(g, (count - chosen.shape[0],))
    return ns.reshape(ns.cat([chosen, rest], 0, (chosen.shape[0], rest.shape[0])), shape)


_masked_scatter = writing(
    "masked_scatter",
    _masked_scatter_write,
    (
        lambda ns, g, mask: ns.where(mask, ns.zeros(g, ()), g),
        lambda ns, g, source_shape, mask: _first(ns, g, source_shape, mask),
    ),
    inputs=2,
)
_masked_scatter.frees = True


def _masked_scatter_mask(input: Tensor, mask: Tensor, source: Tensor, shape: tuple[int, ...]) -> Any:
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype!r}")
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype!r} and {source.dtype!r}"
        )
    wide = broadcast(mask._array, shape).copy()
    count = int(module_of(wide).count_nonzero(wide))
    if count > source._array.size:
        raise RuntimeError(f"Number of elements of source ({source._array.size}) < number of ones in mask ({count})")
    return wide


@method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements of ``source``, in their order, where ``mask`` is true."""
    shape = _together("masked_scatter", input, mask)
    wide = input.expand(shape) if input._array.shape != shape else input
    return apply(_masked_scatter, (wide, source), (_masked_scatter_mask(wide, mask, source, shape),))


def _masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place form of :func:`masked_scatter`."""
    if _together("masked_scatter", self, mask) != self._array.shape:
        raise RuntimeError(f"The expanded size of mask {list(mask.shape)} does not match {list(self.shape)}")
    return write_in_place(
        _masked_scatter, self, (source,), (_masked_scatter_mask(self, mask, source, self._array.shape),)
    )


Tensor.masked_scatter_ = _masked_scatter_  # type: ignore[attr-defined]


@with_out()
@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the non-zero elements: one row for each, or one tensor for each dimension."""
    found = input._array.nonzero() if input._array.ndim else (input._array.reshape(1).nonzero()[0],)
    if as_tuple:
        return tuple(wrap(i) for i in found)
    if not input._array.ndim:
        return wrap(np.zeros((len(found[0]), 0), np.int64))
    return wrap(module_of(input._array).stack(found, 1))


@method
def argwhere(input: Tensor) -> Tensor:
    """Indices of the non-zero elements, one row for each."""
    return nonzero(input)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a one at the given class."""
    labels = tensor._array
    if labels.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if labels.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if labels.size and int(labels.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(labels.max()) + 1
    if labels.size and int(labels.max()) >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes ({num_classes}), got {int(labels.max())}.")
    xp = module_of(labels)
    return wrap((labels[..., None] == xp.arange(num_classes)).astype(np.int64))


__all__ = public(globals())
