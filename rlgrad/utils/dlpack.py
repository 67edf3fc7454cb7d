"""Exchange of memory with other libraries."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.creation import from_dlpack
from rlgrad.autograd.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's memory as a DLPack capsule, for libraries that take no tensors."""
    return tensor.__dlpack__()
