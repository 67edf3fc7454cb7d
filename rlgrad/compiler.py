"""``torch.compile`` and what goes with it: nothing is compiled, so that functions and modules come back as they are.

For compiled kernels of rlgrad's own install the extra ``jit``, which needs no change of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "reset"]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """The function or module as it is; without one, a decorator that returns what it decorates.

    The names in a module's ``state_dict`` stay what they are: there is no ``_orig_mod``.

    Args:
        fullgraph, dynamic, backend, mode, options, disable: checked as PyTorch does, and of no effect.

    Raises:
        RuntimeError: for an unknown mode, or a mode and options at once.

    Example:
        >>> import rlgrad
        >>> @rlgrad.compile(mode="reduce-overhead")
        ... def double(x):
        ...     return x * 2
        >>> double(rlgrad.ones(2))
        tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            f"Either mode or options can be specified, but both can't be specified at the same time: got {mode} and {options}"
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return _as_it_is if model is None else _as_it_is(model)


def _as_it_is(function: Any) -> Any:
    if not callable(function):
        raise AssertionError(f"A callable function is expected, but {type(function)} is provided.")
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function as it is, or a decorator that returns what it decorates."""
    return _as_it_is if fn is None else _as_it_is(fn)


def is_compiling() -> bool:
    """Whether a function is being compiled: never."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether a function is being traced: never."""
    return False


def reset() -> None:
    """Forget what was compiled, which is nothing."""


def cudagraph_mark_step_begin() -> None:
    """Mark the begin of a step, which nothing here needs to know."""
