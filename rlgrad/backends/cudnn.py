"""Switches of cuDNN, which is not used: they hold what they are set to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is used: never."""
    return False


def version() -> int | None:
    """cuDNN's version: there is none."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN takes a tensor: none."""
    return False


def set_flags(**values: Any) -> dict[str, Any]:
    """Set several switches at once, those that are not ``None``, and return what they all were before.

    Raises:
        TypeError: for a name that is no switch.
    """
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    unknown = [name for name in values if name not in names]
    if unknown:
        raise TypeError(f"set_flags() got unexpected keyword arguments {unknown}; the switches are {', '.join(names)}")
    before = {name: globals()[name] for name in names}
    globals().update({name: value for name, value in values.items() if value is not None})
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches for a block.

    Example:
        >>> from rlgrad.backends import cudnn
        >>> with cudnn.flags(enabled=False, deterministic=True):
        ...     print(cudnn.enabled, cudnn.deterministic)
        False True
        >>> cudnn.enabled
        True
    """
    before = set_flags(
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
    try:
        yield
    finally:
        set_flags(**before)
