"""Functions that ask what something is."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import can_cast

__all__ = ["can_cast", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_tensor", "numel"]


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor's dtype is a floating one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the tensor's dtype is complex, which no dtype here is."""
    return input.is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    return bool(input)


def numel(input: Tensor) -> int:
    """How many elements the tensor has."""
    return input.numel()
