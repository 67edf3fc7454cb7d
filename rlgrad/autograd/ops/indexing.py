"""Reading and writing parts of a tensor by index."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import assign, check_inplace, method, one_dim, public
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices

# Basic indices give views

_slice: Op = Op(
    "slice",
    lambda xp, a, index: a[index],
    (lambda ns, g, a_shape, index: ns.view_scatter(ns.zeros(g, a_shape), g, ((_slice, (index,), None),)),),
    view=True,
)

# Index arrays give copies


def _index_add_into(xp: Any, g: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    out = xp.zeros(shape, g.dtype)
    if builtins.all(i.__class__ is builtins.slice or i.dtype.kind == "b" for i in index):
        out[index] = g  # masks name every element at most once
    else:
        xp.add.at(out, index, g)
    return out


_index = Op(
    "index",
    lambda xp, a, index: a[index],
    (lambda ns, g, a_shape, index: ns.index_add_into(g, a_shape, index),),
    frees=True,
)
Op("index_add_into", _index_add_into, (lambda ns, g, index: ns.index(g, index),))


def _index_put(xp: Any, a: Any, values: Any, index: tuple[Any, ...], accumulate: bool) -> Any:
    out = a.copy()
    if accumulate:
        xp.add.at(out, index, values)
    else:
        out[index] = values
    return out


_put = Op(
    "index_put",
    _index_put,
    (
        lambda ns, g, index, accumulate: g if accumulate else ns.index_put(g, ns.zeros(g, ()), index, False),
        lambda ns, g, index: ns.index(g, index),
    ),
    frees=True,
)


def _parse(array: Any, index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Split an index into a basic one, and one of index arrays for what the basic one leaves.

    PyTorch applies integers and slices first; NumPy would treat integers beside arrays as arrays of their own.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_item(item, array) for item in items]
    used = sum(
        item.ndim if hasattr(item, "ndim") and item.dtype.kind == "b" else 1
        for item in items
        if item is not None and item is not Ellipsis and not isinstance(item, (bool, np.bool_))
    )
    if used > array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {array.ndim}")
    if builtins.any(item is Ellipsis for item in items):
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[at : at + 1] = [slice(None)] * (array.ndim - used)
    basic: list[Any] = []
    arrays: list[Any] = []
    dim = 0
    for item in items:
        if item is None:
            basic.append(None)
            arrays.append(slice(None))
        elif isinstance(item, (bool, np.bool_)):
            basic.append(None)
            arrays.append(np.asarray([bool(item)]))
        elif hasattr(item, "ndim"):
            width = item.ndim if item.dtype.kind == "b" else 1
            for k in range(width):
                if item.dtype.kind == "b" and item.shape[k] != array.shape[dim + k]:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {k} does not match the shape of the indexed "
                        f"tensor {list(array.shape)} at index {dim + k}"
                    )
            if item.dtype.kind != "b" and item.size:
                size = array.shape[dim]
                low, high = int(item.min()), int(item.max())
                if low < -size or high >= size:
                    worst = high if high >= size else low
                    raise IndexError(f"index {worst} is out of bounds for dimension {dim} with size {size}")
            basic += [slice(None)] * width
            arrays.append(item)
            dim += width
        elif isinstance(item, slice):
            if item.step is not None and item.step <= 0:
                raise ValueError("step must be greater than zero; use flip() to reverse")
            basic.append(item)
            arrays.append(slice(None))
            dim += 1
        else:
            size = array.shape[dim]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {size}")
            basic.append(item)
            dim += 1
    if builtins.any(hasattr(item, "ndim") for item in arrays):
        while isinstance(arrays[-1], slice):
            arrays.pop()
        return tuple(basic), tuple(arrays)
    return tuple(basic), None


def _item(item: Any, array: Any) -> Any:
    """One entry of an index as None, Ellipsis, slice, int, bool or array."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return item
    if isinstance(item, slice):
        if item.start is None and item.stop is None and item.step is None:
            return item
        return slice(*[None if x is None else int(x) for x in (item.start, item.stop, item.step)])
    if isinstance(item, Tensor):
        item = item._array
        if item.ndim == 0 and item.dtype.kind in "iu":
            return int(item)
    elif isinstance(item, (list, range)):
        item = np.asarray([x.item() if isinstance(x, Tensor) and x._array.ndim == 0 else x for x in item])
        item = item.astype(np.int64) if item.size == 0 else item
    elif not isinstance(item, np.ndarray):
        try:
            return item.__index__()
        except AttributeError:
            raise TypeError(
                f"only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices, got "
                f"{type(item).__name__}"
            ) from None
    if item.dtype == np.uint8:
        item = item.astype(bool)
    if item.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return item if item.dtype.kind == "b" or item.dtype == np.int64 else item.astype(np.int64)


