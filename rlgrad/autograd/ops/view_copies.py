"""Copies of views, splits that promise not to be written to, and tensors that change their size in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.inplace import check_inplace, with_out, write_out
from rlgrad.autograd.ops.parts import chunk_extent, parts_of, split_op
from rlgrad.autograd.ops.shape import shape_argument
from rlgrad.autograd.ops.strided import strided
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import REGISTRY, Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices, dtypes
from rlgrad.backend.devices import module_of


def _copy(view: Tensor, node: str = "") -> Tensor:
    """A copy of a view, recorded under the view's name."""
    recorded = view.grad_fn
    result = view.clone()
    return result if recorded is None else renamed(result, node or f"{recorded.name()}_copy")


def _copying(name: str) -> Callable[..., Any]:
    """A function that does as a view's does, but returns copies."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = getattr(input, name)(*args, **kwargs)
        return tuple([_copy(part) for part in found]) if isinstance(found, tuple) else _copy(found)

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"A copy of what ``{name}`` shows."
    return with_out()(function)


as_strided_copy = _copying("as_strided")
detach_copy = _copying("detach")
expand_copy = _copying("expand")
permute_copy = _copying("permute")
select_copy = _copying("select")
split_with_sizes_copy = _copying("split_with_sizes")
squeeze_copy = _copying("squeeze")
t_copy = _copying("t")
transpose_copy = _copying("transpose")
unbind_copy = _copying("unbind")
unfold_copy = _copying("unfold")
unsqueeze_copy = _copying("unsqueeze")
view_copy = _copying("view")


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor."""
    result = renamed(input.clone(), "AliasBackward0_copy")
    return result if out is None else write_out(out, result, True)


def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of the :func:`diagonal` of each matrix."""
    result = _copy(input.diagonal(offset, dim1, dim2))
    return result if out is None else write_out(out, result, True)


_unsafe_split = Op("unsafe_split", split_op.forward, split_op.vjps, multiple=True)


@method
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`chunk` whose parts share the input's memory, but are not tracked as views of it: do not write to them."""
    return unsafe_split(input, chunk_extent(input, chunks, dim), dim)


@method
def unsafe_split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`split` whose parts share the input's memory, but are not tracked as views of it: do not write to them."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = one_dim(dim, len(shape))
    sizes = parts_of(shape[dim], split_size) if isinstance(split_size, int) else tuple(split_size)
    return apply(_unsafe_split, (input,), (dim, sizes))


def _sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum over what broadcasting added, down to the shape ``size``."""
    wanted, have = shape_argument(size), tuple(self.shape)
    lead = len(have) - len(wanted)
    if lead < 0 or any(w not in (1, n) for w, n in zip(wanted, have[max(lead, 0) :], strict=True)):
        raise RuntimeError(f"size {list(wanted)} is not expandable to size {list(have)}.")
    dims = [*range(lead), *[d for d in range(lead, len(have)) if wanted[d - lead] == 1 and have[d] != 1]]
    if not wanted:
        return self.sum()
    if lead:
        return self.sum(dims, keepdim=True).reshape(wanted)
    return self.sum(dims, keepdim=True) if dims else self


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same kind with one value everywhere."""
    if isinstance(value, Tensor):
        return renamed(input.clone().fill_(value), "FillBackward1")
    return renamed(apply_one(REGISTRY["fill"], input, (value,)), "FillBackward0")


def _resize(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape, keeping its first elements; what comes anew is not initialised.

    Raises:
        RuntimeError: for a tensor that requires grad, as its history would no longer fit.
    """
    check_inplace(self)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape, array = shape_argument(size), self._array
    xp = module_of(array)
    count = math.prod(shape)
    if count == array.size:
        self._array = array.reshape(shape)
    else:
        memory = xp.zeros(count, array.dtype)
        kept = min(count, array.size)
        memory[:kept] = array.reshape(-1)[:kept]
        self._array = memory.reshape(shape)
    self._cell[0] += 1
    return self


def _resize_as(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the shape of another, as ``resize_`` does."""
    return _resize(self, tuple(other.shape))


def resize_as_(input: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give ``input`` the shape of ``other``, as ``resize_`` does."""
    return _resize_as(input, other)


Tensor.sum_to_size = _sum_to_size  # type: ignore[attr-defined]
Tensor.resize_, Tensor.resize_as_ = _resize, _resize_as  # type: ignore[attr-defined]


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor whose elements are yet to be written, with strides (in elements) of its own."""
    shape, strides = shape_argument((size,)), shape_argument((stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    target = devices.as_device(device)
    extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    with devices.on_device(target):
        memory = devices.module_for(target).empty(extent, kind)
    result = wrap(strided(memory, shape, tuple([s * kind.itemsize for s in strides])))
    return result.requires_grad_() if requires_grad else result


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor yet to be written whose dimensions lie in memory in the order ``physical_layout``, outermost first."""
    shape = shape_argument((size,))
    if len(physical_layout) != len(shape):
        raise RuntimeError(
            f"physical_layout {list(physical_layout)} must name each of the {len(shape)} dimensions once"
        )
    order = [int(d) % len(shape) if -len(shape) <= int(d) < len(shape) else -1 for d in physical_layout]
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(f"physical_layout {list(order)} must name each of the {len(shape)} dimensions once")
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return empty_strided(shape, strides, **options)


def _new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **options: Any
) -> Tensor:
    """``empty_strided`` with this tensor's dtype and device unless told otherwise."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, **options)


Tensor.new_empty_strided = _new_empty_strided  # type: ignore[attr-defined]


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates in a tensor of the given shape of elements that are known by their number."""
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    extents = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if any(n < 0 for n in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {extents}")
    left, found = indices._array.astype(np.int64), []
    for n in reversed(extents):
        found.append(wrap(left % n))
        left = left // n
    return tuple(reversed(found))


@method
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` places that are not zero as rows, filled up with ``fill_value``."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = input.nonzero()._array[:size]
    xp = module_of(found)
    out = xp.full((size, found.shape[1]), fill_value, np.int64)
    out[: len(found)] = found
    return wrap(out)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """``nn.functional.pad`` with a constant."""
    from rlgrad.autograd.ops.spatial import pad as padded

    return padded(input, pad, value=value)


__all__ = public(globals())
