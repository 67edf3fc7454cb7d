"""Reading and writing parts of a tensor by index."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.index_expressions import ALL, bounds, broadcast_fault, non_negative, parse
from rlgrad.autograd.ops.inplace import check_inplace, check_memory, overlap_fault, with_out, write_out
from rlgrad.autograd.ops.parts import alias, slice_op, slice_select, slice_unsqueeze
from rlgrad.autograd.ops.places import INT64, largest
from rlgrad.autograd.ops.writing import add_at, renamed, write_in_place, writing
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

# Index arrays give copies. An index is a tuple of full slices and non-negative integer arrays that nobody else holds.


def _index_add_into(xp: Any, g: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    out = xp.zeros(shape, g.dtype)
    add_at(xp, out, index, g)
    return out


def reading(name: str) -> Op:
    """An op that takes the elements which index arrays name."""
    return Op(
        name,
        _read,
        (lambda ns, g, a_shape, index: ns.index_add_into(g, a_shape, index),),
        frees=True,
    )


def _read(xp: Any, a: Any, index: tuple[Any, ...]) -> Any:
    *lead, last = index
    if xp is np and (not lead or builtins.all(i.__class__ is slice for i in lead)) and last.__class__ is np.ndarray:
        return a.take(last, len(lead))  # four times as fast as an index for few rows
    return a[index]


_index, _index_select = reading("index"), reading("index_select")
Op("index_add_into", _index_add_into, (lambda ns, g, index: ns.index(g, index),), frees=True)


def _index_put_write(xp: Any, a: Any, values: Any, index: tuple[Any, ...], accumulate: bool) -> None:
    if accumulate:
        add_at(xp, a, index, values)
    else:
        a[index] = values


_index_put = writing(
    "index_put",
    _index_put_write,
    (
        lambda ns, g, index, accumulate: g if accumulate else ns.index_put(g, ns.zeros(g, ()), index, False),
        lambda ns, g, index: ns.index(g, index),
    ),
    inputs=2,
)
_index_put.frees = True


def _view(self: Tensor, index: Any, basic: tuple[Any, ...]) -> Tensor:
    """The view that a basic index names, recorded under the name of PyTorch's last step."""
    op, shape, dim = alias, self._array.shape, 0
    for item in basic:
        if item is None:
            op = slice_unsqueeze
            continue
        if isinstance(item, slice):
            extent = shape[dim]
            if isinstance(index, slice) or item.start or item.indices(extent) != (0, extent, 1):
                op = slice_op
        else:
            op = slice_select
        dim += 1
    return apply(op, (self,), ((*basic, Ellipsis),))


def _whole(basic: tuple[Any, ...]) -> bool:
    return basic.count(ALL) == len(basic)


def _getitem(self: Tensor, index: Any) -> Tensor:
    array = self._array
    if index.__class__ is int and array.ndim:
        size = array.shape[0]
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {size}")
        return self.select(0, index)
    if index.__class__ is slice and array.ndim:
        return apply_one(slice_op, self, ((bounds(index), Ellipsis),))
    basic, arrays = parse(array, index)
    if arrays is None:
        return _view(self, index, basic)
    part = self if _whole(basic) else _view(self, index, basic)
    try:
        return apply_one(_index, part, (arrays,))
    except IndexError:
        raise broadcast_fault(arrays) from None


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    if index is True:
        index = None
    if (value is self or index is self) and (self._array.ndim or _is_mask(index)):
        value = _not_itself(index, value)
    basic, arrays = parse(self._array, index)
    check_inplace(self)
    number = not isinstance(value, Tensor)
    if number:
        if not isinstance(value, (bool, int, float, np.integer)):
            raise TypeError(f"can't assign a {type(value).__name__} to a tensor; make it a tensor first")
        kind = self._array.dtype
        value = wrap(module_of(self._array).asarray(dtypes.number_as(value, kind), kind))
    if value.device != self.device and value._array.ndim == 0:
        value = value.to(self.device)
    if index is False:
        return
    if arrays is None:
        part = _view(self, index, basic)
        if number:
            check_memory(part._array)
            part.fill_(value._array.item())
            return
        shape = part._array.shape
        while value._array.ndim > len(shape) and value._array.shape[0] == 1:
            value = value.squeeze(0)
        if value._array.ndim > len(shape):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} does not fit the part of shape {list(shape)}"
            )
        part.copy_(value)
        return
    part = self if _whole(basic) else _view(self, index, basic)
    if value._array.dtype != self._array.dtype:
        if not (value._array.size == 1 and _is_mask(index)):
            raise _dtype_fault(self, value)
        value = value.to(self.dtype)
    _put_at(part, value, arrays, False)


