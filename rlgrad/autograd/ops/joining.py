"""Operations that join several tensors into one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import one_dim, public
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.shape import atleast_1d, atleast_2d, atleast_3d, reshape
from rlgrad.autograd.registry import Op, apply_list
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of


def _cat_vjp(ns: Any, g: Any, wants: Sequence[bool], dim: int, sizes: tuple[int | None, ...]) -> list[Any]:
    grads: list[Any] = []
    start = 0
    for wanted, size in zip(wants, sizes, strict=True):
        if not wanted:
            grads.append(None)
        elif size is None:
            grads.append(ns.zeros(g, (0,)))
        else:
            grads.append(ns.narrow(g, dim, start, size))
        start += size or 0
    return grads


def _cat_forward(xp: Any, arrays: Any, dim: int, sizes: tuple[int | None, ...]) -> Any:
    if None in sizes:
        arrays = [array for array, size in zip(arrays, sizes, strict=True) if size is not None]
    return xp.concatenate(arrays, axis=dim)


_cat = Op("cat", _cat_forward, _cat_vjp, variadic=True)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension."""
    if axis is not None:
        dim = axis
    tensors = _same_dtypes("cat", tensors)
    shapes = [x._array.shape for x in tensors]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    sizes: tuple[int | None, ...]
    if (0,) in shapes and any(s != (0,) for s in shapes):  # PyTorch ignores empty vectors, but they are in the graph
        kept = [s for s in shapes if s != (0,)]
        _check_dimensions(kept)
        dim = one_dim(dim, len(kept[0]))
        sizes = tuple([None if s == (0,) else s[dim] for s in shapes])
        shapes = kept
    else:
        dim = one_dim(dim, len(shapes[0]))
        _check_dimensions(shapes)
        sizes = tuple([s[dim] for s in shapes])
    try:
        result = apply_list(_cat, tensors, (dim, sizes))
    except (ValueError, IndexError):
        raise _different_sizes(shapes, dim) from None
    return result if out is None else _written(out, result)


def _check_dimensions(shapes: list[tuple[int, ...]]) -> None:
    ndim = len(shapes[0])
    for shape in shapes:
        if len(shape) != ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {ndim} and {len(shape)}")


def _written(out: Tensor, result: Tensor) -> Tensor:
    if isinstance(out, Tensor) and not dtypes.can_cast(result.dtype, out.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype!r}")
    return write_out(out, result)


def _different_sizes(shapes: list[tuple[int, ...]], dim: int) -> RuntimeError:
    """The error that names the first shape which does not fit the others."""
    rests = [(*shape[:dim], *shape[dim + 1 :]) for shape in shapes]
    position = next(i for i, rest in enumerate(rests) if rest != rests[0])
    return RuntimeError(
        f"Sizes of tensors must match except in dimension {dim}. Got {list(shapes[position])} for tensor number {position} in "
        f"the list, expected {list(shapes[0])}"
    )


concat = concatenate = cat


def _same_dtypes(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    tensors = list(tensors)
    if not tensors:
        raise (ValueError if name == "cat" else RuntimeError)(f"{name}(): expected a non-empty list of Tensors")
    different = False
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
        different = different or tensor._array.dtype is not tensors[0]._array.dtype
    if not different:
        return tensors
    common = dtypes.result_type(*tensors)
    return [x.to(common) for x in tensors]


def _stack_vjp(ns: Any, g: Any, wants: Sequence[bool], dim: int) -> list[Any]:
    return [ns.select(g, dim, i) if wanted else None for i, wanted in enumerate(wants)]


def _stack_forward(xp: Any, arrays: Any, dim: int) -> Any:
    place = (*[slice(None)] * dim, None)
    return xp.concatenate([array[place] for array in arrays], axis=dim)


_stack = Op("stack", _stack_forward, _stack_vjp, variadic=True)


def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: Any = None, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dimension."""
    if axis is not None:
        dim = axis
    tensors = _same_dtypes("stack", tensors)
    first = tensors[0]._array.shape
    for position, tensor in enumerate(tensors):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(tensor.shape)} at "
                f"entry {position}"
            )
    result = apply_list(_stack, tensors, (one_dim(dim, len(first) + 1),))
    return result if out is None else _written(out, result)


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join along the second dimension, vectors along their only one."""
    raised = [atleast_1d(x) for x in _some("hstack", tensors)]
    return cat(raised, 0 if raised[0]._array.ndim == 1 else 1, out=out)


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join along the first dimension; vectors are rows."""
    return cat([atleast_2d(x) for x in _some("vstack", tensors)], 0, out=out)


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join along the third dimension."""
    return cat([atleast_3d(x) for x in _some("dstack", tensors)], 2, out=out)


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join along the second dimension; vectors are columns."""
    columns = [reshape(x, x._array.size, 1) if x._array.ndim <= 1 else x for x in _some("column_stack", tensors)]
    return cat(columns, 1, out=out)


row_stack = vstack


def _some(name: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if len(tensors) == 0:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def _block_diag_forward(xp: Any, arrays: Any, shapes: tuple[tuple[int, int], ...]) -> Any:
    out = xp.zeros((sum(r for r, _ in shapes), sum(c for _, c in shapes)), arrays[0].dtype)
    row = column = 0
    for array, (rows, columns) in zip(arrays, shapes, strict=True):
        out[row : row + rows, column : column + columns] = array
        row, column = row + rows, column + columns
    return out


def _block_diag_vjp(ns: Any, g: Any, wants: Sequence[bool], shapes: tuple[tuple[int, int], ...]) -> list[Any]:
    grads: list[Any] = []
    row = column = 0
    for wanted, (rows, columns) in zip(wants, shapes, strict=True):
        grads.append(ns.narrow(ns.narrow(g, 0, row, rows), 1, column, columns) if wanted else None)
        row, column = row + rows, column + columns
    return grads


_block_diag = Op("block_diag", _block_diag_forward, _block_diag_vjp, variadic=True)


def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of one matrix; numbers and vectors count as rows."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element 0 in argument 0, but got {type(x).__name__}")
        if x._array.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Got a tensor of shape {list(x.shape)}"
            )
    if not tensors:
        return wrap(np.zeros((1, 0), dtypes.get_default_dtype().numpy))
    raised = [atleast_2d(x) for x in _same_dtypes("block_diag", tensors)]
    return apply_list(_block_diag, raised, (tuple([x._array.shape for x in raised]),))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element from each vector, one to a row."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element 0 in argument 0, but got {type(x).__name__}")
        if x._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    sizes = [x._array.size for x in tensors]
    grids = []
    for d, x in enumerate(tensors):
        seen = reshape(x, *[-1 if i == d else 1 for i in range(len(sizes))]).expand(*sizes)
        grids.append(reshape(seen, -1))
    return stack(grids, 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of ``r`` elements of a vector in their order, one to a row."""
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(input._array[:0].copy())
    size, xp = input._array.size, module_of(input._array)
    columns: Any
    if r == 2:
        columns = np.triu_indices(size, 0 if with_replacement else 1)
    else:
        choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
        rows = np.fromiter(itertools.chain.from_iterable(choose(range(size), r)), np.int64)
        columns = rows.reshape(-1, r).T
    return stack([input[wrap(xp.asarray(column))] for column in columns], 1)


__all__ = public(globals())
