"""What losses share: how they are reduced, and weights."""

from __future__ import annotations

from typing import Any, ClassVar

from rlgrad.autograd.ops.reduction import check_reduction
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.module import Module


class _Loss(Module):
    """A loss whose values are reduced to their mean, their sum, or not at all."""

    more_reductions: ClassVar[tuple[str, ...]] = ()
    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        more = reduction in self.more_reductions and size_average is None and reduce is None
        self.reduction = reduction if more else check_reduction(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with a factor for each class, which is part of its state."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
