"""Products of vectors and matrices made of the basic ones, and distances between sets of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error, method, one_dim, tensors_only
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.ops.linalg import bmm, dot, mm, mv, outer
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, Vjp, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes


def _transposed(ns: Any, a: Any) -> Any:
    """Matrices with rows and columns exchanged."""
    return ns.transpose(a, a.ndim - 2, a.ndim - 1)


def _added(name: str, product: Vjp, first: Vjp, second: Vjp) -> Op:
    """Register ``beta * c + alpha * product(a, b)``, given the product's derivatives ``(ns, g, b)`` and ``(ns, g, a)``."""

    def forward(xp: Any, c: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        out = product(xp, a, b)
        if alpha != 1:
            out *= alpha
        out += c if beta == 1 else c * beta
        return out

    return Op(
        name,
        forward,
        (
            lambda ns, g, beta: g if beta == 1 else g * beta,
            lambda ns, g, b, alpha: first(ns, g if alpha == 1 else g * alpha, b),
            lambda ns, g, a, alpha: second(ns, g if alpha == 1 else g * alpha, a),
        ),
        inputs=3,
    )


_addmm = _added(
    "addmm", lambda xp, a, b: a.dot(b), lambda ns, g, b: ns.mm(g, ns.t(b)), lambda ns, g, a: ns.mm(ns.t(a), g)
)
_addmv = _added("addmv", lambda xp, a, b: a.dot(b), lambda ns, g, b: ns.outer(g, b), lambda ns, g, a: ns.mv(ns.t(a), g))
_addr = _added(
    "addr", lambda xp, a, b: xp.outer(a, b), lambda ns, g, b: ns.mv(g, b), lambda ns, g, a: ns.mv(ns.t(g), a)
)
_baddbmm = _added(
    "baddbmm",
    lambda xp, a, b: xp.matmul(a, b),
    lambda ns, g, b: ns.bmm(g, _transposed(ns, b)),
    lambda ns, g, a: ns.bmm(_transposed(ns, a), g),
)
_addbmm = _added(
    "addbmm",
    lambda xp, a, b: xp.matmul(a, b).sum(0),
    lambda ns, g, b: ns.bmm(ns.reshape(g, (1, *g.shape)), _transposed(ns, b)),
    lambda ns, g, a: ns.bmm(_transposed(ns, a), ns.reshape(g, (1, *g.shape))),
)


_RANKS = {"addmm": (2, 2), "addmv": (2, 1), "addr": (1, 1), "baddbmm": (3, 3), "addbmm": (3, 3)}


def _sum_of(
    op: Op, product: Callable[..., Tensor], input: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any
) -> Tensor:
    """``beta * input + alpha * product(a, b)`` as one recorded operation, or in steps for integers and mixed dtypes."""
    left, right = a._array, b._array
    fits = (left.ndim, right.ndim) == _RANKS[op.name] and (left.ndim != 3 or len(left) == len(right))
    if fits and beta != 0 and left.dtype.kind == "f" and input._array.dtype == left.dtype == right.dtype:
        try:
            return apply(op, (input, a, b), (beta, alpha))
        except ValueError:
            pass  # the steps below say what does not fit
    found = product(a, b)
    if not found.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    try:
        input.expand(tuple(found.shape))
    except RuntimeError:
        raise RuntimeError(
            f"{op.name}: an input of shape {list(input.shape)} does not broadcast to the product's {list(found.shape)}"
        ) from None
    found = found if alpha == 1 else found * alpha
    if beta == 0:  # the input is ignored, NaN included
        return renamed(found.clone(), op.node.__name__)
    return renamed((input if beta == 1 else input * beta) + found, op.node.__name__)


@method
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` for matrices ``(n, m)`` and ``(m, p)``."""
    result = _sum_of(_addmm, mm, input, mat1, mat2, beta, alpha)
    return result if out is None else write_out(out, result, True)


@method
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` for a matrix ``(n, m)`` and a vector ``(m,)``."""
    result = _sum_of(_addmv, mv, input, mat, vec, beta, alpha)
    return result if out is None else write_out(out, result, True)


@with_out(cast=True)
@method
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    result = _sum_of(_addr, outer, input, vec1, vec2, beta, alpha)
    return (
        result.bool() if input._array.dtype.kind == vec1._array.dtype.kind == vec2._array.dtype.kind == "b" else result
    )


@method
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches ``(b, n, m)`` and ``(b, m, p)``."""
    result = _sum_of(_baddbmm, bmm, input, batch1, batch2, beta, alpha)
    return result if out is None else write_out(out, result, True)


def _summed_bmm(batch1: Tensor, batch2: Tensor) -> Tensor:
    return bmm(batch1, batch2).sum(0, dtype=batch1.dtype)


@with_out()
@method
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input`` plus ``alpha`` times the sum of the products of two batches."""
    return _sum_of(_addbmm, _summed_bmm, input, batch1, batch2, beta, alpha)


for _function in (addmm, addmv, addr, baddbmm, addbmm):
    inplace(_function)


@with_out()
@method
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Inner product of two vectors."""
    return renamed(dot(input, other), "VdotBackward0")


@with_out(cast=True)
@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimension of both: ``(*, n)`` and ``(+, n)`` give ``(*, +)``."""
    tensors_only("inner", input, other)
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    if other.ndim <= 2:
        if input.ndim == other.ndim == 1:
            return renamed(dot(input, other), "ViewBackward0")
        return input @ (other if other.ndim == 1 else other.t())
    return tensordot(input, other, dims=([-1], [-1]))


@with_out()
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over several dimensions of two tensors.

    Args:
        dims: how many last dimensions of ``a`` meet the first of ``b``, or two lists of dimensions.
    """
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and at most the number of dimensions, but got dims={dims}")
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError(f"both dimension lists should have same length, got {first} and {second}")
    first, second = [one_dim(d, a.ndim) for d in first], [one_dim(d, b.ndim) for d in second]
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j] and 1 in (a.shape[i], b.shape[j]):  # one of extent one meets the sum of the other
            a, b = (x.sum(d, keepdim=True, dtype=x.dtype) if x.shape[d] != 1 else x for x, d in ((a, i), (b, j)))
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    rest = [i for i in range(a.ndim) if i not in first]
    others = [j for j in range(b.ndim) if j not in second]
    count = math.prod([a.shape[i] for i in first])
    shape = [a.shape[i] for i in rest] + [b.shape[j] for j in others]
    left = _as_matrix(a, [*rest, *first], (math.prod([a.shape[i] for i in rest]), count))
    right = _as_matrix(b, [*second, *others], (count, math.prod([b.shape[j] for j in others])))
    return mm(left, right).reshape(*shape)


