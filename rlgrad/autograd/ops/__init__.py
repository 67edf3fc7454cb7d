"""The operations, by family. Importing this package fills the registry and gives tensors their methods."""

from rlgrad.autograd.ops import arithmetic, comparison, creation, fused, indexing, linalg, pointwise, reductions, shape

FAMILIES = (arithmetic, comparison, creation, pointwise, reductions, shape, indexing, linalg, fused)

__all__ = [
    "FAMILIES",
    "arithmetic",
    "comparison",
    "creation",
    "fused",
    "indexing",
    "linalg",
    "pointwise",
    "reductions",
    "shape",
]
