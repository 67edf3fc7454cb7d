"""Special functions, which NumPy lacks: SciPy's on the CPU, CuPy's port of them on a GPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def _scipy() -> Any:
    try:
        import scipy.special as module
    except ImportError:
        raise RuntimeError(
            "erf, lgamma, digamma and the other special functions need SciPy, which is not installed: "
            "pip install 'rlgrad[scipy]'"
        ) from None
    return module


@functools.cache
def _cupyx() -> Any:
    import cupyx.scipy.special as module

    return module


def special_of(xp: Any) -> Any:
    """The module with the special functions of an array library, imported when first asked for."""
    return _scipy() if xp is np else _cupyx()
