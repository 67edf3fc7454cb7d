"""Modules that hold other modules."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, TypeVar

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.fusion import fused_forward
from rlgrad.nn.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]

L = TypeVar("L", bound="_Listed")
S = TypeVar("S", bound="Sequential")


def position(index: Any, size: int) -> int:
    """An index from either end as one from the start, or an ``IndexError``."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range for {size} elements")
    return index % size


def pairs(kind: str, values: Any) -> Iterable[tuple[str, Any]]:
    """The names and values of a mapping, or of an iterable of pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if hasattr(values, "items"):
        return values.items()
    found = list(values)
    for place, pair in enumerate(found):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{place} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{kind} update sequence element #{place} has length {len(pair)}; 2 is required")  # type: ignore[arg-type]
    return found


class _Listed(Module):
    """What Sequential and ModuleList share: children by position."""

    def _at(self, index: Any) -> str:
        return list(self._modules)[position(index, len(self._modules))]

    def _renumber(self, modules: Iterable[Module | None]) -> None:
        ordered = list(modules)
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(ordered))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])  # type: ignore[call-arg]
        return self._modules[self._at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._at(index), module)

    def __delitem__(self, index: Any) -> None:
        for name in list(self._modules)[index] if isinstance(index, slice) else [self._at(index)]:
            delattr(self, name)
        self._renumber(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self: L, module: Module) -> L:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: L, modules: Iterable[Module]) -> L:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove a module, or a slice of them, and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    """Modules applied one after the other.

    Args:
        *args: modules, or one ordered dictionary that names them.

    Example:
        >>> import rlgrad
        >>> net = rlgrad.nn.Sequential(rlgrad.nn.Linear(4, 3), rlgrad.nn.ReLU(), rlgrad.nn.Linear(3, 2))
        >>> net(rlgrad.ones(5, 4)).shape
        torch.Size([5, 2])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], Mapping) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        if isinstance(input, Tensor):
            output = fused_forward(self._modules, input)
            if output is not None:
                return output
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def insert(self: S, index: int, module: Module) -> S:
        """Add a module before position ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be a Module, got {type(module).__name__}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index} for {size} modules")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def _modules_of(self, other: Any) -> Iterable[Module]:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def _repeated(self, count: Any) -> list[Module]:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")
        return list(self) * count

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *self._modules_of(other))

    def __iadd__(self: S, other: Sequential) -> S:
        return self.extend(self._modules_of(other))

    def __mul__(self, count: int) -> Sequential:
        return Sequential(*self._repeated(count))

    __rmul__ = __mul__

    def __imul__(self: S, count: int) -> S:
        return self.extend(self._repeated(count)[len(self) :])


class ModuleList(_Listed):
    """Modules in a list, registered as children."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Add a module before position ``index``."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Like modules come as one line with their count."""
        runs: list[tuple[int, int, str]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """Modules in a dictionary, registered as children."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        for name, module in pairs("ModuleDict", modules):
            self[name] = module

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Any]:
        """Names and modules."""
        return self._modules.items()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()
