"""Layers that are a function with settings and hold no parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.module import Module

__all__ = ["FunctionLayer"]


class FunctionLayer(Module):
    """A function of a tensor with its settings, which become attributes, keyword arguments and what is printed.

    Subclasses name the function and hand their settings to ``__init__`` in the order in which they are printed.

    Args:
        **settings: keyword arguments of the function.
    """

    function: ClassVar[Callable[..., Any]]
    hidden: ClassVar[tuple[str, ...]] = ()
    """Settings that are not printed; ``inplace`` is printed only when it is true."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self._settings = tuple(settings)
        self.__dict__.update(settings)

    def _arguments(self) -> dict[str, Any]:
        own = self.__dict__
        return {name: own[name] for name in self._settings}

    def forward(self, input: Tensor) -> Any:
        return self.function(input, **self._arguments())

    def extra_repr(self) -> str:
        shown = {name: value for name, value in self._arguments().items() if name not in self.hidden}
        if shown.get("inplace") is False:
            del shown["inplace"]
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())
