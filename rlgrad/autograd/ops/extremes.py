"""Largest and smallest elements, and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import many_dims, method, numpy_names, one_dim, public, spread
from rlgrad.autograd.ops.inplace import write_out, write_outs
from rlgrad.autograd.ops.places import gather_forward
from rlgrad.autograd.ops.reductions import Dims, not_empty
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap

Op("hits", lambda xp, a, out: ((a == out) | ((a != a) & (out != out))).astype(a.dtype), inputs=2)


def extreme_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    """Gradient of the extreme of everything, in equal parts to all that equal it."""
    hits = ns.hits(a, spread(ns, out, a_shape, dims, keepdim))
    count = ns.sum(hits, dims, True)
    return hits * (spread(ns, g, a_shape, dims, keepdim) / (count + (count == 0)))  # none if ``.data`` was changed


def _ties_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    """The same along dimensions; where the extreme is NaN, so is the gradient."""
    hits = ns.mask(a == spread(ns, out, a_shape, dims, keepdim), a)
    return hits * (spread(ns, g, a_shape, dims, keepdim) / ns.sum(hits, dims, True))


_amax = Op("amax", lambda xp, a, dims, keepdim: a.max(axis=dims, keepdims=keepdim), (_ties_vjp,))
_amin = Op("amin", lambda xp, a, dims, keepdim: a.min(axis=dims, keepdims=keepdim), (_ties_vjp,))
_max_all = Op(
    "max_all",
    lambda xp, a, dims, keepdim: a.reshape(-1)[a.argmax()] if xp is np else a.max(),  # max() takes twice as long
    (extreme_vjp,),
    node="MaxBackward1",
)
_min_all = Op(
    "min_all",
    lambda xp, a, dims, keepdim: a.reshape(-1)[a.argmin()] if xp is np else a.min(),
    (extreme_vjp,),
    node="MinBackward1",
)


@method
@numpy_names
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Largest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    not_empty("amax", input, dims)
    result = apply_one(_amax, input, (dims, keepdim))
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Smallest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    not_empty("amin", input, dims)
    result = apply_one(_amin, input, (dims, keepdim))
    return result if out is None else write_out(out, result, True)


def _aminmax_vjp(ns: Any, grads: Any, a: Any, out0: Any, out1: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    parts = [
        _ties_vjp(ns, grads[i], a, out, a_shape, dims, keepdim) for i, out in enumerate((out0, out1)) if i in grads
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


_aminmax = Op(
    "aminmax",
    lambda xp, a, dims, keepdim: tuple([xp.asarray(f(axis=dims, keepdims=keepdim)) for f in (a.min, a.max)]),
    (_aminmax_vjp,),
    multiple=True,
)
_AminmaxResult = results("aminmax", "min max")


@method
@numpy_names
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """Smallest and largest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    not_empty("aminmax", input, dims)
    result = _AminmaxResult(*apply(_aminmax, (input,), (dims, keepdim)))
    return result if out is None else write_outs(out, result)


def with_index(xp: Any, a: Any, index: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if a.ndim == 0:
        return a.copy(), xp.zeros((), np.int64)
    index = index.reshape(_kept(a.shape, dim))
    values = gather_forward(xp, a, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def at_index(ns: Any, grads: Any, out1: Any, a_shape: Any, dim: int, keepdim: bool) -> Any:
    """Gradient of a selection: put it where the elements were taken from."""
    g, index = grads[0], ns.array(out1)
    if not a_shape:
        return ns.reshape(g, ())
    if not keepdim:
        g, index = ns.reshape(g, _kept(a_shape, dim)), index.reshape(_kept(a_shape, dim))
    return ns.scatter_add_into(g, index, a_shape, dim)


def _kept(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], 1, *shape[dim + 1 :])


_max_dim = Op(
    "max_dim",
    lambda xp, a, dim, keepdim: with_index(xp, a, a.argmax(axis=dim) if a.ndim else 0, dim, keepdim),
    (at_index,),
    node="MaxBackward0",
    multiple=True,
)
_min_dim = Op(
    "min_dim",
    lambda xp, a, dim, keepdim: with_index(xp, a, a.argmin(axis=dim) if a.ndim else 0, dim, keepdim),
    (at_index,),
    node="MinBackward0",
    multiple=True,
)

_MaxResult = results("max", "values indices")
_MinResult = results("min", "values indices")


@method
def max(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None, out: Any = None
) -> Any:
    """Largest element; with ``dim`` a pair ``(values, indices)``; with a second tensor the elementwise maximum."""
    if axis is not None or keepdims is not None:
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    return _extreme("max", input, dim, keepdim, _max_all, _max_dim, _MaxResult, out)


@method
def min(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = None, out: Any = None
) -> Any:
    """Smallest element; with ``dim`` a pair ``(values, indices)``; with a second tensor the elementwise minimum."""
    if axis is not None or keepdims is not None:
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    return _extreme("min", input, dim, keepdim, _min_all, _min_dim, _MinResult, out)


def _extreme(name: str, input: Tensor, dim: Any, keepdim: bool, whole: Op, along: Op, result: Any, out: Any) -> Any:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): expected a Tensor, got {type(input).__name__}")
    if isinstance(dim, Tensor):
        found = getattr(input, name + "imum")(dim)
    elif dim is None:
        not_empty(name, input, None)
        found = apply_one(whole, input, (None, False))
    else:
        dim = one_dim(dim, input._array.ndim)
        if input._array.ndim and not input._array.shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        found = result(*apply(along, (input,), (dim, keepdim)))
        return found if out is None else write_outs(out, found)
    return found if out is None else write_out(out, found)


def _arg(name: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    array = input._array
    if array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input; convert with .int()")
    if array.size == 0 and (dim is None or not array.shape[one_dim(dim, array.ndim)]):
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim"
        )
    if dim is None:
        index = getattr(array.reshape(-1), name)()
        return wrap(index.reshape((1,) * array.ndim) if keepdim else index)
    dim = one_dim(dim, array.ndim)
    if array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    index = getattr(array, name)(axis=dim)
    return wrap(index.reshape(_kept(array.shape, dim)) if keepdim else index)


@method
@numpy_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Index of the largest element."""
    result = _arg("argmax", input, dim, keepdim)
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Index of the smallest element."""
    result = _arg("argmin", input, dim, keepdim)
    return result if out is None else write_out(out, result, True)


__all__ = public(globals(), internal=["at_index", "extreme_vjp", "with_index"])
