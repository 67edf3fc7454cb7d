"""Softmax and its kin as ``nn.functional`` has them: the dimension may be left out, which earns a warning."""

from __future__ import annotations

import warnings
from typing import Any

from rlgrad.autograd.ops import softmax as ops
from rlgrad.autograd.tensor import Tensor

__all__ = ["log_softmax", "softmax", "softmin"]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials along ``dim``, normalised to sum to one.

    Args:
        dim: without it the first of 0, 1 or 3 dimensions is taken, otherwise the second.
        dtype: what to compute in.
    """
    return ops.softmax(input, _chosen("softmax", input, _stacklevel) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of :func:`softmax`, without its loss of precision; the arguments are the same."""
    return ops.log_softmax(input, _chosen("log_softmax", input, _stacklevel) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of ``-input``; the arguments are the same."""
    return ops.softmax(-input, _chosen("softmin", input, _stacklevel) if dim is None else dim, dtype)


def _chosen(name: str, input: Tensor, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=stacklevel,
    )
    return 0 if input._array.ndim in (0, 1, 3) else 1
