"""Operations that look at part of a tensor, and those that return a tensor with a part overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlgrad.autograd.ops.define import method, numpy_names, one_dim, public
from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.shape import _view_scatter
from rlgrad.autograd.ops.strided import as_strided_op, diagonal_op, strided_arguments, two_dims
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import module_of


def _basic(name: str, node: str) -> Op:
    op: Op = Op(
        name,
        lambda xp, a, index: a[index],
        (lambda ns, g, a_shape, index: ns.view_into(g, a_shape, ((op, (index,), None),)),),
        node=node,
        view=True,
    )
    return op


slice_op = _basic("slice", "SliceBackward0")
slice_select = _basic("slice_select", "SelectBackward0")
slice_unsqueeze = _basic("slice_unsqueeze", "UnsqueezeBackward0")
alias = _basic("alias", "AliasBackward0")

_select: Op = Op(
    "select",
    lambda xp, a, dim, index: a[(slice(None),) * dim + (index, ...)],
    (lambda ns, g, a_shape, dim, index: ns.view_into(g, a_shape, ((_select, (dim, index), None),)),),
    view=True,
)


narrow_op: Op = Op(
    "narrow",
    lambda xp, a, dim, start, length: a[(slice(None),) * dim + (slice(start, start + length),)],
    (lambda ns, g, a_shape, dim, start, length: ns.view_into(g, a_shape, ((narrow_op, (dim, start, length), None),)),),
    node="SliceBackward0",
    view=True,
)


@method
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice along ``dim``, without that dimension."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = one_dim(dim, len(shape))
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return apply_one(_select, input, (dim, index % shape[dim]))


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` slices along ``dim`` from ``start``."""
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError(f"start must be an 0-dim integral Tensor, got {start.dtype!r} of shape {list(start.shape)}")
    shape, start = input._array.shape, int(start)
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = one_dim(dim, len(shape))
    if not -shape[dim] <= start <= shape[dim]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-shape[dim]}, {shape[dim]}], but got {start})"
        )
    if start < 0:
        start += shape[dim]
    if length < 0 or not 0 <= start <= shape[dim] - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]}).")
    return apply_one(narrow_op, input, (dim, start, length))


def _split_forward(xp: Any, a: Any, dim: int, sizes: tuple[int, ...]) -> list[Any]:
    parts, start, lead = [], 0, (slice(None),) * dim
    for size in sizes:
        parts.append(a[(*lead, slice(start, start + size))])
        start += size
    return parts


def _split_vjp(ns: Any, grads: Any, a_shape: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    some = next(iter(grads.values()))
    parts = [
        grads[i] if i in grads else ns.zeros(some, (*a_shape[:dim], size, *a_shape[dim + 1 :]))
        for i, size in enumerate(sizes)
    ]
    return ns.cat(parts, dim, sizes)


split_op = Op("split", _split_forward, (_split_vjp,), view=True, multiple=True)
_sections = Op("split_with_sizes", _split_forward, (_split_vjp,), view=True, multiple=True)
_unbind = Op(
    "unbind",
    lambda xp, a, dim: [a[(slice(None),) * dim + (i, ...)] for i in range(a.shape[dim])],
    (
        lambda ns, grads, a_shape, dim: ns.stack(
            [
                grads[i] if i in grads else ns.zeros(next(iter(grads.values())), a_shape[:dim] + a_shape[dim + 1 :])
                for i in range(a_shape[dim])
            ],
            dim,
        ),
    ),
    view=True,
    multiple=True,
)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts: of one size (the last may be smaller), or of the sizes listed."""
    shape = tensor._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = one_dim(dim, len(shape))
    if not isinstance(split_size_or_sections, int):
        return _split_with_sizes(tensor, split_size_or_sections, dim)
    return apply(split_op, (tensor,), (dim, parts_of(shape[dim], split_size_or_sections)))


def parts_of(extent: int, size: int) -> tuple[int, ...]:
    """The extents of the parts into which :func:`split` cuts a dimension: ``size`` each, the last perhaps smaller."""
    if size <= 0 and not (size == 0 and extent == 0):
        raise RuntimeError(f"split expects split_size be non-negative and non-zero, but got split_size={size}")
    count, rest = divmod(extent, size) if size else (0, 0)
    return (*(size,) * count, rest) if rest or not count else (size,) * count


def _split_with_sizes(tensor: Tensor, sizes: Sequence[Any], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of the sizes listed."""
    dim = one_dim(dim, tensor._array.ndim)
    extent, sizes = tensor._array.shape[dim], tuple([int(n) for n in sizes])
    if sum(sizes) != extent or any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(sizes)}"
        )
    return apply(_sections, (tensor,), (dim, sizes))


