"""Reductions over one dimension, several or all."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import many_dims, method, numpy_names, public, spread
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.linalg import vector_norm
from rlgrad.autograd.ops.linear import ones
from rlgrad.autograd.ops.strided import diagonal_op
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.constants import ZERO
from rlgrad.backend.devices import module_of
from rlgrad.backend.kernels.selecting import select

Dims = int | tuple[int, ...] | list[int] | None


def _sum_vjp(ns: Any, g: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    return ns.expand(spread(ns, g, a_shape, dims, keepdim), a_shape)


def count_of(shape: tuple[int, ...], dims: Any) -> int:
    count = 1
    for dim in range(len(shape)) if dims is None else dims:
        count *= shape[dim]
    return count


def mean_vjp(ns: Any, g: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    count = count_of(a_shape, dims)
    return ns.expand(spread(ns, g * (1.0 / count) if count else g, a_shape, dims, keepdim), a_shape)


def sum_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    """The sum of a raw array over some dimensions, or over all."""
    if xp is not np:
        return a.sum(axis=dims, keepdims=keepdim)
    if a.size >= _ENOUGH and dims is None and a.dtype.char in "fd" and a.flags.c_contiguous:
        flat, whole = a.reshape(-1), a.size // _ROW * _ROW
        total = np.add.reduce(flat[:whole].reshape(-1, _ROW).dot(ones(_ROW, a.dtype))) + np.add.reduce(flat[whole:])
        return total.reshape((1,) * a.ndim) if keepdim else total
    return xp.add.reduce(a, dims, None, None, keepdim)


_ENOUGH = 1 << 15  # elements from which on BLAS sums rows of them three times as fast as NumPy sums them all
_ROW = 2048


def mean_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    count = count_of(a.shape, dims)
    return sum_forward(xp, a, dims, keepdim) * a.dtype.type(1.0 / count if count else float("nan"))


_sum_all = Op("sum_all", sum_forward, (_sum_vjp,), node="SumBackward0")
_sum_dims = Op("sum", sum_forward, (_sum_vjp,), node="SumBackward1")
_mean_all = Op("mean_all", mean_forward, (mean_vjp,), node="MeanBackward0")
_mean_dims = Op("mean", mean_forward, (mean_vjp,), node="MeanBackward1")


def accumulable(input: Tensor, dtype: Any) -> Tensor:
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
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype
    input = accumulable(input, dtype)
    if dim is None:
        result = apply_one(_sum_all, input, (None, keepdim))
    else:
        result = apply_one(_sum_dims, input, (many_dims(dim, input._array.ndim), keepdim))
    if dtype is not None:
        result = result.to(dtype)  # NumPy adds up small integers in larger ones
    return result if out is None else write_out(out, result, True)


def floating_input(name: str, input: Tensor, dtype: Any) -> Tensor:
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
    input = floating_input("mean", input, dtype)
    if dim is None:
        result = apply_one(_mean_all, input, (None, keepdim))
    else:
        result = apply_one(_mean_dims, input, (many_dims(dim, input._array.ndim), keepdim))
    return result if out is None else write_out(out, result)


def not_empty(name: str, input: Tensor, dims: Any) -> None:
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


def _truth(name: str, input: Tensor, dim: Dims, keepdim: bool, out: Tensor | None) -> Tensor:
    array = input._array
    if isinstance(out, Tensor):
        if out._array.dtype not in (np.bool_, np.uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype!r}")
        array = array.astype(out._array.dtype, copy=False)
    if dim is not None and dim.__class__ is not int and not len(many_dims(dim, array.ndim) or ()) and array.ndim:
        found = array != 0  # over no dimension
    else:
        found = getattr(module_of(array), name)(array, axis=many_dims(dim, array.ndim), keepdims=keepdim)
    result = wrap(found.astype(array.dtype) if array.dtype == np.uint8 else found)  # uint8 was the bool of old
    return result if out is None else write_out(out, result, True)


@method
@numpy_names
def all(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether every element is non-zero."""
    return _truth("all", input, dim, keepdim, out)


@method
@numpy_names
def any(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether some element is non-zero."""
    return _truth("any", input, dim, keepdim, out)


@method
@numpy_names
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements are not zero, over ``dim`` or in all."""
    array = input._array
    return wrap((array != 0).sum(axis=many_dims(dim, array.ndim)).astype(np.int64))


def _nansum_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    total = sum_forward(xp, a, dims, keepdim)
    if xp is np and not np.count_nonzero(total != total):  # as most often
        return total
    return sum_forward(xp, select(xp, a == a, a, ZERO.beside(xp, a)), dims, keepdim)


def _nansum_vjp(ns: Any, g: Any, a: Any, a_shape: Any, dims: Any, keepdim: Any) -> Any:
    return ns.where(a == a, ns.expand(spread(ns, g, a_shape, dims, keepdim), a_shape), 0)


_nansum = Op("nansum", _nansum_forward, (_nansum_vjp,))


@method
@numpy_names
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """:func:`sum` of the elements that are not NaN."""
    input = accumulable(input, dtype)
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
    input = floating_input("nanmean", input, dtype)
    array = input._array
    count = (array == array).sum(axis=many_dims(dim, array.ndim), keepdims=keepdim, dtype=array.dtype)
    result = nansum(input, dim, keepdim) / wrap(count)
    return result if out is None else write_out(out, result)


def _trace_vjp(ns: Any, g: Any, a_shape: Any) -> Any:
    return ns.view_into(ns.expand(g, (min(a_shape),)), a_shape, ((diagonal_op, (0, 0, 1), None),))


_trace = Op("trace", lambda xp, a: sum_forward(xp, a.diagonal(), None, False), (_trace_vjp,))


@method
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("trace is not implemented for torch.bool; convert the tensor with .int()")
    return apply_one(_trace, accumulable(input, None))


def _logsumexp_forward(xp: Any, a: Any, dims: Any, keepdim: bool) -> Any:
    if not a.size:
        return xp.log(sum_forward(xp, a, dims, keepdim))
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


__all__ = public(
    globals(),
    internal=["accumulable", "count_of", "floating_input", "mean_forward", "mean_vjp", "not_empty", "sum_forward"],
)
