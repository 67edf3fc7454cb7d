"""Layers that drop elements or channels at random while training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.layer import FunctionLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class Dropout(FunctionLayer):
    """Zero elements with probability ``p`` and scale the rest by ``1 / (1 - p)`` in training (Srivastava et al., 2014).

    Args:
        p: probability of an element to be dropped.
        inplace: overwrite the input.

    Raises:
        ValueError: ``p`` is no probability.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Dropout(0.2).eval()(rlgrad.ones(3))
        tensor([1., 1., 1.])
    """

    function: ClassVar[Callable[..., Any]] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p=p, inplace=inplace)
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, length)``, or without the batch."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, height, width)``."""

    function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """:class:`Dropout` of whole channels of ``(batch, channels, depth, height, width)``."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """Dropout for networks of :class:`SELU` that keeps mean and variance (Klambauer et al., 2017)."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """:class:`AlphaDropout` of whole channels of ``(batch, channels, *)``."""

    function = staticmethod(F.feature_alpha_dropout)
