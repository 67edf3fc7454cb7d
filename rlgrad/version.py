"""rlgrad's version, and that of the CUDA that CuPy runs on."""

from __future__ import annotations

from typing import Any

from rlgrad import __version__ as __version__

debug, git_version, hip = False, None, None


def __getattr__(name: str) -> Any:
    if name != "cuda":
        raise AttributeError(f"module 'rlgrad.version' has no attribute {name!r}")
    from rlgrad.cuda import cupy, is_available

    if not is_available():
        return None
    number = cupy().cuda.runtime.runtimeGetVersion()
    return f"{number // 1000}.{number % 1000 // 10}"