def _as_matrix(tensor: Tensor, order: list[int], shape: tuple[int, int]) -> Tensor:
    """The dimensions in this order, merged into two."""
    if order != sorted(order):
        tensor = tensor.permute(*order)
    return tensor if tensor._array.shape == shape else tensor.reshape(*shape)


@with_out(cast=True)
@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: every element of ``input`` times the whole of ``other``."""
    tensors_only("kron", input, other)
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = input.reshape(*[n for pair in zip(a, (1,) * ndim, strict=True) for n in pair])
    right = other.reshape(*[n for pair in zip((1,) * ndim, b, strict=True) for n in pair])
    return renamed((left * right).reshape(*[n * m for n, m in zip(a, b, strict=True)]), "UnsafeViewBackward0")


@with_out()
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of several matrices in the order that costs least (Cormen et al., matrix-chain multiplication).

    Args:
        tensors: two or more; the first and the last may be vectors.
    """
    chain = list(tensors)
    if len(chain) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(chain)}")
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    if row:
        chain[0] = chain[0].unsqueeze(0)
    if column:
        chain[-1] = chain[-1].unsqueeze(1)
    for position, x in enumerate(chain):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {position} must be 2D but got {x.ndim}D")
    result = _chain(chain)
    shape = [] if row else [result.shape[0]], [] if column else [result.shape[1]]
    return result.reshape(*shape[0], *shape[1])


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of several matrices in the order that costs least."""
    given = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    return given[0] if len(given) == 1 else multi_dot(given)


def _chain(chain: list[Tensor]) -> Tensor:
    extents = [x.shape[0] for x in chain] + [chain[-1].shape[1]]
    count = len(chain)
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = [
                (cost[i][k] + cost[k + 1][j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)
            ]
            cost[i][j], split[i][j] = min(choices)

    def product(i: int, j: int) -> Tensor:
        return chain[i] if i == j else mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    return product(0, count - 1)


def _cross_forward(xp: Any, a: Any, b: Any, dim: int) -> Any:
    a, b = xp.moveaxis(a, dim, -1), xp.moveaxis(b, dim, -1)
    return xp.ascontiguousarray(xp.moveaxis(xp.cross(a, b), -1, dim))


_cross = Op(
    "cross",
    _cross_forward,
    (lambda ns, g, b, dim: ns.cross(b, g, dim), lambda ns, g, a, dim: ns.cross(g, a, dim)),
    node="LinalgCrossBackward0",
)


@with_out()
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of vectors of three elements along ``dim``, with broadcasting."""
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and {other.ndim}"
        )
    dim = one_dim(dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    common = dtypes.result_type(input, other)
    try:
        shape = np.broadcast_shapes(tuple(input.shape), tuple(other.shape))
    except ValueError:
        raise broadcast_error("cross", (tuple(input.shape), tuple(other.shape))) from None
    return apply(_cross, (input.to(common).expand(shape), other.to(common).expand(shape)), (dim,))


@with_out()
@method
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross products along ``dim``, or along the first dimension of extent three."""
    tensors_only("cross", input, other)
    if dim is None:
        found = [i for i, n in enumerate(input.shape) if n == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return linalg_cross(input, other, dim=dim)


__all__: Sequence[str] = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "chain_matmul",
    "cross",
    "inner",
    "kron",
    "tensordot",
    "vdot",
]
