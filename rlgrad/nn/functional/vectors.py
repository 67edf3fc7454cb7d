"""Vectors scaled to a norm."""

from __future__ import annotations

from rlgrad.autograd.tensor import Tensor

__all__ = ["normalize"]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """``input`` divided by its norm along ``dim``."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)
