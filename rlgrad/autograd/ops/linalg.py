"""Products of vectors and matrices, and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import many_dims, method, public, spread
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes

_mm = Op(
    "mm",
    lambda xp, a, b: a.dot(b),
    (lambda ns, g, b: ns.mm(g, ns.t(b)), lambda ns, g, a: ns.mm(ns.t(a), g)),
)
_mv = Op(
    "mv",
    lambda xp, a, b: a.dot(b),
    (lambda ns, g, b: ns.outer(g, b), lambda ns, g, a: ns.mv(ns.t(a), g)),
)
_dot = Op("dot", lambda xp, a, b: a.dot(b), (lambda ns, g, b: g * b, lambda ns, g, a: g * a))
_outer = Op(
    "outer",
    lambda xp, a, b: xp.outer(a, b),
    (lambda ns, g, b: ns.mv(g, b), lambda ns, g, a: ns.mv(ns.t(g), a)),
    node="MulBackward0",
)


def sum_to(ns: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """Sum over broadcast batch dimensions."""
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape[:-2]) if n == 1 and g.shape[i + lead] != 1)
    return ns.reshape(ns.sum(g, axes, True), shape) if axes else g


def _product_forward(xp: Any, a: Any, b: Any) -> Any:
    if (
        b.ndim == 2 and a.size and a.flags.c_contiguous
    ):  # one product of two matrices instead of one for each of the batch
        return a.reshape(-1, a.shape[-1]).dot(b).reshape(*a.shape[:-1], b.shape[1])
    return xp.matmul(a, b)


def _second_factor_vjp(ns: Any, g: Any, a: Any, b_shape: Any) -> Any:
    if len(b_shape) == 2:
        return (
            ns.mm(ns.t(ns.reshape(a, (-1, b_shape[0]))), ns.reshape(g, (-1, b_shape[1])))
            if 0 not in a.shape
            else ns.zeros(g, b_shape)
        )
    return sum_to(ns, ns.bmm(ns.transpose(a, a.ndim - 2, a.ndim - 1), g), b_shape)


_BATCHED = (
    _product_forward,
    (
        lambda ns, g, b, a_shape: sum_to(ns, ns.bmm(g, ns.transpose(b, b.ndim - 2, b.ndim - 1)), a_shape),
        _second_factor_vjp,
    ),
)
_bmm = Op("bmm", *_BATCHED)
_matmul_of_batches = Op("matmul", *_BATCHED, node="UnsafeViewBackward0")


def _matched(name: str, a: Tensor, b: Tensor) -> None:
    for operand in (a, b):
        if not isinstance(operand, Tensor):
            raise TypeError(f"{name}(): expected a Tensor, got {type(operand).__name__}")
    if a._array.dtype is not b._array.dtype and a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got: {a.dtype!r} and {b.dtype!r}; convert one with "
            ".to(dtype)"
        )


@method
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product of two matrices ``(n, m)`` and ``(m, p)``."""
    _matched("mm", input, mat2)
    a, b = input._array.shape, mat2._array.shape
    if len(a) != 2 or len(b) != 2:
        raise RuntimeError(f"mm expects two matrices, got tensors of shape {list(a)} and {list(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    result = apply(_mm, (input, mat2))
    return result if out is None else write_out(out, result, True)


@method
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of a matrix ``(n, m)`` and a vector ``(m,)``."""
    _matched("mv", input, vec)
    a, b = input._array.shape, vec._array.shape
    if len(a) != 2 or len(b) != 1 or a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input {list(a)}, vec {list(b)}")
    result = apply(_mv, (input, vec))
    return result if out is None else write_out(out, result, True)


@method
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner product of two vectors."""
    _matched("dot", input, tensor)
    a, b = input._array.shape, tensor._array.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same number of elements"
        )
    result = apply(_dot, (input, tensor))
    return result if out is None else write_out(out, result, True)


@method
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Outer product of two vectors."""
    if input._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, got {input._array.ndim}-D and {vec2._array.ndim}-D")
    common = dtypes.result_type(input, vec2)
    result = apply(_outer, (input.to(common), vec2.to(common)))
    return result if out is None else write_out(out, result)


ger = Tensor.ger = outer  # type: ignore[attr-defined]


@method
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix products of two batches ``(b, n, m)`` and ``(b, m, p)``."""
    _matched("bmm", input, mat2)
    a, b = input._array.shape, mat2._array.shape
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError(f"batch1 and batch2 must be 3D tensors, got shapes {list(a)} and {list(b)}")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    result = apply(_bmm, (input, mat2))
    return result if out is None else write_out(out, result, True)