Tensor.split_with_sizes = _split_with_sizes  # type: ignore[attr-defined]
Tensor.split = split  # type: ignore[attr-defined]


@method
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of equal extent along ``dim``; the last may be smaller."""
    return split(input, chunk_extent(input, chunks, dim), dim)


def chunk_extent(input: Tensor, chunks: int, dim: int) -> Any:
    """What :func:`split` needs to know to make so many parts."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    return -(-shape[one_dim(dim, len(shape))] // chunks) or [0] * chunks


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices along ``dim``."""
    dim = one_dim(dim, input._array.ndim)
    if not input._array.shape[dim]:
        return ()
    return apply(_unbind, (input,), (dim,))


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts: a number of nearly equal ones, or those between the indices given."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = one_dim(dim, len(shape))
    extent = shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, more = divmod(extent, count)
        ends = [(i + 1) * small + min(i + 1, more) for i in range(count)]
    else:
        ends = [*[int(i) for i in indices_or_sections], extent]
    lead = (slice(None),) * dim
    return tuple(
        [
            apply_one(slice_op, input, ((*lead, slice(start, end)),))
            for start, end in zip([0, *ends], ends, strict=False)
        ]
    )


Tensor.tensor_split = tensor_split  # type: ignore[attr-defined]


def _split_along(name: str, input: Tensor, how: Any, dim: int, ndim: int) -> tuple[Tensor, ...]:
    shape = input._array.shape
    if len(shape) < ndim:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {ndim} dimension{'s' * (ndim > 1)}, but got a tensor with "
            f"{len(shape)} dimensions!"
        )
    if not isinstance(how, (int, tuple, list, Tensor)):
        raise TypeError(f"{name}() takes a number of sections or a list of indices, not {type(how).__name__}")
    if isinstance(how, int) and (how <= 0 or shape[dim] % how):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is not "
            f"divisible by the split_size {how}!"
        )
    return tensor_split(input, how, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """:func:`tensor_split` along the second dimension (of a vector: the only one)."""
    return _split_along("hsplit", input, indices_or_sections, 0 if input._array.ndim == 1 else 1, 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """:func:`tensor_split` along the first dimension."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """:func:`tensor_split` along the third dimension."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


for _function in (hsplit, vsplit, dsplit):
    setattr(Tensor, _function.__name__, _function)


def _with_part(name: str) -> Op:
    return Op(
        name,
        lambda xp, a, src, chain: _view_scatter(xp, a, src, chain),
        (
            lambda ns, g, src_shape, chain: ns.view_scatter(g, ns.zeros(g, src_shape), chain),
            lambda ns, g, chain: ns.view_gather(g, chain),
        ),
        frees=True,
    )


_select_scatter, _slice_scatter = _with_part("select_scatter"), _with_part("slice_scatter")
_diagonal_scatter = _with_part("diagonal_scatter")


def _overwritten(op: Op, input: Tensor, src: Tensor, view: Op, attributes: tuple[Any, ...]) -> Tensor:
    chain = ((view, attributes, None),)
    part = view.forward(module_of(input._array), input._array, *attributes)
    if part.shape != src._array.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    return apply(op, (input, src), (chain,))


@method
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """``input`` with ``src`` in place of ``input.select(dim, index)``."""
    shape = input._array.shape
    dim = one_dim(dim, len(shape))
    if not shape or not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return _overwritten(_select_scatter, input, src, _select, (dim, index % shape[dim]))


@with_out()
@method
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """``input`` with ``src`` in place of its slice ``start:end:step`` along ``dim``."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = one_dim(dim, input._array.ndim)
    return _overwritten(_slice_scatter, input, src, slice_op, ((*(slice(None),) * dim, slice(start, end, step)),))


@method
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``input`` with ``src`` in place of its :func:`diagonal`."""
    return _overwritten(_diagonal_scatter, input, src, diagonal_op, (offset, *two_dims(input, dim1, dim2)))


@method
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """``input`` with ``src`` in place of its :func:`as_strided` view."""
    attributes = strided_arguments(input, size, stride, storage_offset)
    return renamed(_overwritten(_slice_scatter, input, src, as_strided_op, attributes), "AsStridedScatterBackward0")


__all__ = public(globals(), internal=["chunk_extent", "parts_of"])
