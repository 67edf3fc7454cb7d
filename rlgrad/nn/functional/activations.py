"""Activation functions that can overwrite their input."""

from __future__ import annotations

from rlgrad.autograd.ops.inplace import maybe_inplace
from rlgrad.autograd.ops.smooth_activations import silu as _silu
from rlgrad.autograd.tensor import Tensor

__all__ = ["relu", "silu"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return input.relu_() if inplace else input.relu()


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return maybe_inplace(input, _silu(input), inplace)
