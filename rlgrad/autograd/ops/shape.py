"""Operations that show the same elements in another shape or order."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error, many_dims, method, one_dim, public
from rlgrad.autograd.ops.inplace import check_memory
from rlgrad.autograd.ops.places import broadcast
from rlgrad.autograd.ops.writing import add_at, reshaped_in_place
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Size, Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

# A region of a tensor, named by the chain of views that leads to it


def _replay(xp: Any, a: Any, chain: Any) -> Any:
    for op, attributes, output in chain:
        a = op.forward(xp, a, *attributes)
        a = a if output is None else a[output]
    return a


def _view_scatter(xp: Any, a: Any, value: Any, chain: Any) -> Any:
    out = xp.array(a, order="K")
    part = _replay(xp, out, chain)
    if part.size and not xp.may_share_memory(part, out):
        places, known = _places(xp, out, chain)
        out[xp.unravel_index(places, out.shape)] = value[known]
        return out
    if xp is np:
        check_memory(part)
    part[...] = value
    return out


def _places(xp: Any, a: Any, chain: Any) -> tuple[Any, Any]:
    """The numbers of the elements that a region shows, and a mask of those that belong to ``a`` at all.

    It is how they are found where a step has to copy in the present memory layout; ``as_strided`` can also reach what
    does not belong to the tensor.
    """
    places = _replay(xp, xp.arange(a.size).reshape(a.shape), chain)
    known = places >= 0
    return places[known], known


def _view_into(xp: Any, g: Any, shape: tuple[int, ...], chain: Any) -> Any:
    out = xp.zeros(shape, g.dtype)
    part = _replay(xp, out, chain)
    if not part.size or (xp.may_share_memory(part, out) and _lie_apart(part)):
        part[...] = g
        return out
    places, known = _places(xp, out, chain)
    add_at(xp, out.reshape(-1), (places,), g[known])
    return out


def _lie_apart(part: Any) -> bool:
    """Whether no two elements of an array can be the same one in memory."""
    reach = 0
    for step, n in sorted(zip(map(builtins.abs, part.strides), part.shape, strict=True)):
        if n > 1:
            if step <= reach:
                return False
            reach += step * (n - 1)
    return True


view_gather = Op(
    "view_gather",
    lambda xp, a, chain: _replay(xp, xp.asarray(a), chain).copy(),
    (lambda ns, g, a_shape, chain: ns.view_into(g, a_shape, chain),),
    node="AsStridedBackward0",
)
view_scatter = Op(
    "view_scatter",
    _view_scatter,
    (
        lambda ns, g, value_shape, chain: ns.view_scatter(g, ns.zeros(g, value_shape), chain),
        lambda ns, g, chain: ns.view_gather(g, chain),
    ),
    node="torch::autograd::CopySlices",
    frees=True,
)
Op("view_into", _view_into, (lambda ns, g, chain: ns.view_gather(g, chain),))
Op("zeros", lambda xp, like, shape: xp.zeros(shape, like.dtype), (lambda ns, g, like_shape: ns.zeros(g, like_shape),))

_reshape = Op(
    "reshape",
    lambda xp, a, shape: a.reshape(shape),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    node="ViewBackward0",
    view=True,
)

_unsafe_view = Op(
    "unsafe_view",
    lambda xp, a, shape: a.reshape(shape),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
)


def shape_argument(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as several ints or as one sequence of them, as a tuple."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    for n in shape:
        if n.__class__ is not int:
            return tuple([int(n) for n in shape])
    return shape


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """The elements in a new shape, of which one extent may be -1; copied where the memory does not allow a view."""
    try:
        found = array.reshape(shape)
    except ValueError:
        raise _shape_error(array.size, shape) from None
    if found.shape != shape and min(shape) < -1:  # to NumPy any negative extent is an unknown one
        raise _shape_error(array.size, shape)
    return found


def _shape_error(size: int, shape: tuple[int, ...]) -> RuntimeError:
    if shape.count(-1) > 1:
        return RuntimeError("only one dimension can be inferred")
    if -1 in shape and size == 0:
        return RuntimeError(
            f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified dimension size "
            "-1 can be any value and is ambiguous"
        )
    return RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def _shares(found: Any, array: Any) -> bool:
    """Whether a reshaped array looks at the memory of the one it was made of."""
    return array.flags.c_contiguous or not array.size or module_of(array).may_share_memory(found, array)


@method
def reshape(input: Tensor, *extents: Any, shape: Any = None) -> Tensor:
    """The same elements in a new shape; a view where the memory allows it. One extent may be -1."""
    array = input._array
    found = _reshaped(array, shape_argument(extents if shape is None else (shape,)))
    if _shares(found, array):
        return apply_one(_reshape, input, (found.shape,))
    return apply_one(_unsafe_view, input.clone(), (found.shape,))


def view(input: Tensor, *shape: Any) -> Tensor:
    """A view in a new shape (or dtype of the same size).

    Raises:
        RuntimeError: when the memory layout does not allow it; use :func:`reshape`.
    """
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        result = wrap(input._array.view(shape[0].numpy))
        result._cell = input._cell
        return result
    array = input._array
    found = _reshaped(array, shape_argument(shape))
    if not _shares(found, array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply_one(_reshape, input, (found.shape,))


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
    if first == last and shape:
        return input
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return reshape(input, *shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@method
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Split one dimension into several."""
    shape = input._array.shape
    dim = one_dim(dim, len(shape))
    inner = [sizes] if isinstance(sizes, int) else list(sizes)
    if not inner:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if -1 in inner:
        inner[inner.index(-1)] = shape[dim] // -math.prod(inner)
    if math.prod(inner) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {inner} don't multiply up to the size of dim {dim} ({shape[dim]})"
        )
    return reshape(input, *shape[:dim], *inner, *shape[dim + 1 :])


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return view(input.contiguous(), -1)


