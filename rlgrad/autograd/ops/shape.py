"""Operations that rearrange: views of the same memory, joins and copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import inplace, many_dims, method, one_dim, public, write_out
from rlgrad.autograd.registry import Op, apply, apply_list
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes

# A region of a tensor, named by the chain of views that leads to it


def _replay(xp: Any, a: Any, chain: Any) -> Any:
    for op, attributes, output in chain:
        a = op.forward(xp, a, *attributes)
        a = a if output is None else a[output]
    return a


def _view_scatter(xp: Any, a: Any, value: Any, chain: Any) -> Any:
    out = a.copy()
    _replay(xp, out, chain)[...] = value
    return out


view_gather = Op(
    "view_gather",
    lambda xp, a, chain: _replay(xp, a, chain).copy(),
    (lambda ns, g, a_shape, chain: ns.view_scatter(ns.zeros(g, a_shape), g, chain),),
)
view_scatter = Op(
    "view_scatter",
    _view_scatter,
    (
        lambda ns, g, value_shape, chain: ns.view_scatter(g, ns.zeros(g, value_shape), chain),
        lambda ns, g, chain: ns.view_gather(g, chain),
    ),
    node="CopySlices",
    frees=True,
)
Op("zeros", lambda xp, like, shape: xp.zeros(shape, like.dtype), (lambda ns, g, like_shape: ns.zeros(g, like_shape),))

# New shapes for the same elements

_reshape = Op(
    "reshape",
    lambda xp, a, shape: a.reshape(shape),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    node="ViewBackward0",
    view=True,
)


def _shape_argument(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return tuple([n if n.__class__ is int else int(n) for n in shape])


def _resolved(input: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Replace a -1 and check the number of elements."""
    size = input._array.size
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if rest == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
        if size % rest == 0:
            shape = tuple([size // rest if n == -1 else n for n in shape])
    if any(n < 0 for n in shape) or math.prod(shape) != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


@method
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in a new shape; a view where the memory allows it. One extent may be -1."""
    return apply(_reshape, (input,), (_resolved(input, _shape_argument(shape)),))


def view(input: Tensor, *shape: Any) -> Tensor:
    """A view in a new shape (or dtype of the same size).

    Raises:
        RuntimeError: when the memory layout does not allow it; use :func:`reshape`.
    """
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        result = wrap(input._array.view(shape[0].numpy))
        result._cell = input._cell
        return result
    wanted = _resolved(input, _shape_argument(shape))
    array = input._array
    if not array.flags.c_contiguous and array.size and not np.may_share_memory(array.reshape(wanted), array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply(_reshape, (input,), (wanted,))


Tensor.view = view  # type: ignore[attr-defined]


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.size())``."""
    return view(input, *other._array.shape)


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.size())``."""
    return reshape(input, *other._array.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` into one."""
    shape = input._array.shape
    first, last = one_dim(start_dim, len(shape)), one_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return reshape(input, *shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dimension into several."""
    shape = input._array.shape
    dim = one_dim(dim, len(shape))
    inner = list(sizes)
    if -1 in inner:
        inner[inner.index(-1)] = shape[dim] // -math.prod(inner)
    if math.prod(inner) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]})"
        )
    return reshape(input, *shape[:dim], *inner, *shape[dim + 1 :])


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(input, -1)


_unsqueeze = Op(
    "unsqueeze",
    lambda xp, a, dim: xp.expand_dims(a, dim),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    view=True,
)
_squeeze = Op(
    "squeeze",
    lambda xp, a, dims: a.squeeze(dims),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    view=True,
)
_squeeze_dim = Op(
    "squeeze_dim",
    lambda xp, a, dims: a.squeeze(dims),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    node="SqueezeBackward1",
    view=True,
)


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of extent one."""
    return apply(_unsqueeze, (input,), (one_dim(dim, input._array.ndim + 1),))


@method
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Drop dimensions of extent one: all, or those named."""
    shape = input._array.shape
    if dim is None:
        return apply(_squeeze, (input,), (tuple([i for i, n in enumerate(shape) if n == 1]),))
    dims = many_dims(dim, len(shape)) or ()
    return apply(_squeeze_dim, (input,), (tuple([i for i in dims if shape[i] == 1]),))


# New order of the dimensions

_permute = Op(
    "permute",
    lambda xp, a, dims: a.transpose(dims),
    (lambda ns, g, dims: ns.permute(g, tuple([dims.index(i) for i in range(len(dims))])),),
    view=True,
)
_transpose = Op(
    "transpose",
    lambda xp, a, dim0, dim1: a.swapaxes(dim0, dim1) if a.ndim else a[...],
    (lambda ns, g, dim0, dim1: ns.transpose(g, dim0, dim1),),
    view=True,
)
_t = Op("t", lambda xp, a: a.T, (lambda ns, g: ns.t(g),), node="TBackward0", view=True)


@method
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Reorder the dimensions."""
    order = _shape_argument(dims)
    ndim = input._array.ndim
    if len(order) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    normal = tuple([one_dim(d, ndim) for d in order])
    if len(set(normal)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply(_permute, (input,), (normal,))


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions."""
    ndim = input._array.ndim
    return apply(_transpose, (input,), (one_dim(dim0, ndim), one_dim(dim1, ndim)))


@method
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; vectors and scalars stay as they are."""
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")
    return apply(_t, (input,))


def _T(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return permute(self, *reversed(range(self._array.ndim))) if self._array.ndim != 2 else t(self)


Tensor.T = property(_T)  # type: ignore[attr-defined]
Tensor.mT = property(lambda self: transpose(self, -2, -1))  # type: ignore[attr-defined]
Tensor.swapaxes = Tensor.swapdims = transpose  # type: ignore[attr-defined]
swapaxes = swapdims = transpose


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to new places, keeping the order of the rest."""
    ndim = input._array.ndim
    sources = [one_dim(d, ndim) for d in ([source] if isinstance(source, int) else source)]
    targets = [one_dim(d, ndim) for d in ([destination] if isinstance(destination, int) else destination)]
    rest = [d for d in range(ndim) if d not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        rest.insert(target, origin)
    return permute(input, *rest)


# Broadcasting


def _expand_forward(xp: Any, a: Any, shape: tuple[int, ...]) -> Any:
    if a.ndim == 0 and isinstance(a, np.ndarray):  # several times cheaper than broadcast_to
        return np.ndarray(shape, a.dtype, a, 0, (0,) * len(shape))
    return xp.broadcast_to(a, shape)


_expand = Op("expand", _expand_forward, (lambda ns, g: g,), view=True)


@method
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """Repeat dimensions of extent one without copying; -1 keeps an extent."""
    wanted, shape = _shape_argument(sizes), input._array.shape
    lead = len(wanted) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{input.dtype.name}{list(shape)}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    full = []
    for position, n in enumerate(wanted):
        have = shape[position - lead] if position >= lead else 1
        if n == -1 and position < lead:
            raise RuntimeError(f"expand: -1 is not allowed for the new leading dimension {position}")
        if n not in (-1, have) and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension "
                f"{position}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
        full.append(have if n == -1 else n)
    return apply(_expand, (input,), (tuple(full),))


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.size())``."""
    return expand(input, *other._array.shape)


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Another name for :func:`expand`."""
    return expand(input, *size)


# Joining


def _cat_vjp(ns: Any, g: Any, wants: Sequence[bool], dim: int, sizes: tuple[int, ...]) -> list[Any]:
    grads, start = [], 0
    for wanted, size in zip(wants, sizes, strict=True):
        grads.append(ns.narrow(g, dim, start, size) if wanted else None)
        start += size
    return grads


_cat = Op("cat", lambda xp, arrays, dim, sizes: xp.concatenate(arrays, axis=dim), _cat_vjp, variadic=True)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension."""
    tensors = _same_dtypes("cat", tensors)
    shapes = [x._array.shape for x in tensors]
    if any(s == (0,) for s in shapes) and any(s != (0,) for s in shapes):
        tensors = [x for x in tensors if x._array.shape != (0,)]  # PyTorch ignores empty vectors here
        shapes = [x._array.shape for x in tensors]
    if not shapes[0]:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dim = one_dim(dim, len(shapes[0]))
    for position, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or any(
            a != b for d, (a, b) in enumerate(zip(shape, shapes[0], strict=True)) if d != dim
        ):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Got {list(shape)} for tensor number {position} in "
                f"the list, expected {list(shapes[0])}"
            )
    result = apply_list(_cat, tensors, (dim, tuple([s[dim] for s in shapes])))
    return result if out is None else write_out(out, result)


concat = concatenate = cat


def _same_dtypes(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError(f"{name}(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
    first = tensors[0]._array.dtype
    if all(x._array.dtype is first for x in tensors):
        return tensors
    common = dtypes.result_type(*tensors)
    return [x.to(common) for x in tensors]


def _stack_vjp(ns: Any, g: Any, wants: Sequence[bool], dim: int) -> list[Any]:
    return [ns.select(g, dim, i) if wanted else None for i, wanted in enumerate(wants)]


_stack = Op("stack", lambda xp, arrays, dim: xp.stack(arrays, axis=dim), _stack_vjp, variadic=True)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension."""
    tensors = _same_dtypes("stack", tensors)
    first = tensors[0]._array.shape
    for position, tensor in enumerate(tensors):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(tensor.shape)} at "
                f"entry {position}"
            )
    return apply_list(_stack, tensors, (one_dim(dim, len(first) + 1),))


# Parts

_select = Op(
    "select",
    lambda xp, a, dim, index: a[(slice(None),) * dim + (index, ...)],
    (lambda ns, g, a_shape, dim, index: ns.select_scatter(ns.zeros(g, a_shape), g, dim, index),),
    view=True,
)


def _put_select(xp: Any, a: Any, src: Any, dim: int, index: int) -> Any:
    out = a.copy()
    out[(slice(None),) * dim + (index,)] = src
    return out


Op(
    "select_scatter",
    _put_select,
    (
        lambda ns, g, src_shape, dim, index: ns.select_scatter(g, ns.zeros(g, src_shape), dim, index),
        lambda ns, g, dim, index: ns.select(g, dim, index),
    ),
)
_narrow: Op = Op(
    "narrow",
    lambda xp, a, dim, start, length: a[(slice(None),) * dim + (slice(start, start + length),)],
    (
        lambda ns, g, a_shape, dim, start, length: ns.view_scatter(
            ns.zeros(g, a_shape), g, ((_narrow, (dim, start, length), None),)
        ),
    ),
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
    return apply(_select, (input,), (dim, index % shape[dim]))


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` slices along ``dim`` from ``start``."""
    shape, start = input._array.shape, int(start)
    dim = one_dim(dim, len(shape))
    if start < 0:
        start += shape[dim]
    if length < 0 or not 0 <= start <= shape[dim] - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]}).")
    return apply(_narrow, (input,), (dim, start, length))


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


_split = Op("split", _split_forward, (_split_vjp,), view=True, multiple=True)
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
    dim = one_dim(dim, len(shape))
    extent = shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size <= 0 and not (size == 0 and extent == 0):
            raise RuntimeError(f"split expects split_size be non-negative and non-zero, but got split_size={size}")
        sizes = tuple([min(size, extent - start) for start in range(0, extent, max(size, 1))]) or (0,)
    else:
        sizes = tuple([int(n) for n in split_size_or_sections])
        if sum(sizes) != extent:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(sizes)}"
            )
    return apply(_split, (tensor,), (dim, sizes))


