"""Thread-local switches: whether operations are recorded, and how."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class _Modes(threading.local):
    grad = True  # record operations on tensors that require grad
    inference = False
    anomaly = False  # keep the forward stack of every node and look for NaN in every gradient
    pack_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    traced = False  # anomaly or pack_hooks: recording takes the slow path


modes = _Modes()


class _Switch:
    """A context manager that is a decorator too, as PyTorch's grad modes are."""

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} sets no mode")

    def __exit__(self, *exc: object) -> None: ...

    def clone(self) -> _Switch:
        return self.__class__()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast(F, wrapped)


class _GradSwitch(_Switch):
    _value = True

    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)  # allows @no_grad without parentheses

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(modes.grad)
        modes.grad = self._value

    def __exit__(self, *exc: object) -> None:
        modes.grad = self._outer.pop()


class no_grad(_GradSwitch):
    """Record nothing inside the block or the decorated function.

    Example:
        >>> import rlgrad
        >>> w = rlgrad.ones(2, requires_grad=True)
        >>> with rlgrad.no_grad():
        ...     y = w * 2
        >>> y.requires_grad
        False
    """

    _value = False


class enable_grad(_GradSwitch):
    """Record inside the block or the decorated function, also within :class:`no_grad`."""


class set_grad_enabled(_Switch):
    """Switch recording on or off, at once and for the rest of the block it manages.

    Args:
        mode: ``True`` to record.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._outer = modes.grad
        modes.grad = self.mode

    def __enter__(self) -> None:
        modes.grad = self.mode

    def __exit__(self, *exc: object) -> None:
        modes.grad = self._outer

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        modes.grad = self._outer  # used as a decorator: only the function's body is meant
        return super().__call__(function)


class inference_mode(_Switch):
    """:class:`no_grad` for code whose results will never be differentiated.

    Args:
        mode: ``False`` makes the block record as usual.
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):
            self.__init__(True)  # type: ignore[misc]
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._outer: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._outer.append((modes.grad, modes.inference))
        modes.grad, modes.inference = not self.mode, bool(self.mode)

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.inference = self._outer.pop()

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations in this thread are being recorded."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether :class:`inference_mode` is on in this thread."""
    return modes.inference


class set_detect_anomaly(_Switch):
    """Remember the forward line of every operation, and stop backward at the first NaN gradient.

    Args:
        mode: whether to look.
        check_nan: whether a NaN gradient raises; otherwise only errors are annotated.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.mode, self.check_nan = mode, check_nan
        self._outer = modes.anomaly
        self._set(mode)

    def _set(self, mode: bool) -> None:
        modes.anomaly = mode
        modes.traced = mode or bool(modes.pack_hooks)

    def __enter__(self) -> None:
        self._set(self.mode)

    def __exit__(self, *exc: object) -> None:
        self._set(self._outer)

    def clone(self) -> set_detect_anomaly:
        return set_detect_anomaly(self.mode, self.check_nan)


class detect_anomaly(set_detect_anomaly):
    """:class:`set_detect_anomaly` switched on for a block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)