@method
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product with vectors on either side and broadcast batch dimensions, as ``@``."""
    if out is not None:
        return write_out(out, matmul(input, other), True)
    _matched("matmul", input, other)
    a, b = input._array.shape, other._array.shape
    left, right = len(a), len(b)
    if left == 0 or right == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    if left == 2 and right == 2:
        return mm(input, other)
    if left == 1 and right == 1:
        return dot(input, other)
    if left == 2 and right == 1:
        return mv(input, other)
    if left > 2 and right <= 2 and other.requires_grad and not input._array.flags.c_contiguous:
        input = input.contiguous()  # as PyTorch does, so that its gradient needs no batch of products
    if left == 1:
        name = "SqueezeBackward4" if right == 2 else "UnsafeViewBackward0"
        return renamed(matmul(input.unsqueeze(0), other).squeeze(-2), name)
    if right == 1:
        return renamed(matmul(input, other.unsqueeze(1)).squeeze(-1), "UnsafeViewBackward0")
    if a[-1] != b[-2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be compatible: cannot multiply {list(a)} and {list(b)}, "
            f"whose inner extents are {a[-1]} and {b[-2]}"
        )
    if a[:-2] != b[:-2]:
        try:
            np.broadcast_shapes(a[:-2], b[:-2])
        except ValueError:
            raise RuntimeError(f"matmul: batch dimensions of {list(a)} and {list(b)} do not broadcast") from None
    return apply(_matmul_of_batches, (input, other))


def _matmul(self: Tensor, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _rmatmul(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


Tensor.__matmul__, Tensor.__rmatmul__ = _matmul, _rmatmul  # type: ignore[method-assign, attr-defined]


def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The ``ord``-norm of all elements, or of each vector along ``dim``.

    Args:
        ord: a number, ``inf``, ``-inf`` or 0 (which counts the non-zero elements).
    """
    if dtype is not None:
        x = x.to(dtype)
    kind = x._array.dtype
    if kind.kind != "f":
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype!r}")
    if kind.itemsize < 4:  # squares of halves overflow
        return vector_norm(x.float(), ord, dim, keepdim, dtype=dtype, out=out).to(x.dtype)
    dims = many_dims(dim, x._array.ndim)
    if not x._array.size and (ord < 0 or ord == math.inf):
        shape = x._array.shape
        if 0 in (shape if dims is None else [shape[d] for d in dims]):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an "
                f"identity (shape {list(shape)}, dim {dim})"
            )
    result = apply_one(_norm, x, (float(ord), dims, keepdim))
    return result if out is None else write_out(out, result, True)


def norm_forward(xp: Any, a: Any, p: float, dims: Any, keepdim: bool) -> Any:
    if p == 2:
        if dims is None and not keepdim and a.flags.c_contiguous:
            flat = a.reshape(-1)
            return xp.sqrt(flat.dot(flat))
        squares = a * a
        return xp.sqrt(
            xp.add.reduce(squares, dims, None, None, keepdim) if xp is np else squares.sum(dims, keepdims=keepdim)
        )
    if p == 1:
        return abs(a).sum(axis=dims, keepdims=keepdim)
    if p == 0:
        return (a != 0).sum(axis=dims, keepdims=keepdim).astype(a.dtype)
    if abs(p) == math.inf:
        return (abs(a).max if p > 0 else abs(a).min)(axis=dims, keepdims=keepdim)
    return (abs(a) ** p).sum(axis=dims, keepdims=keepdim) ** (1 / p)


def norm_vjp(ns: Any, g: Any, a: Any, out: Any, a_shape: Any, p: Any, dims: Any, keepdim: Any) -> Any:
    if p == 0:
        return ns.zeros_like(a)
    g, out = spread(ns, g, a_shape, dims, keepdim), spread(ns, out, a_shape, dims, keepdim)
    if p == 2 and not ns.recorded and out.all():
        return a * (g / out)
    if p == 1:
        return g * ns.sign(a)
    if abs(p) == math.inf:  # in equal parts to all that have the norm's magnitude
        hits = ns.hits(ns.abs(a), out)
        return g * (ns.sign(a) * hits) / ns.sum(hits, dims, True)
    safe = ns.where(out == 0, 1, out)  # the gradient at zero is taken to be zero
    slope = a / safe if p == 2 else ns.sign(a) * (ns.abs(a) / safe) ** (p - 1)
    return g * ns.where(out == 0, ns.zeros_like(slope), slope)


_norm = Op("vector_norm", norm_forward, (norm_vjp,), node="LinalgVectorNormBackward0")

__all__ = public(globals(), internal=["norm_forward", "norm_vjp", "sum_to"])