def _getitem(self: Tensor, index: Any) -> Tensor:
    array = self._array
    if index.__class__ is int and array.ndim:
        size = array.shape[0]
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {size}")
        return self.select(0, index)
    basic, arrays = _parse(array, index)
    if arrays is None:
        return apply(_slice, (self,), ((*basic, Ellipsis),))
    part = self if builtins.all(i == slice(None) for i in basic) else apply(_slice, (self,), (basic,))
    return apply(_index, (part,), (arrays,))


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    basic, arrays = _parse(self._array, index)
    check_inplace(self)
    if not isinstance(value, Tensor):
        value = wrap(devices.module_of(self._array).asarray(value, self._array.dtype))
    if value.device != self.device and value._array.ndim == 0:
        value = value.to(self.device)
    if arrays is None:
        part = apply(_slice, (self,), ((*basic, Ellipsis),))
        shape = part._array.shape
        while value._array.ndim > len(shape) and value._array.shape[0] == 1:
            value = value.squeeze(0)
        if value._array.ndim > len(shape):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} does not fit the part of shape {list(shape)}"
            )
        part.copy_(value)
        return
    whole = builtins.all(i == slice(None) for i in basic)
    part = self if whole else apply(_slice, (self,), (basic,))
    value = value.to(self.dtype)
    try:
        result = apply(_put, (part, value), (arrays, False))
    except ValueError:
        chosen = part._array[arrays].shape
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape "
            f"{list(chosen)}"
        ) from None
    assign(part, result)


Tensor.__getitem__ = _getitem  # type: ignore[method-assign]
Tensor.__setitem__ = _setitem  # type: ignore[method-assign]

# Along one dimension


def _full_index(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """An index tuple that names, for each entry of ``index``, the element it stands for."""
    ndim = index.ndim
    grid = [xp.arange(n).reshape([-1 if i == d else 1 for i in range(ndim)]) for d, n in enumerate(index.shape)]
    grid[dim] = index
    return tuple(grid)


def _scatter_add_into(xp: Any, g: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape:
        return out + g.reshape(()) if g.size else out
    where = _full_index(xp, index, dim)
    if index.shape[dim] == 1:
        out[where] = g
    else:
        xp.add.at(out, where, g)
    return out


def _gather_forward(xp: Any, a: Any, index: Any, dim: int) -> Any:
    return a[_full_index(xp, index, dim)] if a.ndim else xp.broadcast_to(a, index.shape).copy()


_gather = Op(
    "gather",
    _gather_forward,
    (lambda ns, g, index, a_shape, dim: ns.scatter_add_into(g, index, a_shape, dim), None),
)
Op("scatter_add_into", _scatter_add_into, (lambda ns, g, index, dim: ns.gather(g, index, dim), None))


@method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """For each entry of ``index``, the element of ``input`` at that place along ``dim``."""
    array, where = input._array, index._array
    if where.dtype != np.int64:
        raise RuntimeError(f"gather(): Expected dtype int64 for index, got {index.dtype!r}; convert it with .long()")
    dim = one_dim(dim, array.ndim)
    if builtins.max(where.ndim, 1) != builtins.max(array.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor, got {where.ndim} and {array.ndim}"
        )
    for d, (have, limit) in enumerate(zip(where.shape, array.shape, strict=False)):
        if d != dim and have > limit:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(where.shape)} to be no larger than self "
                f"{list(array.shape)} apart from dimension {dim}"
            )
    _check_bounds(where, array.shape[dim] if array.ndim else 1, dim)
    return apply(_gather, (input, index), (dim,))


def _check_bounds(index: Any, size: int, dim: int) -> None:
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        worst = int(index.max()) if int(index.max()) >= size else int(index.min())
        raise RuntimeError(f"index {worst} is out of bounds for dimension {dim} with size {size}")


@method
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of ``input`` along ``dim`` that ``index`` names."""
    dim = one_dim(dim, input._array.ndim)
    where = index._array.reshape(-1)
    size = input._array.shape[dim] if input._array.ndim else 1
    if where.size and (int(where.min()) < 0 or int(where.max()) >= size):
        raise IndexError("index out of range in self")
    if input._array.ndim == 0:
        return input.clone()
    return apply(_index, (input,), ((*(slice(None),) * dim, where.astype(np.int64, copy=False)),))


@method
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where ``mask`` is true, in one dimension."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    return input.expand(shape)[mask.expand(shape)]


@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the non-zero elements: one row for each, or one tensor for each dimension."""
    found = input._array.nonzero() if input._array.ndim else (input._array.reshape(1).nonzero()[0],)
    if as_tuple:
        return tuple(wrap(i) for i in found)
    if not input._array.ndim:
        return wrap(np.zeros((len(found[0]), 0), np.int64))
    return wrap(devices.module_of(input._array).stack(found, 1))


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
    xp = devices.module_of(labels)
    return wrap((labels[..., None] == xp.arange(num_classes)).astype(np.int64))


__all__ = public(globals())
