"""Operations that copy elements to other places."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import many_dims, method, one_dim, public
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.ops.parts import narrow, narrow_op
from rlgrad.autograd.ops.shape import shape_argument
from rlgrad.autograd.ops.strided import diagonal_forward, two_dims
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

_flip = Op("flip", lambda xp, a, dims: xp.flip(a, dims).copy(), (lambda ns, g, dims: ns.flip(g, dims),))


@method
def flip(input: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Reverse the order along dimensions."""
    chosen = shape_argument(given if dims is None else (dims,))
    return apply_one(_flip, input, (many_dims(list(chosen), input._array.ndim) or (),))


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


def _repeat(self: Tensor, *given: Any, repeats: Any = None) -> Tensor:
    """Copies of the tensor side by side, ``repeats[i]`` times along dimension ``i``."""
    counts = shape_argument(given if repeats is None else (repeats,))
    if min(counts, default=0) < 0:
        raise RuntimeError(f"repeat: numbers of copies must not be negative, got {list(counts)}")
    if len(counts) < self._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return apply_one(_tile, self, (counts,))


Tensor.repeat = _repeat  # type: ignore[attr-defined]


@method
def tile(input: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Copies side by side; missing leading counts are one."""
    counts = shape_argument(given if dims is None else (dims,))
    return apply_one(_tile, input, ((1,) * (input._array.ndim - len(counts)) + counts,))


@functools.lru_cache(64)
def _lower(rows: int, columns: int, diagonal: int) -> np.ndarray:
    return np.tri(rows, columns, diagonal, dtype=bool)


def _triangle(name: str) -> Any:
    def forward(xp: Any, a: Any, diagonal: int) -> Any:
        if xp is not np or a.size > 1024:
            return getattr(xp, name)(a, diagonal)
        zero, shape = a.dtype.type(0), a.shape[-2:]
        if name == "tril":
            return np.where(_lower(*shape, diagonal), a, zero)
        return np.where(_lower(*shape, diagonal - 1), zero, a)

    return Op(
        name,
        forward,
        (lambda ns, g, diagonal: getattr(ns, name)(g, diagonal),),
    )


_tril, _triu = _triangle("tril"), _triangle("triu")


def _matrices(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {input._array.ndim}")


@method
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of each matrix, zero elsewhere."""
    _matrices("tril", input)
    result = apply_one(_tril, input, (diagonal,))
    return result if out is None else write_out(out, result, True)


@method
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of each matrix, zero elsewhere."""
    _matrices("triu", input)
    result = apply_one(_triu, input, (diagonal,))
    return result if out is None else write_out(out, result, True)


for _function in (tril, triu):
    inplace(_function)


@method
def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@method
def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension."""
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def _rolled(xp: Any, a: Any, shifts: Any, dims: Any) -> Any:
    if dims is None:
        return _rolled(xp, a.reshape(-1), (shifts,), (0,)).reshape(a.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        cut = -shift % (a.shape[dim] or 1)
        lead = (slice(None),) * dim
        a = xp.concatenate((a[(*lead, slice(cut, None))], a[(*lead, slice(cut))]), dim)
    return a


_roll = Op(
    "roll",
    _rolled,
    (lambda ns, g, shifts, dims: ns.roll(g, tuple([-n for n in shifts]) if dims is not None else -shifts, dims),),
)


@method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shift elements along dimensions (without ``dims``: along the flattened tensor); what leaves comes in again."""
    steps = (int(shifts),) if isinstance(shifts, int) else tuple([int(n) for n in shifts])
    chosen = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if not steps:
        raise RuntimeError("`shifts` required")
    if not chosen:
        if len(steps) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:0")
        return apply_one(_roll, input, (steps[0], None))
    if len(steps) != len(chosen):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(chosen)}")
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {chosen[0]} but tensor has no dimensions")
    return apply_one(_roll, input, (steps, tuple([one_dim(d, input._array.ndim) for d in chosen])))


def _rotated(xp: Any, a: Any, k: int, first: int, second: int) -> Any:
    """A reversed copy, and for a right angle the two dimensions exchanged without moving anything, as in PyTorch."""
    turned = xp.flip(a, ((), second, (first, second), first)[k]).copy()
    return turned.swapaxes(first, second) if k % 2 else turned


_rot90 = Op(
    "rot90",
    lambda xp, a, k, dims: _rotated(xp, a, k % 4, *dims),
    (lambda ns, g, k, dims: ns.rot90(g, -k, dims),),
    node="Rot90Backward0",
)


@method
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Rotate the plane of two dimensions by ``k`` right angles, from the first to the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    ndim = input._array.ndim
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = one_dim(dims[0], ndim), one_dim(dims[1], ndim)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return apply_one(_rot90, input, (k % 4, (first, second)))


@method
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Repeat each element (each slice along ``dim``) a number of times, or as often as ``repeats`` says for it.

    With one tensor alone, the number of each element as often as that element says.
    """
    if repeats is None:
        return wrap(module_of(input._array).repeat(np.arange(input._array.size), input._array))
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = one_dim(dim, input._array.ndim)
    if not input._array.ndim:
        input = input.reshape(1)
    extent = input._array.shape[dim]
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("repeats can not be negative")
        shape = input._array.shape
        wide = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
        return wide.clone().flatten(dim, dim + 1)
    counts = repeats._array
    if counts.dtype.kind != "i":
        raise RuntimeError("repeats has to be Long or Int tensor")
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.size != 1 and counts.size != extent:
        raise RuntimeError("repeats must have the same size as input along dim")
    if counts.size and int(counts.min()) < 0:
        raise RuntimeError("repeats can not be negative")
    xp = module_of(input._array)
    places = xp.repeat(xp.arange(extent), xp.broadcast_to(counts.reshape(-1), (extent,)))
    return input.index_select(dim, wrap(places))


def _diag_embed_forward(xp: Any, a: Any, offset: int, dim1: int, dim2: int) -> Any:
    size = a.shape[-1] + abs(offset)
    shape = list(a.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, size)
    out = xp.zeros(shape, a.dtype)
    diagonal_forward(xp, out, offset, dim1, dim2)[...] = a
    return out


_diag_embed = Op(
    "diag_embed",
    _diag_embed_forward,
    (lambda ns, g, offset, dim1, dim2: ns.diagonal_copy(g, offset, dim1, dim2),),
)
_diagonal_copy = Op(
    "diagonal_copy",
    lambda xp, a, offset, dim1, dim2: diagonal_forward(xp, a, offset, dim1, dim2).copy(),
    (lambda ns, g, a_shape, offset, dim1, dim2: ns.diagonal_into(g, a_shape, offset, dim1, dim2),),
    node="DiagonalBackward0_copy",
)


def _diagonal_into(xp: Any, g: Any, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    diagonal_forward(xp, out, offset, dim1, dim2)[...] = g
    return out


Op(
    "diagonal_into",
    _diagonal_into,
    (lambda ns, g, offset, dim1, dim2: ns.diagonal_copy(g, offset, dim1, dim2),),
)


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, zero but for the last dimension of ``input`` on a diagonal."""
    ndim = input._array.ndim + 1
    if ndim == 1:
        raise IndexError("diag_embed() cannot be applied to a 0-dim tensor.")
    first, second = one_dim(dim1, ndim), one_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply_one(_diag_embed, input, (offset, first, second))


@with_out()
@method
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix that has a vector on its diagonal."""
    ndim = input._array.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed(input, diagonal)
    return apply_one(_diagonal_copy, input, (diagonal, *two_dims(input, 0, 1)))


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix that has all elements on its diagonal."""
    return diag(input.reshape(-1), offset)


_narrow_copy: Op = Op(
    "narrow_copy",
    lambda xp, a, dim, start, length: a[(slice(None),) * dim + (slice(start, start + length),)].copy(),
    (lambda ns, g, a_shape, dim, start, length: ns.view_into(g, a_shape, ((narrow_op, (dim, start, length), None),)),),
)


@with_out()
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of :func:`narrow`."""
    if dim >= input._array.ndim:
        raise RuntimeError(f"narrow_copy(): dim {dim} is out of range for a tensor of {input._array.ndim} dimensions")
    part = narrow(input.detach(), dim, start, length)  # checks the arguments
    dim, extent = one_dim(dim, input._array.ndim), input._array.shape[dim]
    return apply_one(_narrow_copy, input, (dim, start % extent if extent else 0, part._array.shape[dim]))


Tensor.narrow_copy = narrow_copy  # type: ignore[attr-defined]

__all__ = public(globals())
