"""What stands between the brackets of ``tensor[...]``, taken apart and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.places import INT64, extremes, largest
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import module_of

ALL = slice(None)


def parse(array: Any, index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Split an index into a basic one, and one of index arrays for what the basic one leaves.

    PyTorch applies integers and slices first; NumPy would treat integers beside arrays as arrays of their own.
    """
    if isinstance(index, Tensor) and array.size and index._array.dtype == np.int64 and index._array.ndim and array.ndim:
        where = index._array  # the usual case, without the general one's cost
        if where.__class__ is array.__class__:
            return (ALL,), (non_negative(where, array.shape[0], 0),)
    if isinstance(index, list) and _stands_for_a_tuple(index):
        index = tuple(index)
    items = [_item(item, array) for item in (index if isinstance(index, tuple) else (index,))]
    used = sum(
        item.ndim if hasattr(item, "ndim") and item.dtype.kind == "b" else 1
        for item in items
        if item is not None and item is not Ellipsis and not isinstance(item, bool)
    )
    if used > array.ndim:
        if array.ndim == 0 and len(items) == 1 and isinstance(items[0], int):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {array.ndim}")
    items = _expanded(items, array.ndim, used)
    basic: list[Any] = []
    arrays: list[Any] = []
    unchecked: list[tuple[int, int]] = []
    dim = 0
    for item in items:
        if item is None:
            basic.append(None)
            arrays.append(slice(None))
        elif isinstance(item, bool):
            basic.append(None)
            arrays.append(_zeros_of(array, int(item)))
        elif isinstance(item, slice):
            basic.append(item)
            arrays.append(slice(None))
            dim += 1
        elif isinstance(item, int):
            size = array.shape[dim]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {size}")
            basic.append(item)
            dim += 1
        elif item.dtype.kind == "b":
            if item.ndim == 0:
                basic.append(None)
                arrays.append(_zeros_of(array, int(item)))
                continue
            for k in range(item.ndim):
                if item.shape[k] != array.shape[dim + k]:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {k} does not match the shape of the indexed "
                        f"tensor {list(array.shape)} at index {dim + k}"
                    )
            basic += [slice(None)] * item.ndim
            arrays += item.nonzero()
            dim += item.ndim
        else:
            basic.append(slice(None))
            unchecked.append((len(arrays), dim))
            arrays.append(item)
            dim += 1
    if all(i.__class__ is slice for i in arrays):
        return tuple(basic), None
    # Where nothing is read, PyTorch looks at no index.
    unread = any(i.__class__ is not slice and i.size == 0 for i in arrays)
    nothing = unread or array.size == 0 or _leaves_nothing(basic, array.shape)
    for place, dim in unchecked:
        size, item = array.shape[dim], arrays[place]
        if unread and not size:
            try:
                shape = np.broadcast_shapes(*[i.shape for i in arrays if i.__class__ is not slice])
            except ValueError:
                raise broadcast_fault(arrays) from None
            arrays[place] = module_of(array).zeros(shape, np.int64)
            continue
        arrays[place] = item % size if nothing and size else non_negative(item, size, dim)
    while isinstance(arrays[-1], slice):
        arrays.pop()
    return tuple(basic), tuple(arrays)


def _leaves_nothing(basic: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether a slice of a basic index is empty."""
    if basic.count(ALL) == len(basic):
        return False
    parts = zip([i for i in basic if i is not None], shape, strict=False)
    return any(isinstance(item, slice) and not range(*item.indices(extent)) for item, extent in parts)


def broadcast_fault(arrays: Sequence[Any]) -> IndexError:
    """What is raised for index arrays whose shapes do not go together."""
    shapes = ", ".join(str(list(i.shape)) for i in arrays if not isinstance(i, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


def _expanded(items: list[Any], ndim: int, used: int) -> list[Any]:
    """The entries of an index with full slices in place of its ellipsis, of whatever dimensions the others leave."""
    if not any(item is Ellipsis for item in items):
        return items
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    rest = [item for item in items[at + 1 :] if item is not Ellipsis]
    if len(items) - at - 1 > len(rest) and ndim > used:
        second = next(i for i in range(at + 1, len(items)) if items[i] is Ellipsis)
        whole = Ellipsis, ALL, slice(None, None, 1)
        if any(isinstance(item, np.ndarray) or item not in whole for item in items[second + 1 :]):
            raise IndexError("an index has an ellipsis after the one that already stands for all other dimensions")
    return [*items[:at], *[ALL] * (ndim - used), *rest]


def _zeros_of(array: Any, count: int) -> Any:
    return module_of(array).zeros(count, np.int64)


def non_negative(index: Any, size: int, dim: int) -> Any:
    """An index array checked and copied: what the user does to his own afterwards does not matter."""
    if index.size == 0:
        return index.copy()
    if index.dtype is INT64 and largest(index) < size:
        return index.copy()
    low, high = extremes(index)
    if low < -size or high >= size:
        worst = high if high >= size else low
        raise IndexError(f"index {worst} is out of bounds for dimension {dim} with size {size}")
    return index.copy() if low >= 0 else index % size


def _stands_for_a_tuple(index: list[Any]) -> bool:
    """A list with more than numbers in it is taken as several indices, as in PyTorch."""
    return len(index) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, range, Tensor, np.ndarray))
        for item in index
    )


def _item(item: Any, array: Any) -> Any:
    """One entry of an index as None, Ellipsis, slice, int, bool or array."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int)):
        return item
    if isinstance(item, slice):
        return bounds(item)
    if isinstance(item, Tensor):
        item = item._array
    elif isinstance(item, (list, tuple, range)):
        item = np.asarray(_plain(item))
        if item.size == 0 or item.dtype.kind == "f":
            item = item.astype(np.int64)
    elif not isinstance(item, np.ndarray):
        if isinstance(item, (str, bytes)):
            raise TypeError(f"a tensor cannot be indexed by {type(item).__name__}")
        try:
            if isinstance(item, np.bool_):
                raise AttributeError
            return item.__index__()
        except AttributeError:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or bool tensors are valid indices (got "
                f"{type(item).__name__})"
            ) from None
    if item.dtype is INT64 and item.ndim and item.__class__ is array.__class__:
        return item
    if item.dtype == np.uint8:
        item = item.astype(bool)
    if item.dtype.kind != "b" and item.dtype not in (np.int64, np.int32):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if item.ndim == 0 and item.dtype.kind == "i":
        return int(item)
    if not isinstance(array, np.ndarray):
        item = module_of(array).asarray(item)
    return item.astype(np.int64) if item.dtype == np.int32 else item


def _plain(items: Any) -> list[Any]:
    return [
        _plain(x) if isinstance(x, (list, tuple, range)) else x.item() if isinstance(x, Tensor) else x for x in items
    ]


def bounds(item: slice) -> slice:
    """A slice checked, its bounds plain integers."""
    if item.start is None and item.stop is None and item.step is None:
        return item
    parts = []
    for x in (item.start, item.stop, item.step):
        if x is not None and not hasattr(x, "__index__"):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        parts.append(None if x is None else x.__index__())
    if parts[2] is not None and parts[2] <= 0:
        raise ValueError("step must be greater than zero; use flip() to reverse")
    return slice(*parts)
