"""Modules that hold parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, NoReturn

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.containers import pairs, position
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _listing(items: Iterable[tuple[Any, Any]], with_type: bool) -> str:
    lines = []
    for name, value in items:
        text = f"Object of type: {type(value).__name__}"
        if isinstance(value, Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            place = f" ({value.device})" if value.is_cuda else ""
            dtype = value.type() if with_type else value.dtype
            text = f"{kind} containing: [{dtype} of size {'x'.join(map(str, value.shape))}{place}]"
        lines.append(f"  ({name}): {text}")
    return "\n".join(lines)


class _Holder(Module):
    """What both containers share: values kept as attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Holder):
    """Parameters in a list; a plain tensor becomes a parameter, other objects are kept as they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(len(self))[index]])
        return getattr(self, str(position(index, self._size)))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(position(index, self._size)), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def extra_repr(self) -> str:
        return _listing(enumerate(self), with_type=False)


class ParameterDict(_Holder):
    """Parameters in a dictionary; a plain tensor becomes a parameter, other objects are kept as they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping (a plain dictionary in the order of its names) or from pairs."""
        found = pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not hasattr(parameters, "move_to_end"):
            found = sorted(found)
        for name, value in found:
            self[name] = value

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a name in a ParameterDict is a string, got {type(key).__name__}")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[name] for name in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return [(name, self[name]) for name in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """A value, or ``default`` where there is none."""
        return getattr(self, key) if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """A value, after setting it to ``default`` where there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the value added last, and return its name and itself."""
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self) -> None:
        """Remove all values."""
        for name in list(self._keys):
            del self[name]

    def copy(self) -> ParameterDict:
        """Another dictionary with the same parameters."""
        return type(self)(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary with one value under several names."""
        return ParameterDict((name, default) for name in keys)

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> ParameterDict:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return _listing(self.items(), with_type=True)
