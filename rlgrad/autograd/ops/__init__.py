"""The operations, by family. Importing this package fills the registry and gives tensors their methods."""

from rlgrad.autograd.ops import creation, fused, indexing, linalg, pointwise, reductions, shape

FAMILIES = (creation, pointwise, reductions, shape, indexing, linalg, fused)

__all__ = ["FAMILIES", "creation", "fused", "indexing", "linalg", "pointwise", "reductions", "shape"]
