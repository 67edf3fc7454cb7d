"""The types of what functions with several results return."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def results(name: str, fields: str) -> Any:
    """A type of named tuples that print the way PyTorch's do.

    Args:
        name: PyTorch's name of the type.
        fields: names, with blanks between them.
    """
    base = namedtuple(name, fields)  # type: ignore[misc]
    return type(name, (base,), {"__slots__": (), "__repr__": _text})


def _text(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"
