"""The operations, by family. Importing this package fills the registry and gives tensors their methods."""

from rlgrad.autograd.ops import (
    arithmetic,
    comparison,
    creation,
    fused,
    indexing,
    linalg,
    pointwise,
    reductions,
    shape,
    special,
)

FAMILIES = (arithmetic, comparison, creation, pointwise, special, reductions, shape, indexing, linalg, fused)

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
    "special",
]
