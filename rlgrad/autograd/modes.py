"""Thread-local switches: whether operations are recorded, and how."""

from __future__ import annotations

import functools
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class _Modes(threading.local):
    grad = True  # record operations on tensors that require grad
    inference = False
    asked_in_inference = False  # what enable_grad asks for in an inference-mode block, where nothing is recorded
    anomaly = False  # keep the forward stack of every node and look for NaN in every gradient
    check_nan = True  # in anomaly mode: a NaN gradient raises
    evaluating: Any = None  # in anomaly mode: the node whose recorded derivative is being computed
    pack_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    hooks_disabled: str | None = None  # why saved tensors may not be packed in this block
    running: Any = None  # the backward pass that hooks on several tensors ask about
    traced = False  # anomaly or pack_hooks: recording takes the slow path


modes = _Modes()

inferring: list[None] = []
"""Has an element for every inference-mode block open in any thread: what recording looks at before ``modes``."""


passes_watched: list[None] = []
"""Has an element for every hook on several tensors: what a backward pass looks at before it describes itself."""


class InferenceCell(list[int]):
    """The version cell of a tensor made in inference mode: there is no version, and asking for it is the error.

    Recording an operation that saves a tensor reads its version. So that tensors made in inference mode are refused
    there at no cost to all others, their cell refuses to be read.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__((0,))

    def __getitem__(self, index: Any) -> Any:
        if modes.inference:
            return 0
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
            "and use it in autograd."
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        if not modes.inference:
            raise inference_write_error()


def inference_write_error() -> RuntimeError:
    """The error for writing to a tensor made in inference mode outside of it."""
    return RuntimeError(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
        "tensor before doing inplace update."
    )


def new_cell() -> list[int]:
    """A version cell for a tensor made now; only asked for while some thread is in inference mode."""
    return InferenceCell() if modes.inference else [0]


class _Switch(ABC):
    """A context manager that is a decorator too, as PyTorch's grad modes are."""

    @abstractmethod
    def __enter__(self) -> Any: ...

    @abstractmethod
    def __exit__(self, *exc: object) -> None: ...

    def clone(self) -> _Switch:
        return self.__class__()

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return cast(F, self._around_each_step(function))

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast(F, wrapped)

    def _around_each_step(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A generator function whose body runs inside the switch, while what it yields to runs outside."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            step = generator.__next__
            while True:
                try:
                    with self.clone():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)

        return wrapped


def _switch(value: bool) -> None:
    if modes.inference:
        modes.asked_in_inference = value
    else:
        modes.grad = value


class _GradSwitch(_Switch):
    _value = True

    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)  # allows @no_grad without parentheses

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(is_grad_enabled())
        _switch(self._value)

    def __exit__(self, *exc: object) -> None:
        _switch(self._outer.pop())


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
        self._outer = is_grad_enabled()
        _switch(self.mode)

    def __enter__(self) -> None:
        _switch(self.mode)

    def __exit__(self, *exc: object) -> None:
        _switch(self._outer)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _switch(self._outer)  # used as a decorator: only the function's body is meant
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
        self._outer: list[tuple[bool, bool, bool]] = []

    def __enter__(self) -> None:
        self._outer.append((modes.grad, modes.inference, modes.asked_in_inference))
        modes.grad, modes.inference, modes.asked_in_inference = not self.mode, bool(self.mode), False
        if self.mode:
            inferring.append(None)

    def __exit__(self, *exc: object) -> None:
        modes.grad, modes.inference, modes.asked_in_inference = self._outer.pop()
        if self.mode:
            inferring.pop()

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations in this thread are being recorded (or would be, but for inference mode)."""
    return modes.grad or modes.asked_in_inference


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
        self._outer = [(modes.anomaly, modes.check_nan)]
        _set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        _set_anomaly(self.mode, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _set_anomaly(*self._outer[0])

    def clone(self) -> set_detect_anomaly:
        return set_detect_anomaly(self.mode, self.check_nan)

    def __call__(self, function: F) -> F:
        _set_anomaly(*self._outer[0])  # used as a decorator: only the function's body is meant
        return super().__call__(function)


class detect_anomaly(set_detect_anomaly):
    """:class:`set_detect_anomaly` switched on for a block."""

    def __init__(self, check_nan: bool = True) -> None:
        self.mode, self.check_nan = True, check_nan
        self._outer = []

    def __enter__(self) -> None:
        self._outer.append((modes.anomaly, modes.check_nan))
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        _set_anomaly(*self._outer.pop())

    def clone(self) -> detect_anomaly:
        return detect_anomaly(self.check_nan)

    def __call__(self, function: F) -> F:
        return _Switch.__call__(self, function)


def _set_anomaly(mode: bool, check_nan: bool) -> None:
    modes.anomaly, modes.check_nan = bool(mode), bool(check_nan)
    modes.traced = modes.anomaly or bool(modes.pack_hooks)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode stops at NaN gradients."""
    return modes.check_nan
