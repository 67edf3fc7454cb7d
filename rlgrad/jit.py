"""``torch.jit``'s decorators, which here return what they decorate: programs run as Python throughout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "optimize_for_inference",
    "script",
    "trace",
    "unused",
]

T = TypeVar("T")


def script(obj: T, *args: Any, **options: Any) -> T:
    """A function, class or module as it is.

    Example:
        >>> import rlgrad
        >>> @rlgrad.jit.script
        ... def double(x):
        ...     return x * 2
        >>> double(3)
        6
    """
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, **options: Any) -> T:
    """A function or module as it is. Unlike PyTorch's trace it goes on to follow the branches of its own code."""
    return func


def freeze(mod: T, *args: Any, **options: Any) -> T:
    """A module as it is."""
    return mod


def optimize_for_inference(mod: T, *args: Any, **options: Any) -> T:
    """A module as it is."""
    return mod


def export(fn: T) -> T:
    """A method as it is."""
    return fn


def unused(fn: T) -> T:
    """A method as it is."""
    return fn


def ignore(drop: bool | Callable[..., Any] = False, **options: Any) -> Any:
    """A method as it is, or a decorator that returns what it decorates."""
    return drop if callable(drop) else lambda fn: fn


def is_scripting() -> bool:
    """Whether a function is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether a function is being traced: never."""
    return False
