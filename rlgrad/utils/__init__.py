"""Tools around training: recomputing instead of storing, exchange with other libraries."""

import importlib
from typing import Any

from rlgrad.utils import checkpoint, dlpack

__all__ = ["checkpoint", "dlpack"]


def __getattr__(name: str) -> Any:
    if name in ("data", "tensorboard"):  # loaded when first asked for
        return importlib.import_module(f"rlgrad.utils.{name}")
    raise AttributeError(f"module 'rlgrad.utils' has no attribute {name!r}")
