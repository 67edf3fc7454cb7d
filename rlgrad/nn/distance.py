"""Distances between vectors as modules."""

from __future__ import annotations

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        p: order of the norm.
        eps: added to every difference, so that the gradient at equal vectors is finite.
        keepdim: keep the last dimension, with extent 1.

    Shape:
        ``(*, features)`` twice to ``(*)``.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Cosine of the angle between vectors along ``dim``.

    Args:
        dim: dimension of the vectors.
        eps: least product of their lengths.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.CosineSimilarity()(rlgrad.tensor([[1.0, 0.0]]), rlgrad.tensor([[3.0, 4.0]]))
        tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
