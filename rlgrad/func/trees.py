"""Nested tuples, lists and dictionaries taken apart into their leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """How values are nested, without the values.

    Attributes:
        kind: the type of the container; ``None`` for a leaf.
        keys: of a dictionary.
        parts: the structures of what it contains.
    """

    kind: Any
    keys: tuple[Any, ...] = ()
    parts: tuple[Structure, ...] = ()

    def count(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind is None else sum(part.count() for part in self.parts)

    def build(self, leaves: Sequence[Any]) -> Any:
        """The values put together from their leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [part._build(leaves) for part in self.parts]
        if self.kind is defaultdict:
            return dict(zip(self.keys, parts, strict=True))
        if issubclass(self.kind, dict):
            return self.kind(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inner = [str(part) for part in self.parts]
        if self.keys:
            inner = [f"{key!r}: {part}" for key, part in zip(self.keys, inner, strict=True)]
        return f"{self.kind.__name__}({', '.join(inner)})"


LEAF = Structure(None)


def _children(value: Any) -> tuple[type | None, tuple[Any, ...], Sequence[Any]]:
    kind = type(value)
    if kind in (dict, OrderedDict, defaultdict):
        return kind, tuple(value), list(value.values())
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return kind, (), value
    return None, (), ()


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of nested values in order, and how they were nested. Whatever is no container is a leaf.

    Example:
        >>> leaves, structure = flatten({"a": 1, "b": (2, [3])})
        >>> leaves
        [1, 2, 3]
        >>> structure.build([10, 20, 30])
        {'a': 10, 'b': (20, [30])}
    """
    kind, keys, children = _children(value)
    if kind is None:
        return [value], LEAF
    leaves: list[Any] = []
    parts = []
    for child in children:
        inner, part = flatten(child)
        leaves += inner
        parts.append(part)
    return leaves, Structure(kind, keys, tuple(parts))


def spread(prefix: Any, structure: Structure) -> list[Any] | None:
    """One value for each leaf of a structure, from values nested alike or less deep; ``None`` where they do not fit.

    Example:
        >>> spread((0, None), flatten((1, {"a": 2, "b": 3}))[1])
        [0, None, None]
    """
    kind, keys, children = _children(prefix)
    if kind is None:
        return [prefix] * structure.count()
    if (kind, keys, len(children)) != (structure.kind, structure.keys, len(structure.parts)):
        return None
    result: list[Any] = []
    for child, part in zip(children, structure.parts, strict=True):
        inner = spread(child, part)
        if inner is None:
            return None
        result += inner
    return result