def _not_itself(index: Any, value: Any) -> Any:
    """The values, which may be the whole target only where a mask writes one number.

    PyTorch refuses a tensor as the values or the index for all of itself before it looks at the index.
    """
    places = index if isinstance(index, tuple) else (index,)
    if not builtins.all(isinstance(i, (Tensor, list, np.ndarray)) for i in places):
        return value
    if isinstance(value, Tensor) and value._array.size == 1 and _is_mask(index):
        return value.clone()
    raise overlap_fault()


def _is_mask(index: Any) -> bool:
    """Whether a mask is all that an index has beside numbers, slices, ``None`` and an ellipsis."""
    if isinstance(index, tuple):
        rest = [i for i in index if not (i is None or i is ... or isinstance(i, slice) or type(i) is int)]
        return len(rest) == 1 and _is_mask(rest[0])
    if isinstance(index, list):
        return bool(index) and all(isinstance(i, bool) for i in index)
    return (
        index.dtype.name in ("bool", "uint8") and index._array.ndim > 0
        if isinstance(index, Tensor)
        else isinstance(index, bool) or (isinstance(index, np.ndarray) and index.dtype == bool)
    )


def _dtype_fault(target: Tensor, value: Tensor) -> RuntimeError:
    return RuntimeError(
        f"Index put requires the source and destination dtypes match, got {target.dtype!r} for the destination and "
        f"{value.dtype!r} for the source; convert the values with .to({target.dtype!r})"
    )


def _fitted(part: Tensor, value: Tensor, arrays: tuple[Any, ...]) -> Tensor:
    """The values without leading extents of one, after checking that they fit what the index names."""
    first = next(k for k, i in enumerate(arrays) if not isinstance(i, slice))
    places = [i for i in arrays if not isinstance(i, slice)]
    try:  # broadcast_shapes alone would take longer than all the rest
        chosen = places[0].shape if len(places) == 1 else np.broadcast_shapes(*[i.shape for i in places])
    except ValueError:
        raise broadcast_fault(arrays) from None
    shape = part._array.shape
    adjacent = not builtins.any(isinstance(i, slice) for i in arrays[first:])
    others = tuple([n for k, n in enumerate(shape) if k >= len(arrays) or isinstance(arrays[k], slice)])
    at = first if adjacent else 0
    result = (*others[:at], *chosen, *others[at:])
    while value._array.ndim > len(result) and value._array.shape[0] == 1:
        value = value.squeeze(0)
    have = value._array.shape
    if len(have) > len(result) or builtins.any(n not in (1, m) for n, m in zip(have[::-1], result[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape "
            f"{list(result)}"
        )
    return value


def _put_at(part: Tensor, value: Tensor, arrays: tuple[Any, ...], accumulate: bool) -> Tensor:
    return write_in_place(_index_put, part, (_fitted(part, value, arrays),), (arrays, accumulate))


Tensor.__getitem__ = _getitem  # type: ignore[method-assign]
Tensor.__setitem__ = _setitem  # type: ignore[method-assign]


def _put_arguments(input: Tensor, indices: Any, values: Tensor) -> tuple[Tensor, tuple[Any, ...] | None]:
    if len(indices) > input._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input._array.ndim} (got {len(indices)})")
    if values._array.dtype is not input._array.dtype:
        raise _dtype_fault(input, values)
    given = tuple([slice(None) if i is None else i for i in indices])
    for i in given:
        if isinstance(i, Tensor) and i._array.ndim == 0:
            given = tuple([k.reshape(1) if isinstance(k, Tensor) and k._array.ndim == 0 else k for k in given])
            break
    _, arrays = parse(input._array, given)
    if arrays is None:
        raise IndexError("At least one index must be a tensor")
    return _fitted(input, values, arrays), arrays


@method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``values`` at ``input[indices]``; with ``accumulate`` they are added, repeated places too."""
    fitted, arrays = _put_arguments(input, indices, values)
    return apply(_index_put, (input, fitted), (arrays, accumulate))


def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of :func:`index_put`."""
    if values is input:
        values = _not_itself(tuple(indices), values)
    fitted, arrays = _put_arguments(input, indices, values)
    return write_in_place(_index_put, input, (fitted,), (arrays, accumulate))


Tensor.index_put_ = index_put_  # type: ignore[attr-defined]

# By number of the element


def _flat(input: Tensor, index: Tensor) -> Any:
    """Numbers of elements, checked and non-negative."""
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype!r}")
    size = input._array.size
    where = index._array
    if where.size and not size:
        raise IndexError("take(): tried to take from an empty tensor")
    try:
        return non_negative(where, size, 0)
    except IndexError:
        raise IndexError(f"out of range: an index is beyond the {size} elements") from None


