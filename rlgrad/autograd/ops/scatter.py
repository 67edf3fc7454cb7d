"""Reading and writing along one dimension, at places that a tensor of indices names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.inplace import with_out, write_out
from rlgrad.autograd.ops.parts import slice_op
from rlgrad.autograd.ops.places import INT64, flat_places, full_index, gather_forward, largest
from rlgrad.autograd.ops.writing import add_at, write_in_place, writing
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of


def scatter_add_write(xp: Any, a: Any, src: Any, index: Any, dim: int) -> None:
    """Add each element of a source at the place along ``dim`` that an index names."""
    if a.ndim == 0:
        a[...] = a + src.sum()
        return
    if not index.size:
        return
    src = read_part(src, index)
    if xp is np and a.flags.c_contiguous:
        np.add.at(a.reshape(-1), flat_places(index, a.shape, dim).reshape(-1), src.reshape(-1))
    else:
        add_at(xp, a, full_index(xp, index, dim), src)


def read_part(src: Any, index: Any) -> Any:
    """The part of a source that an index covers."""
    return src if src.shape == index.shape else src[tuple([slice(n) for n in index.shape])]


def _scatter_add_into(xp: Any, g: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    scatter_add_write(xp, out, g.reshape(index.shape), index, dim)
    return out


def gathering(name: str) -> Op:
    """An op that takes, along ``dim``, the elements that an index tensor names."""
    return Op(
        name,
        gather_forward,
        (lambda ns, g, index, a_shape, dim: ns.scatter_add_into(g, index, a_shape, dim), None),
    )


_gather = gathering("gather")
Op("scatter_add_into", _scatter_add_into, (lambda ns, g, index, dim: ns.gather(g, index, dim), None))


@method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """For each entry of ``index``, the element of ``input`` at that place along ``dim``."""
    dim, index = checked("gather", input, dim, index)
    result = apply(_gather, (input, index), (dim,))
    return result if out is None else write_out(out, result, True)


def checked(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> tuple[int, Tensor]:
    """The dimension and the index in int64, after checking it against the tensor it points into."""
    array, where = input._array, index._array
    dim = one_dim(dim, array.ndim)
    if where.dtype is not INT64 and where.dtype != np.int64:
        if where.dtype != np.int32 and not (name == "gather" and where.dtype == np.uint8):
            raise RuntimeError(
                f"{name}(): Expected dtype int32/int64 for index, got {index.dtype!r}; convert it with .long()"
            )
        index = wrap(where.astype(np.int64))
        where = index._array
    if src is not None and src._array.dtype is not array.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype!r} and {src.dtype!r}"
        )
    if where.size == 0:
        return dim, index
    if where.shape != array.shape or (src is not None and where.shape != src._array.shape):
        _check_shapes(array.shape, dim, where.shape, None if src is None else src._array.shape)
    check_bounds(where, array.shape[dim] if array.ndim else 1, dim)
    return dim, index


def _check_shapes(shape: tuple[int, ...], dim: int, index: tuple[int, ...], src: tuple[int, ...] | None) -> None:
    """Refuse an index that goes beyond the tensor it points into, or beyond its source."""
    if max(len(index), 1) != max(len(shape), 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor, got {len(index)} and {len(shape)}"
        )
    for d, (have, limit) in enumerate(zip(index, shape, strict=False)):
        if d != dim and have > limit:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index)} to be no larger than self "
                f"{list(shape)} apart from dimension {dim}"
            )
    if src is not None:
        if max(len(index), 1) != max(len(src), 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if any(n > m for n, m in zip(index, src, strict=False)):
            raise RuntimeError(f"Expected index {list(index)} to be no larger than src {list(src)} in every dimension")


def check_bounds(index: Any, size: int, dim: int) -> None:
    """Refuse what is negative or beyond the end."""
    if index.size and largest(index) >= size:
        worst = int(index.max()) if int(index.max()) >= size else int(index.min())
        raise RuntimeError(f"index {worst} is out of bounds for dimension {dim} with size {size}")


@with_out()
@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """:func:`gather` in which the other dimensions broadcast; without ``dim``, of the flattened tensor."""
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype!r}")
    size = input._array.size if dim is None else input._array.shape[one_dim(dim, input._array.ndim)]
    if indices._array.size and size <= largest(indices._array):  # gather() refuses what is out of range
        indices = wrap(indices._array + size * (indices._array < 0))
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    dim = one_dim(dim, input._array.ndim)
    shapes = [(*shape[:dim], 1, *shape[dim + 1 :]) for shape in (input._array.shape, indices._array.shape)]
    if shapes[0] == shapes[1]:
        return gather(input, dim, indices)
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(
            f"take_along_dim: shapes {list(input.shape)} and {list(indices.shape)} do not broadcast apart from dimension {dim}"
        ) from None
    wide = [x.expand(*[x._array.shape[d] if d == dim else n for d, n in enumerate(common)]) for x in (input, indices)]
    return gather(wide[0], dim, wide[1])


def scatter_write(xp: Any, a: Any, src: Any, index: Any, dim: int) -> None:
    """Write each element of a source, or one number, to the places along ``dim`` that an index names."""
    if a.ndim == 0:
        if index.size:
            a[...] = src.reshape(-1)[-1]
        return
    src = read_part(src, index) if src.ndim else src
    if xp is np and a.flags.c_contiguous:
        a.reshape(-1)[flat_places(index, a.shape, dim)] = src
    else:
        a[full_index(xp, index, dim)] = src


def read_back(ns: Any, g: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """What flowed to the places named, in the shape of the source: zero where the source was larger than the index."""
    found = ns.gather(g, index, dim)
    if not shape:
        return ns.sum(found, None, False) if found.shape else found
    if tuple(found.shape) == shape:
        return found
    if len(found.shape) != len(shape):
        return ns.reshape(found, shape)
    return ns.view_into(found, shape, leading(found.shape))


def leading(shape: Sequence[int]) -> tuple[Any, ...]:
    """The chain of views that leads to the first elements in every dimension, so many as ``shape`` says."""
    return ((slice_op, (tuple([slice(n) for n in shape]),), None),)


_scatter = writing(
    "scatter",
    scatter_write,
    (
        lambda ns, g, index, dim: ns.scatter(g, ns.zeros(g, ()), index, dim),
        lambda ns, g, index, src_shape, dim: read_back(ns, g, index, src_shape, dim),
        None,
    ),
    inputs=3,
)
_scatter_value = writing(
    "scatter_value",
    scatter_write,
    (lambda ns, g, index, dim: ns.scatter(g, ns.zeros(g, ()), index, dim), None, None),
    node="ScatterBackward1",
    inputs=3,
)
_scatter_add = writing(
    "scatter_add",
    scatter_add_write,
    (lambda ns, g: g, lambda ns, g, index, src_shape, dim: read_back(ns, g, index, src_shape, dim), None),
    inputs=3,
)


def _scatter_parts(input: Tensor, dim: int, index: Tensor, src: Any, value: Any) -> tuple[Op, tuple[Any, ...], int]:
    if src is None:
        src = value
    if isinstance(src, Tensor):
        dim, index = checked("scatter", input, dim, index, src)
        return _scatter, (src, index), dim
    if src is None:
        raise TypeError("scatter() needs a src tensor or a value")
    dim, index = checked("scatter", input, dim, index)
    kind = input._array.dtype
    number = wrap(module_of(input._array).asarray(dtypes.number_as(src, kind), kind))
    return _scatter_value, (number, index), dim


@with_out()
@method
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None, *, reduce: str | None = None
) -> Tensor:
    """``input`` with ``src`` (a tensor or a number) written along ``dim`` at the places in ``index``.

    Args:
        reduce: ``"add"`` or ``"multiply"`` combines with what is there instead.
    """
    if reduce is not None:
        return input.scatter_reduce(dim, index, _widened(input, index, src, value), _old_names(reduce))
    op, others, dim = _scatter_parts(input, dim, index, src, value)
    return apply(op, (input, *others), (dim,))


def _old_names(reduce: str) -> str:
    names = {"add": "sum", "multiply": "prod"}
    if reduce not in names:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return names[reduce]


def _widened(input: Tensor, index: Tensor, src: Any, value: Any) -> Tensor:
    src = value if src is None else src
    if isinstance(src, Tensor):
        return src
    number = module_of(input._array).asarray(src).astype(input._array.dtype)
    return wrap(module_of(input._array).broadcast_to(number, index._array.shape))


def _scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None, *, reduce: str | None = None
) -> Tensor:
    """In-place form of :func:`scatter`."""
    if reduce is not None:
        widened = _widened(self, index, src, value)
        return self.scatter_reduce_(dim, index, widened, _old_names(reduce))
    op, others, dim = _scatter_parts(self, dim, index, src, value)
    return write_in_place(op, self, others, (dim,))


Tensor.scatter_ = _scatter_  # type: ignore[attr-defined]


@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` added along ``dim`` at the places in ``index``."""
    dim, index = checked("scatter_add", input, dim, index, src)
    result = apply(_scatter_add, (input, src, index), (dim,))
    return result if out is None else write_out(out, result, True)


def _scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place form of :func:`scatter_add`."""
    dim, index = checked("scatter_add", self, dim, index, src)
    return write_in_place(_scatter_add, self, (src, index), (dim,))


Tensor.scatter_add_ = _scatter_add_  # type: ignore[attr-defined]

__all__ = public(
    globals(),
    internal=[
        "check_bounds",
        "checked",
        "gather_forward",
        "gathering",
        "leading",
        "read_back",
        "read_part",
        "scatter_add_write",
        "scatter_write",
    ],
)
