"""How a tensor's elements lie in memory, as PyTorch names it."""

from __future__ import annotations

from typing import Any


class _Named:
    """A constant known by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return (_constant, (self.name,))


class layout(_Named):
    """The type of ``strided``, the only layout here."""

    __slots__ = ()


class memory_format(_Named):
    """The order of the dimensions in memory. Results are in row-major order whatever is asked for."""

    __slots__ = ()


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
legacy_contiguous_format = contiguous_format


def _constant(name: str) -> Any:
    return globals()[name]
