"""Layers that lengthen the last one, two or three dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """What all pads share.

    Args:
        padding: one amount for every side, or ``(left, right)`` of the last dimension, then of the one before it, and
            so on.
    """

    rank: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self.rank:
            raise ValueError(
                f"{type(self).__name__}: padding should be one integer or {2 * self.rank} of them, got {padding}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """One value on both ends of the last dimension."""

    rank = 1


class ConstantPad2d(_ConstantPad):
    """One value around the last two dimensions."""

    rank = 2


class ConstantPad3d(_ConstantPad):
    """One value around the last three dimensions."""

    rank = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros on both ends of the last dimension."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions."""


class ReflectionPad1d(_Pad):
    """The last dimension mirrored at both ends, which are not repeated."""

    rank, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two dimensions mirrored at their ends."""

    rank, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The last three dimensions mirrored at their ends."""

    rank, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The end elements of the last dimension repeated."""

    rank, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The border elements of the last two dimensions repeated."""

    rank, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The border elements of the last three dimensions repeated."""

    rank, mode = 3, "replicate"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self.rank + 1, self.rank + 2):
            raise ValueError(f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """The last dimension continued from its other end."""

    rank = 1


class CircularPad2d(_CircularPad):
    """The last two dimensions continued from their other ends."""

    rank = 2


class CircularPad3d(_CircularPad):
    """The last three dimensions continued from their other ends."""

    rank = 3
