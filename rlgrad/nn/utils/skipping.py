"""Making modules without filling their parameters."""

from __future__ import annotations

from typing import Any, TypeVar

from rlgrad.nn import init
from rlgrad.nn.module import Module

__all__ = ["skip_init"]

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """Make a module whose parameters hold arbitrary values, for those that are loaded next anyway.

    Args:
        module_cls: the module's class.
        args, kwargs: its arguments.

    Example:
        >>> from rlgrad import nn
        >>> nn.utils.skip_init(nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    with init.skipped():
        return module_cls(*args, **kwargs)