_take = Op(
    "take",
    lambda xp, a, index: a.reshape(-1)[index],
    (lambda ns, g, a_shape, index: ns.take_into(g, a_shape, index),),
    frees=True,
)


def _take_into(xp: Any, g: Any, shape: tuple[int, ...], index: Any) -> Any:
    out = xp.zeros(shape, g.dtype)
    add_at(xp, out.reshape(-1), (index,), g)
    return out


Op("take_into", _take_into, (lambda ns, g, index: ns.take(g, index),), frees=True)


@method
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements with these numbers in the flattened tensor."""
    result = apply_one(_take, input, (_flat(input, index),))
    return result if out is None else write_out(out, result, True)


def _put_write(xp: Any, a: Any, source: Any, index: Any, accumulate: bool) -> None:
    if a.flags.c_contiguous:
        _index_put_write(xp, a.reshape(-1), source.reshape(-1), (index.reshape(-1),), accumulate)
    else:
        where = xp.unravel_index(index.reshape(-1), a.shape)
        _index_put_write(xp, a, source.reshape(-1), where, accumulate)


_put = writing(
    "put",
    _put_write,
    (
        lambda ns, g, index, accumulate: g if accumulate else ns.put(g, ns.zeros(g, tuple(index.shape)), index, False),
        lambda ns, g, source_shape, index: ns.reshape(ns.take(g, index), source_shape),
    ),
    inputs=2,
)
_put.frees = True


def _put_checked(input: Tensor, index: Tensor, source: Tensor) -> Any:
    if index._array.size != source._array.size:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype!r} and "
            f"source.dtype = {source.dtype!r}"
        )
    return _flat(input, index)


def _put_function(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    return apply(_put, (input, source), (_put_checked(input, index, source), accumulate))


@method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``source`` at the numbered elements of the flattened tensor, or added there."""
    return _put_function(input, index, source, accumulate)


def _put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of :func:`put`."""
    return write_in_place(_put, self, (source,), (_put_checked(self, index, source), accumulate))


Tensor.put_ = _put_  # type: ignore[attr-defined]


@with_out()
@method
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of ``input`` along ``dim`` that ``index`` names."""
    if not isinstance(index, Tensor):
        raise TypeError(f"index_select(): argument 'index' must be Tensor, not {type(index).__name__}")
    dim = one_dim(dim, input._array.ndim)
    where = index._array
    if where.dtype is not INT64 and where.dtype not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if where.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    where = where.reshape(-1).astype(INT64)
    if where.size and largest(where) >= (input._array.shape[dim] if input._array.ndim else 1):
        raise IndexError("index out of range in self")
    if input._array.ndim == 0:
        return renamed(input.clone(), "IndexSelectBackward0")
    return apply_one(_index_select, input, ((*(slice(None),) * dim, where),))


__all__ = public(globals(), internal=["reading"])
