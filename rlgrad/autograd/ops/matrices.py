"""What functions of matrices share: their checks, their errors, and shapes in their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor


class LinAlgError(RuntimeError):
    """A matrix for which the asked-for decomposition or solution does not exist."""


def mt(ns: Any, a: Any) -> Any:
    """Matrices with rows and columns exchanged."""
    return ns.transpose(a, a.ndim - 2, a.ndim - 1)


def column_of(ns: Any, a: Any) -> Any:
    """``(*, n)`` as ``(*, n, 1)``."""
    return ns.reshape(a, (*a.shape, 1))


def row_of(ns: Any, a: Any) -> Any:
    """``(*, n)`` as ``(*, 1, n)``."""
    return ns.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))


def scalar_of(ns: Any, a: Any) -> Any:
    """``(*)`` as ``(*, 1, 1)``."""
    return ns.reshape(a, (*a.shape, 1, 1))


def factored(name: str, function: Callable[..., Any], problem: str) -> Any:
    """Run a factorisation, with its failure told in PyTorch's class."""
    try:
        return function()
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.{name}: {problem}") from None


def matrix_argument(name: str, A: Tensor, square: bool = False) -> Tensor:
    """The argument, if it is floating matrices (square ones if asked for), or PyTorch's error."""
    if not isinstance(A, Tensor):
        raise TypeError(f"linalg.{name}(): argument must be Tensor, not {type(A).__name__}")
    shape = A._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A._array.dtype.kind != "f" or A._array.dtype.itemsize < 4:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {A.dtype!r}; convert it with .float()"
        )
    if square and shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return A


def same_dtype(name: str, A: Tensor, B: Tensor) -> None:
    """Refuse matrices of two dtypes."""
    if A._array.dtype != B._array.dtype:
        raise RuntimeError(
            f"linalg.{name}: Expected A and B to have the same dtype, but found {A.dtype!r} and {B.dtype!r}"
        )
