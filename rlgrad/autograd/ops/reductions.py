"""Reductions over one dimension, several or all."""

from __future__ import annotations

import builtins
from collections import namedtuple
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import many_dims, method, numpy_names, one_dim, public, spread
from rlgrad.autograd.ops.inplace import inplace, write_out, write_outs
from rlgrad.autograd.ops.linalg import vector_norm
from rlgrad.autograd.ops.places import gather_forward
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.constants import ZERO
from rlgrad.backend.devices import module_of

Dims = int | tuple[int, ...] | list[int] | None


def _sum_vjp(ns: Any, g: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    return ns.expand(spread(ns, g, a_shape, dims, keepdim), a_shape)


def _count(shape: tuple[int, ...], dims: Any) -> int:
    count = 1
    for dim in range(len(shape)) if dims is None else dims:
        count *= shape[dim]
    return count


def _mean_vjp(ns: Any, g: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    count = _count(a_shape, dims)
    return ns.expand(spread(ns, g * (1.0 / count) if count else g, a_shape, dims, keepdim), a_shape)


def _sum_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    return xp.add.reduce(a, dims, None, None, keepdim) if xp is np else a.sum(axis=dims, keepdims=keepdim)


def _mean_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    count = _count(a.shape, dims)
    return _sum_forward(xp, a, dims, keepdim) * a.dtype.type(1.0 / count if count else float("nan"))


_sum_all = Op("sum_all", _sum_forward, (_sum_vjp,), node="SumBackward0")
_sum_dims = Op("sum", _sum_forward, (_sum_vjp,), node="SumBackward1")
_mean_all = Op("mean_all", _mean_forward, (_mean_vjp,), node="MeanBackward0")
_mean_dims = Op("mean", _mean_forward, (_mean_vjp,), node="MeanBackward1")


def _accumulable(input: Tensor, dtype: Any) -> Tensor:
    """The input in the dtype that a sum is computed in: integers in int64."""
    if dtype is not None:
        return input.to(dtype)
    return input if input._array.dtype.kind == "f" else input.to(dtypes.int64)


@method
def sum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sum over ``dim``, or over everything."""
    if axis is not None or keepdims is not None:
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    input = _accumulable(input, dtype)
    if dim is None:
        result = apply_one(_sum_all, input, (None, keepdim))
    else:
        result = apply_one(_sum_dims, input, (many_dims(dim, input._array.ndim), keepdim))
    if dtype is not None:
        result = result.to(dtype)  # NumPy adds up small integers in larger ones
    return result if out is None else write_out(out, result)


def _floating(name: str, input: Tensor, dtype: Any) -> Tensor:
    if dtype is not None:
        input = input.to(dtype)
    if input._array.dtype.kind != "f":
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype!r}; convert it first, for example with .float()"
        )
    return input


@method
def mean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean over ``dim``, or over everything."""
    if axis is not None or keepdims is not None:
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    input = _floating("mean", input, dtype)
    if dim is None:
        result = apply_one(_mean_all, input, (None, keepdim))
    else:
        result = apply_one(_mean_dims, input, (many_dims(dim, input._array.ndim), keepdim))
    return result if out is None else write_out(out, result)


def _var_forward(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
    center = a - _mean_forward(xp, a, dims, True)
    freedom = builtins.max(_count(a.shape, dims) - correction, 0)
    total = _sum_forward(xp, center * center, dims, keepdim)
    return total / a.dtype.type(freedom)


def _var_vjp(ns: Any, g: Any, a: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    freedom = builtins.max(_count(a_shape, dims) - correction, 0)
    scale = 2.0 / freedom if freedom else float("inf")
    return spread(ns, g, a_shape, dims, keepdim) * ((a - ns.mean(a, dims, True)) * scale)


_var = Op("var", _var_forward, (_var_vjp,))


def _std_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    slope = ns.where(out == 0, 0, g / (out * 2))
    return _var_vjp(ns, slope, a, a_shape, dims, correction, keepdim)


_std = Op(
    "std",
    lambda xp, a, dims, correction, keepdim: xp.sqrt(_var_forward(xp, a, dims, correction, keepdim)),
    (_std_vjp,),
)


def _spread_arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


@method
@numpy_names
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Variance, divided by ``n - correction`` (1 unless told)."""
    result = _moments(_var, "var", input, dim, unbiased, keepdim, correction)
    return result if out is None else write_out(out, result)


@method
@numpy_names
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Standard deviation, the root of :func:`var`."""
    result = _moments(_std, "std", input, dim, unbiased, keepdim, correction)
    return result if out is None else write_out(out, result)


def _moments(op: Op, name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    dim, correction = _spread_arguments(dim, unbiased, correction)
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"{name} only support floating point dtypes; convert the {input.dtype!r} tensor first")
    return apply(op, (input,), (many_dims(dim, input._array.ndim), correction, keepdim))


def _with_mean(forward: Any) -> Any:
    def both(xp: Any, a: Any, dims: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
        spread = xp.asarray(forward(xp, a, dims, correction, keepdim))
        return spread, xp.asarray(_mean_forward(xp, a, dims, keepdim))

    return both


def _var_mean_vjp(ns: Any, grads: Any, a: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any) -> Any:
    parts = []
    if 0 in grads:
        parts.append(_var_vjp(ns, grads[0], a, a_shape, dims, correction, keepdim))
    if 1 in grads:
        parts.append(_mean_vjp(ns, grads[1], a_shape, dims, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _std_mean_vjp(
    ns: Any, grads: Any, a: Any, out0: Any, a_shape: Any, dims: Any, correction: Any, keepdim: Any
) -> Any:
    parts = []
    if 0 in grads:
        parts.append(_std_vjp(ns, grads[0], a, out0, a_shape, dims, correction, keepdim))
    if 1 in grads:
        parts.append(_mean_vjp(ns, grads[1], a_shape, dims, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


_var_mean = Op("var_mean", _with_mean(_var.forward), (_var_mean_vjp,), multiple=True)
_std_mean = Op("std_mean", _with_mean(_std.forward), (_std_mean_vjp,), multiple=True)


@numpy_names
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """:func:`var` and :func:`mean` in one."""
    return _moments(_var_mean, "var_mean", input, dim, unbiased, keepdim, correction)


@numpy_names
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> tuple[Tensor, Tensor]:
    """:func:`std` and :func:`mean` in one."""
    return _moments(_std_mean, "std_mean", input, dim, unbiased, keepdim, correction)


Op("hits", lambda xp, a, out: ((a == out) | ((a != a) & (out != out))).astype(a.dtype), inputs=2)


def _extreme_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
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
    (_extreme_vjp,),
    node="MaxBackward1",
)
_min_all = Op(
    "min_all",
    lambda xp, a, dims, keepdim: a.reshape(-1)[a.argmin()] if xp is np else a.min(),
    (_extreme_vjp,),
    node="MinBackward1",
)


def _not_empty(name: str, input: Tensor, dims: Any) -> None:
    shape = input._array.shape
    if dims is None:
        if not input._array.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        return
    for dim in dims:
        if not shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


@method
@numpy_names
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Largest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    _not_empty("amax", input, dims)
    result = apply_one(_amax, input, (dims, keepdim))
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Smallest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    _not_empty("amin", input, dims)
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
_AminmaxResult = namedtuple("aminmax", ["min", "max"])  # type: ignore[name-match]


@method
@numpy_names
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """Smallest and largest element over ``dim``; ties share the gradient."""
    dims = many_dims(dim, input._array.ndim)
    _not_empty("aminmax", input, dims)
    result = _AminmaxResult(*apply(_aminmax, (input,), (dims, keepdim)))
    return result if out is None else write_outs(out, result)


def _with_index(xp: Any, a: Any, index: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if a.ndim == 0:
        return a.copy(), xp.zeros((), np.int64)
    index = index.reshape(_kept(a.shape, dim))
    values = gather_forward(xp, a, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def _at_index(ns: Any, grads: Any, out1: Any, a_shape: Any, dim: int, keepdim: bool) -> Any:
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
    lambda xp, a, dim, keepdim: _with_index(xp, a, a.argmax(axis=dim) if a.ndim else 0, dim, keepdim),
    (_at_index,),
    node="MaxBackward0",
    multiple=True,
)
_min_dim = Op(
    "min_dim",
    lambda xp, a, dim, keepdim: _with_index(xp, a, a.argmin(axis=dim) if a.ndim else 0, dim, keepdim),
    (_at_index,),
    node="MinBackward0",
    multiple=True,
)

_MaxResult = namedtuple("max", ["values", "indices"])  # type: ignore[name-match]
_MinResult = namedtuple("min", ["values", "indices"])  # type: ignore[name-match]


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
        _not_empty(name, input, None)
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


def _truth(name: str, input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    array = input._array
    if dim is not None and dim.__class__ is not int and not len(many_dims(dim, array.ndim) or ()) and array.ndim:
        found = array != 0  # over no dimension
    else:
        found = getattr(module_of(array), name)(array, axis=many_dims(dim, array.ndim), keepdims=keepdim)
    return wrap(found.astype(array.dtype) if array.dtype == np.uint8 else found)  # uint8 was the bool of old


@method
@numpy_names
def all(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether every element is non-zero."""
    result = _truth("all", input, dim, keepdim)
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def any(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether some element is non-zero."""
    result = _truth("any", input, dim, keepdim)
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements are not zero, over ``dim`` or in all."""
    array = input._array
    return wrap((array != 0).sum(axis=many_dims(dim, array.ndim)).astype(np.int64))


def _nansum_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    known = a.copy()
    xp.copyto(known, ZERO.beside(xp, a), where=a != a)
    return _sum_forward(xp, known, dims, keepdim)


def _nansum_vjp(ns: Any, g: Any, a: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    return ns.where(a == a, ns.expand(spread(ns, g, a_shape, dims, keepdim), a_shape), 0)


_nansum = Op("nansum", _nansum_forward, (_nansum_vjp,))


@method
@numpy_names
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """:func:`sum` of the elements that are not NaN."""
    input = _accumulable(input, dtype)
    result = apply_one(_nansum, input, (many_dims(dim, input._array.ndim), keepdim))
    if dtype is not None:
        result = result.to(dtype)
    return result if out is None else write_out(out, result)


@method
@numpy_names
def nanmean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """:func:`mean` of the elements that are not NaN."""
    input = _floating("nanmean", input, dtype)
    array = input._array
    count = (array == array).sum(axis=many_dims(dim, array.ndim), keepdims=keepdim, dtype=array.dtype)
    result = nansum(input, dim, keepdim) / wrap(count)
    return result if out is None else write_out(out, result)


def _trace_vjp(ns: Any, g: Any, a_shape: Any) -> Any:
    diagonal = np.eye(*a_shape, dtype=np.bool_)
    return ns.where(module_of(ns.array(g)).asarray(diagonal), g, 0)


_trace = Op("trace", lambda xp, a: _sum_forward(xp, a.diagonal(), None, False), (_trace_vjp,))


@method
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("trace is not implemented for torch.bool; convert the tensor with .int()")
    return apply_one(_trace, _accumulable(input, None))


def _reversed_cumsum(ns: Any, g: Any, dim: int) -> Any:
    return ns.flip(ns.cumsum(ns.flip(g, (dim,)), dim), (dim,))


def _running_result(xp: Any, ufunc: str, a: Any, dim: int) -> Any:
    """Running sums or products in the array's own dtype."""
    if not a.ndim:
        return a.copy()
    if xp is np:
        return getattr(np, ufunc).accumulate(a, dim, a.dtype)
    return (xp.cumsum if ufunc == "add" else xp.cumprod)(a, axis=dim, dtype=a.dtype)


_cumsum = Op(
    "cumsum",
    lambda xp, a, dim: _running_result(xp, "add", a, dim),
    (lambda ns, g, a_shape, dim: _reversed_cumsum(ns, g, dim) if a_shape else g,),
)


@method
def cumsum(input: Tensor, dim: Any = None, *, axis: Any = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sum along ``dim``."""
    if axis is not None:
        dim = axis
    input = _accumulable(input, out.dtype if dtype is None and out is not None else dtype)
    result = apply_one(_cumsum, input, (one_dim(dim, input._array.ndim),))
    return result if out is None else write_out(out, result)


def _logsumexp_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    if not a.size:
        return xp.log(_sum_forward(xp, a, dims, keepdim))
    top = a.max(axis=dims, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0).astype(a.dtype)
    total = xp.log(xp.exp(a - top).sum(axis=dims, keepdims=keepdim))
    return total + (top if keepdim else top.reshape(total.shape))


def _logsumexp_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    weights = ns.exp(a - spread(ns, out, a_shape, dims, keepdim))
    return spread(ns, g, a_shape, dims, keepdim) * weights


_logsumexp = Op("logsumexp", _logsumexp_forward, (_logsumexp_vjp,))


@method
@numpy_names
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the sum of exponentials over ``dim``, without overflow."""
    if input._array.dtype.kind != "f":
        input = input.to(dtypes.get_default_dtype())
    result = apply_one(_logsumexp, input, (many_dims(dim, input._array.ndim), keepdim))
    return result if out is None else write_out(out, result)


@method
@numpy_names
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The ``p``-norm of all elements, or of each vector along ``dim`` (see ``linalg.vector_norm``)."""
    if p == "nuc":
        from rlgrad.autograd.ops.matrix_norms import matrix_norm

        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype, out=out)


inplace(cumsum)

__all__ = public(globals())
