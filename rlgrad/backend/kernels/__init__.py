"""Kernels on raw arrays for operations that take more than a few calls of the array library.

They are imported when they are first asked for: ``kernels.winograd``, say.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("fused", "im2col", "jit", "norms", "winograd"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
