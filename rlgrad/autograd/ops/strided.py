"""Views that place a tensor's memory anew: diagonals, windows, and any strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.shape import shape_argument
from rlgrad.autograd.ops.writing import add_at, reshaped_in_place
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor


class _Window:
    """An array's memory seen with another shape, for NumPy to wrap."""

    __slots__ = ("__array_interface__", "base")

    def __init__(self, base: Any, interface: dict[str, Any]) -> None:
        self.base, self.__array_interface__ = base, interface


def strided(a: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int = 0) -> Any:
    """The memory of ``a`` from ``shift`` bytes on, with these strides in bytes."""
    if isinstance(a, np.ndarray):
        if shift >= 0 and a.flags.c_contiguous:
            try:
                return np.ndarray(shape, a.dtype, a, shift, strides)  # in a third of the time
            except ValueError:  # what is asked for lies beyond this array, in the memory that it is a part of
                pass
        pointer, read_only = a.__array_interface__["data"]
        data = (pointer + (shift if a.size else 0), read_only)
        interface = {"shape": shape, "strides": strides, "typestr": a.dtype.str, "data": data, "version": 3}
        return np.asarray(_Window(a, interface))
    return type(a)(shape, a.dtype, a.data + shift, strides)


def diagonal_forward(xp: Any, a: Any, offset: int, dim1: int, dim2: int) -> Any:
    rest = [d for d in range(a.ndim) if d not in (dim1, dim2)]
    n = max(min(a.shape[dim1] + min(offset, 0), a.shape[dim2] - max(offset, 0)), 0)
    across, down = a.strides[dim2], a.strides[dim1]
    shift = (offset * across if offset >= 0 else -offset * down) if n else 0
    return strided(a, (*[a.shape[d] for d in rest], n), (*[a.strides[d] for d in rest], across + down), shift)


diagonal_op: Op = Op(
    "diagonal",
    diagonal_forward,
    (
        lambda ns, g, a_shape, offset, dim1, dim2: ns.view_into(
            g, a_shape, ((diagonal_op, (offset, dim1, dim2), None),)
        ),
    ),
    view=True,
)


def two_dims(input: Tensor, dim1: int, dim2: int) -> tuple[int, int]:
    ndim = input._array.ndim
    first, second = one_dim(dim1, ndim), one_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of each matrix in two dimensions, as the last dimension."""
    return apply_one(diagonal_op, input, (offset, *two_dims(input, dim1, dim2)))


def _unfold_forward(xp: Any, a: Any, dim: int, size: int, step: int) -> Any:
    if a.ndim == 0:
        return strided(xp.asarray(a), (size,), (a.itemsize,))
    n = (a.shape[dim] - size) // step + 1
    shape, strides = list(a.shape), list(a.strides)
    shape[dim], strides[dim] = n, strides[dim] * step
    return strided(a, (*shape, size), (*strides, a.strides[dim]))


def _fold(xp: Any, g: Any, shape: tuple[int, ...], dim: int, size: int, step: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum()
    lead, span = (slice(None),) * dim, step * (g.shape[dim] - 1) + 1
    for k in range(size):
        out[(*lead, slice(k, k + span, step))] += g[..., k]
    return out


_unfold = Op(
    "unfold",
    _unfold_forward,
    (lambda ns, g, a_shape, dim, size, step: ns.fold_windows(g, a_shape, dim, size, step),),
    view=True,
)
Op("fold_windows", _fold, (lambda ns, g, dim, size, step: ns.unfold(g, dim, size, step),))


def _unfold_method(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of ``size`` elements along a dimension, ``step`` apart; they are the last dimension."""
    dim = one_dim(dimension, self._array.ndim)
    extent = self._array.shape[dim] if self._array.ndim else 1
    if not 0 <= size <= extent:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return apply_one(_unfold, self, (dim, size, step))


Tensor.unfold = _unfold_method  # type: ignore[attr-defined]


def _as_strided_forward(
    xp: Any, a: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int, geometry: Any
) -> Any:
    strides, start, extent = geometry
    item = a.itemsize
    if any(n > 1 and have != want * item for n, have, want in zip(a.shape, a.strides, strides, strict=True)):
        memory = xp.full(extent, -1 if a.dtype.kind == "i" else 0, a.dtype)  # laid out as the tensor was
        strided(memory, a.shape, tuple([s * item for s in strides]), start * item)[...] = a
        a, start = memory, 0
    return strided(a, size, tuple([s * item for s in stride]), (offset - start) * item)


