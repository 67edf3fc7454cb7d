"""Parameters: tensors that a module owns and an optimizer updates."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.graph import LeafNode
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import get_default_dtype


class Parameter(Tensor):
    """A leaf tensor that becomes part of a module when assigned to one of its attributes.

    Args:
        data: the values; the parameter shares their memory.
        requires_grad: whether it collects gradients.
    """

    __slots__ = ("__dict__", "_name")
    _name: str | None

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        from rlgrad.autograd.ops.creation import empty

        source = empty(0, dtype=get_default_dtype()) if data is None else data
        if not isinstance(source, Tensor):
            raise TypeError(
                f"Parameter expects a Tensor, got {type(source).__name__}; make one with rlgrad.tensor(...)"
            )
        self = object.__new__(cls)
        self._array = source._array
        self._cell = source._cell
        self._view = self._extra = self._edge = self._name = None
        if requires_grad:
            self._require_floating()
            self._edge = LeafNode(self)
        return self

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None: ...

    def _rebuilt(self, array: Any) -> Parameter:
        from rlgrad.autograd.tensor import wrap

        return type(self)(wrap(array), self.requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)


class Buffer(Tensor):
    """A tensor that is part of a module's state but not a parameter."""

    __slots__ = ("__dict__", "persistent")
    persistent: bool

    def __new__(cls, data: Tensor, *, persistent: bool = True) -> Buffer:
        self = object.__new__(cls)
        self._array, self._cell = data._array, data._cell
        self._view = self._extra = self._edge = None
        self.persistent = persistent
        return self

    def __init__(self, data: Tensor, *, persistent: bool = True) -> None: ...