_unsqueeze = Op(
    "unsqueeze",
    lambda xp, a, dim: a[(slice(None),) * dim + (None,)],
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
_squeeze_dims = Op(
    "squeeze_dims",
    lambda xp, a, dims: a.squeeze(dims),
    (lambda ns, g, a_shape: ns.reshape(g, a_shape),),
    node="SqueezeBackward2",
    view=True,
)


@method
def unsqueeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Insert a dimension of extent one."""
    if axis is not None:
        dim = axis
    return apply_one(_unsqueeze, input, (one_dim(dim, input._array.ndim + 1),))


@method
def squeeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Drop dimensions of extent one: all, or those named."""
    if axis is not None:
        dim = axis
    return apply(*_squeezing(input, dim))


def _squeezing(input: Tensor, dim: Any) -> tuple[Op, tuple[Tensor], tuple[Any, ...]]:
    shape = input._array.shape
    if dim is None:
        return _squeeze, (input,), (tuple([i for i, n in enumerate(shape) if n == 1]),)
    dims = (one_dim(dim, len(shape)),) if isinstance(dim, int) else many_dims(dim, len(shape)) or () if len(dim) else ()
    chosen = tuple([i for i in dims if shape and shape[i] == 1])
    return _squeeze_dim if isinstance(dim, int) else _squeeze_dims, (input,), (chosen,)


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
def permute(input: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Reorder the dimensions."""
    order = shape_argument(given if dims is None else (dims,))
    ndim = input._array.ndim
    if len(order) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    normal = tuple([one_dim(d, ndim) for d in order])
    if len(set(normal)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply_one(_permute, input, (normal,))


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions."""
    ndim = input._array.ndim
    return apply_one(_transpose, input, (one_dim(dim0, ndim), one_dim(dim1, ndim)))


@method
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; vectors and scalars stay as they are."""
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")
    return apply_one(_t, input)


def _T(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return permute(self, *reversed(range(self._array.ndim)))


def _mT(self: Tensor) -> Tensor:
    """Each matrix transposed."""
    if self._array.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self._array.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


def _H(self: Tensor) -> Tensor:
    """The matrix transposed; elements are real, so that nothing is conjugated."""
    if self._array.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self._array.ndim}-D tensor. For batches of "
            "matrices, consider using tensor.mH"
        )
    return transpose(self, 0, 1) if self._array.ndim else self


for _name, _property in (("T", _T), ("mT", _mT), ("mH", lambda x: adjoint(x)), ("H", _H)):
    setattr(Tensor, _name, property(_property))
Tensor.swapaxes = Tensor.swapdims = transpose  # type: ignore[attr-defined]
swapaxes = swapdims = transpose


@method
def adjoint(input: Tensor) -> Tensor:
    """Each matrix transposed: ``x.mT``, as elements are real; a number as it is."""
    return _mT(input) if input._array.ndim else input


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to new places, keeping the order of the rest."""
    ndim = input._array.ndim
    sources = [one_dim(d, ndim) for d in ([source] if isinstance(source, int) else source)]
    targets = [one_dim(d, ndim) for d in ([destination] if isinstance(destination, int) else destination)]
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source}) should contain the same number of dims as "
            f"destination ({destination})"
        )
    for what, dims in (("source", sources), ("destination", targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
    if not ndim:
        return view(input)
    rest = [d for d in range(ndim) if d not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        rest.insert(target, origin)
    return permute(input, *rest)


Tensor.moveaxis = movedim  # type: ignore[attr-defined]
moveaxis = movedim


def _squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """In-place form of :func:`squeeze`."""
    op, _, attributes = _squeezing(self, dim)
    return reshaped_in_place(self, op, attributes, "SqueezeBackward3" if dim is None else "SqueezeBackward4")


def _unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In-place form of :func:`unsqueeze`."""
    return reshaped_in_place(self, _unsqueeze, (one_dim(dim, self._array.ndim + 1),), "UnsqueezeBackward1")


def _t_(self: Tensor) -> Tensor:
    """In-place form of :func:`t`."""
    if self._array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")
    return reshaped_in_place(self, _t, (), "TBackward1")


def _transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place form of :func:`transpose`."""
    ndim = self._array.ndim
    return reshaped_in_place(self, _transpose, (one_dim(dim0, ndim), one_dim(dim1, ndim)), "TransposeBackward1")


for _name, _function in (
    ("squeeze_", _squeeze_),
    ("unsqueeze_", _unsqueeze_),
    ("t_", _t_),
    ("transpose_", _transpose_),
    ("swapaxes_", _transpose_),
    ("swapdims_", _transpose_),
):
    setattr(Tensor, _name, _function)


_expand = Op("expand", lambda xp, a, shape: broadcast(a, shape), (lambda ns, g: g,), view=True)


@method
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """Repeat dimensions of extent one without copying; -1 keeps an extent."""
    wanted, shape = shape_argument(sizes), input._array.shape
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
    return apply_one(_expand, input, (tuple(full),))


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.size())``."""
    return expand(input, *other._array.shape)


@method
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """Another name for :func:`expand`."""
    return expand(input, *size)


@method
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order, otherwise a copy that is."""
    return input if input._array.flags.c_contiguous else input.clone(memory_format="contiguous")


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to the shape that they broadcast to together."""
    given = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shapes = [x._array.shape for x in given]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error("broadcast_tensors", shapes) from None
    return tuple(x if x._array.shape == shape else expand(x, *shape) for x in given)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that these shapes broadcast to together."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    try:
        return Size(np.broadcast_shapes(*given))
    except ValueError:
        raise broadcast_error("broadcast_shapes", given) from None


def atleast_1d(*tensors: Any) -> Any:
    """Numbers as vectors; the rest as it is."""
    return _at_least(tensors, lambda x: reshape(x, 1) if x._array.ndim == 0 else x)


def atleast_2d(*tensors: Any) -> Any:
    """Numbers and vectors as rows of a matrix; the rest as it is."""

    def lift(x: Tensor) -> Tensor:
        return reshape(x, 1, 1) if x._array.ndim == 0 else unsqueeze(x, 0) if x._array.ndim == 1 else x

    return _at_least(tensors, lift)


def atleast_3d(*tensors: Any) -> Any:
    """At least three dimensions: vectors as ``(1, n, 1)``, matrices as ``(n, m, 1)``."""

    def lift(x: Tensor) -> Tensor:
        ndim = x._array.ndim
        if ndim == 0:
            return reshape(x, 1, 1, 1)
        return unsqueeze(unsqueeze(x, 0), -1) if ndim == 1 else unsqueeze(x, -1) if ndim == 2 else x

    return _at_least(tensors, lift)


def _at_least(tensors: tuple[Any, ...], lift: Any) -> Any:
    if len(tensors) == 1:
        only = tensors[0]
        return tuple([lift(x) for x in only]) if isinstance(only, (tuple, list)) else lift(only)
    return tuple([lift(x) for x in tensors])


__all__ = public(globals(), internal=["shape_argument"])