Tensor.split = split  # type: ignore[attr-defined]


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of equal extent along ``dim``; the last may be smaller."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    extent = input._array.shape[one_dim(dim, input._array.ndim)]
    return split(input, max(-(-extent // chunks), 1), dim) if extent else split(input, [0] * chunks, dim)


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices along ``dim``."""
    return apply(_unbind, (input,), (one_dim(dim, input._array.ndim),))


# Copies

_flip = Op("flip", lambda xp, a, dims: xp.flip(a, dims).copy(), (lambda ns, g, dims: ns.flip(g, dims),))


@method
def flip(input: Tensor, *dims: Any) -> Tensor:
    """Reverse the order along dimensions."""
    return apply(_flip, (input,), (many_dims(list(_shape_argument(dims)), input._array.ndim) or (),))


_tile = Op(
    "tile",
    lambda xp, a, repeats: xp.tile(a, repeats),
    (lambda ns, g, a_shape, repeats: _untile(ns, g, a_shape, repeats),),
    node="RepeatBackward0",
)


def _untile(ns: Any, g: Any, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    shape = (1,) * (len(repeats) - len(shape)) + shape
    split_up = ns.reshape(g, tuple(n for pair in zip(repeats, shape, strict=True) for n in pair))
    summed = ns.sum(split_up, tuple(range(0, 2 * len(shape), 2)), False)
    return ns.reshape(summed, shape)


def _repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Copies of the tensor side by side, ``repeats[i]`` times along dimension ``i``."""
    counts = _shape_argument(repeats)
    if len(counts) < self._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return apply(_tile, (self,), (counts,))


Tensor.repeat = _repeat  # type: ignore[attr-defined]


@method
def tile(input: Tensor, *dims: Any) -> Tensor:
    """Copies side by side; missing leading counts are one."""
    counts = _shape_argument(dims)
    return apply(_tile, (input,), ((1,) * (input._array.ndim - len(counts)) + counts,))


def _triangle(name: str) -> Any:
    return Op(
        name,
        lambda xp, a, diagonal: getattr(xp, name)(a, diagonal),
        (lambda ns, g, diagonal: getattr(ns, name)(g, diagonal),),
    )


_tril, _triu = _triangle("tril"), _triangle("triu")


@method
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of each matrix, zero elsewhere."""
    return apply(_tril, (input,), (diagonal,))


@method
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of each matrix, zero elsewhere."""
    return apply(_triu, (input,), (diagonal,))


@method
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order, otherwise a copy that is."""
    return input if input._array.flags.c_contiguous else input.clone()


for _function in (tril, triu):
    inplace(_function)

__all__ = public(globals())
