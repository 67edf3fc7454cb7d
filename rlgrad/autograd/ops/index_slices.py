"""Slices along one dimension, named by a vector of indices, added to or overwritten."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.places import INT64, extremes, largest
from rlgrad.autograd.ops.writing import add_at, write_in_place, writing
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of


def _index_add_write(xp: Any, a: Any, source: Any, index: Any, dim: int, alpha: float) -> None:
    source = source if alpha == 1 else source * np.asarray(alpha).astype(source.dtype).item()
    if a.ndim == 0:
        a[...] = a + source.sum()
    elif index.size:
        add_at(xp, a, (*(slice(None),) * dim, index), source)


def _index_copy_write(xp: Any, a: Any, source: Any, index: Any, dim: int) -> None:
    if a.ndim == 0:
        if index.size:
            a[...] = source.reshape(-1)[-1]
    else:
        a[(*(slice(None),) * dim, index)] = source


def _slices(ns: Any, g: Any, shape: tuple[int, ...], index: Any, dim: int) -> Any:
    """The slices of a gradient that an index names, in the shape of what was written there."""
    if not g.shape:
        return ns.reshape(g, shape)
    return ns.reshape(ns.index(g, (*(slice(None),) * dim, ns.array(index))), shape)


_index_add = writing(
    "index_add",
    _index_add_write,
    (
        lambda ns, g: g,
        lambda ns, g, source_shape, index, dim, alpha: (
            _slices(ns, g, source_shape, index, dim) * alpha if alpha != 1 else _slices(ns, g, source_shape, index, dim)
        ),
        None,
    ),
    inputs=3,
)
_index_copy = writing(
    "index_copy",
    _index_copy_write,
    (
        lambda ns, g, index, dim: ns.index_fill(g, ns.zeros(g, ()), index, dim),
        lambda ns, g, source_shape, index, dim: _slices(ns, g, source_shape, index, dim),
        None,
    ),
    inputs=3,
)


def _filled_places(ns: Any, g: Any, index: Any, dim: int) -> Any:
    """The slices of a gradient that an index names, each once."""
    if not g.shape:
        return g
    return ns.index(g, (*(slice(None),) * dim, module_of(ns.array(index)).unique(ns.array(index))))


def _filling(name: str, node: str) -> Op:
    return writing(
        name,
        lambda xp, a, value, index, dim: _index_copy_write(xp, a, value, index, dim),
        (
            lambda ns, g, index, dim: ns.index_fill(g, ns.zeros(g, ()), index, dim),
            lambda ns, g, index, dim: ns.sum(_filled_places(ns, g, index, dim), None, False),
            None,
        ),
        node=node,
        inputs=3,
    )


_index_fill, _index_fill_tensor = _filling("index_fill", ""), _filling("index_fill_tensor", "IndexFillBackward1")


def slice_index(name: str, input: Tensor, dim: int, index: Tensor) -> tuple[int, Tensor]:
    """The dimension and a vector of non-negative indices, after checking that they name slices of the input."""
    dim = one_dim(dim, input._array.ndim)
    where = index._array
    if where.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {where.ndim}")
    allowed = (np.int64, np.int32) if name in ("index_add", "index_reduce") else (np.int64,)
    if where.dtype is not INT64 and where.dtype not in allowed:
        error = IndexError if name == "index_fill" else RuntimeError
        raise error(f"{name}(): Expected dtype int64 for index, got {index.dtype!r}")
    size = input._array.shape[dim] if input._array.ndim else 1
    if where.size and (where.dtype is not INT64 or largest(where) >= size):
        low, high = extremes(where)
        if (low < -size if name == "index_fill" else low < 0) or high >= size:
            raise (RuntimeError if name == "index_add" else IndexError)(
                f"{name}(): index {high if high >= size else low} is out of bounds for dimension {dim} with size {size}"
            )
        if low < 0:
            index = wrap(where + size * (where < 0))
    if index._array.ndim == 0 or index._array.dtype is not INT64:
        index = wrap(index._array.reshape(-1).astype(np.int64))
    return dim, index


def source_checked(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The source, after checking that it holds a slice for each index."""
    if source._array.dtype is not input._array.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, got {input.dtype!r} and {source.dtype!r}"
        )
    want = input._array.shape
    count = index._array.size
    expected = (*want[:dim], count, *want[dim + 1 :]) if want else (count,)
    have = source._array.shape
    if have != expected:
        if have == () and count == 1 and (not want or len(want) == 1):
            return source.reshape(1)
        error = IndexError if name == "index_copy" and ((*have, 1))[min(dim, len(have))] != count else RuntimeError
        raise error(
            f"{name}(): a source of shape {list(have)} does not fit {count} slices along dimension {dim} of a tensor of shape "
            f"{list(want)}; expected {list(expected)}"
        )
    return source


def _index_add_parts(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[int, Tensor, Tensor]:
    dim, index = slice_index("index_add", input, dim, index)
    return dim, index, source_checked("index_add", input, dim, index, source)


@method
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """``input`` with the slices of ``source``, times ``alpha``, added along ``dim`` at the places in ``index``."""
    dim, index, source = _index_add_parts(input, dim, index, source)
    result = apply(_index_add, (input, source, index), (dim, alpha))
    return result if out is None else write_out(out, result, True)


def _index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """In-place form of :func:`index_add`."""
    dim, index, source = _index_add_parts(self, dim, index, source)
    return write_in_place(_index_add, self, (source, index), (dim, alpha))


@method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with the slices of ``source`` along ``dim`` at the places in ``index``."""
    dim, index = slice_index("index_copy", input, dim, index)
    result = apply(_index_copy, (input, source_checked("index_copy", input, dim, index, source), index), (dim,))
    return result if out is None else write_out(out, result, True)


def _index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """In-place form of :func:`index_copy`."""
    dim, index = slice_index("index_copy", self, dim, index)
    return write_in_place(_index_copy, self, (source_checked("index_copy", self, dim, index, source), index), (dim,))


def _fill_parts(input: Tensor, dim: int, index: Tensor, value: Any) -> tuple[Op, Tensor, Tensor, int]:
    dim, index = slice_index("index_fill", input, dim, index)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
            )
        return _index_fill_tensor, value.to(input.dtype), index, dim
    kind = input._array.dtype
    number = wrap(module_of(input._array).asarray(dtypes.number_as(value, kind), kind))
    return _index_fill, number, index, dim


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with one number in all slices along ``dim`` that ``index`` names."""
    op, number, index, dim = _fill_parts(input, dim, index, value)
    return apply(op, (input, number, index), (dim,))


def _index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of :func:`index_fill`."""
    op, number, index, dim = _fill_parts(self, dim, index, value)
    return write_in_place(op, self, (number, index), (dim,))


for _name, _function in (("index_add_", _index_add_), ("index_copy_", _index_copy_), ("index_fill_", _index_fill_)):
    setattr(Tensor, _name, _function)


__all__ = public(globals(), internal=["slice_index", "source_checked"])