def _places(xp: Any, shape: Any, size: Any, stride: Any, offset: int, geometry: Any) -> Any:
    """The number of each element of the strided view in the tensor it is taken of; -1 for none."""
    strides, start, extent = geometry
    memory = xp.full(extent, -1)
    count = 1
    for n in shape:
        count *= n
    strided(memory, shape, tuple([s * 8 for s in strides]), start * 8)[...] = xp.arange(count).reshape(shape)
    return strided(memory, size, tuple([s * 8 for s in stride]), offset * 8)


def _distinct(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements of a tensor share memory, as far as its strides show."""
    reach = 0
    for step, n in sorted(zip(strides, shape, strict=True)):
        if n > 1:
            if step <= reach:
                return False
            reach += (n - 1) * step
    return True


def _as_strided_into(
    xp: Any, g: Any, shape: tuple[int, ...], size: Any, stride: Any, offset: int, geometry: Any
) -> Any:
    strides, start, extent = geometry
    if _distinct(size, stride) and _distinct(shape, strides):
        memory, item = xp.zeros(extent, g.dtype), g.itemsize
        strided(memory, size, tuple([s * item for s in stride]), offset * item)[...] = g
        return xp.ascontiguousarray(strided(memory, shape, tuple([s * item for s in strides]), start * item))
    places = _places(xp, shape, size, stride, offset, geometry)
    known = places >= 0
    out = xp.zeros(shape, g.dtype)
    if known.any():
        add_at(xp, out.reshape(-1), (places[known],), g[known])
    return out


def _as_strided_of(xp: Any, a: Any, size: Any, stride: Any, offset: int, geometry: Any) -> Any:
    places = _places(xp, a.shape, size, stride, offset, geometry)
    return xp.where(places >= 0, a.reshape(-1)[places], 0).astype(a.dtype, copy=False)


as_strided_op = Op(
    "as_strided",
    _as_strided_forward,
    (
        lambda ns, g, a_shape, size, stride, offset, geometry: ns.as_strided_into(
            g, a_shape, size, stride, offset, geometry
        ),
    ),
    view=True,
)
Op(
    "as_strided_into",
    _as_strided_into,
    (lambda ns, g, size, stride, offset, geometry: ns.as_strided_of(g, size, stride, offset, geometry),),
)
Op(
    "as_strided_of",
    _as_strided_of,
    (
        lambda ns, g, a_shape, size, stride, offset, geometry: ns.as_strided_into(
            g, a_shape, size, stride, offset, geometry
        ),
    ),
)


def _span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory a tensor reaches over."""
    return 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


def strided_arguments(input: Tensor, size: Any, stride: Any, offset: int | None) -> tuple[Any, ...]:
    size, stride = shape_argument((size,)), shape_argument((stride,))
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    array = input._array
    owner = array if input._view is None else input._view.base._array
    strides, start = input.stride(), input.storage_offset()
    extent = (
        owner.size if owner.flags.c_contiguous else _span(owner.shape, [s // owner.itemsize for s in owner.strides])
    )
    offset = start if offset is None else offset
    if offset < 0:
        raise RuntimeError("Tensor: invalid storage offset " + str(offset))
    needed = _span(size, stride)
    if needed and offset + needed > extent:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{array.itemsize} requiring a storage size of {(offset + needed) * array.itemsize} are out of bounds for "
            f"storage of size {extent * array.itemsize}"
        )
    return size, stride, offset, (strides, start, extent)


@method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with any shape, strides (in elements) and offset."""
    view = input._view
    if view is not None and view.tracked:  # it may reach what the view does not
        storage_offset = input.storage_offset() if storage_offset is None else storage_offset
        input = view.base
    return apply_one(as_strided_op, input, strided_arguments(input, size, stride, storage_offset))


def _as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place form of :func:`as_strided`."""
    return reshaped_in_place(
        self, as_strided_op, strided_arguments(self, size, stride, storage_offset), "AsStridedBackward1"
    )


Tensor.as_strided_ = _as_strided_  # type: ignore[attr-defined]


__all__ = public(globals(), internal=["diagonal_forward", "strided", "strided_arguments", "two_dims"])
