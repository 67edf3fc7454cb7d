"""The linear layer as one op, with the products that its backward is made of."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor


def _linear_forward(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    out = x.dot(weight.T) if x.ndim == 2 else xp.matmul(x, weight.T)
    if bias is not None:
        out += bias
    return out


def _matrix(ns: Any, x: Any) -> Any:
    """All but the last dimension merged into one."""
    return x if x.ndim == 2 else ns.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


_linear = Op(
    "linear",
    _linear_forward,
    (
        lambda ns, g, weight, x_shape: (
            ns.reshape(ns.mm(_matrix(ns, g), weight), x_shape) if g.ndim != 2 else ns.mm(g, weight)
        ),
        lambda ns, g, x: ns.transposed_mm(_matrix(ns, g), _matrix(ns, x)),
        lambda ns, g: ns.sum_rows(_matrix(ns, g)),
    ),
    node="AddmmBackward0",
)
_transposed_mm = Op(
    "transposed_mm",
    lambda xp, a, b: a.T.dot(b),
    (lambda ns, g, b: ns.mm(b, ns.t(g)), lambda ns, g, a: ns.mm(a, g)),
)


def _sum_rows_forward(xp: Any, a: Any) -> Any:
    return sum_rows(a) if xp is np and a.dtype.itemsize >= 4 else a.sum(0)


def sum_rows(a: np.ndarray) -> np.ndarray:
    """The sum over the first dimension of a matrix."""
    return ones(len(a), a.dtype).dot(a)  # BLAS sums rows several times as fast as a reduction does


@functools.lru_cache(32)
def ones(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A vector of ones, shared between calls."""
    return np.ones(count, dtype)


_sum_rows = Op("sum_rows", _sum_rows_forward, (lambda ns, g, a_shape: ns.expand(ns.reshape(g, (1, -1)), a_shape),))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: ``(..., in_features)``.
        weight: ``(out_features, in_features)``.
        bias: ``(out_features,)``.
    """
    x, w = input._array, weight._array
    if w.ndim != 2 or x.ndim == 0 or x.shape[-1] != w.shape[1] or x.dtype is not w.dtype:
        _refuse_linear(input, weight)
    result = apply(_linear, (input, weight, bias))
    if bias is None or x.ndim != 2:
        node = ("SqueezeBackward4", "MmBackward0", "UnsafeViewBackward0")[min(x.ndim, 3) - 1]
        return renamed(result, node if bias is None else "ViewBackward0")
    return result


def _refuse_linear(input: Tensor, weight: Tensor) -> None:
    shape, w = tuple(input.shape) or (0,), tuple(weight.shape)
    if input._array.dtype != weight._array.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input.dtype!r} and {weight.dtype!r}; convert the input with "
            f".to({weight.dtype!r})"
        )
    if len(w) == 2 and shape[-1] == w[1] and input.ndim:
        return
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({math.prod(shape[:-1])}x{shape[-1]} and "
        f"{'x'.join(map(str, reversed(w)))}): linear got an input of shape {list(input.shape)} for a weight of shape "
        f"{list(w)}, whose last extents must agree"
    )


__all__ = ["linear"]
