"""How many threads matrix products and compiled kernels may use."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from typing import Any

_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
)
_GETTERS = tuple(name.replace("_set_num_", "_get_num_").replace("MKL_Set_Num_", "MKL_Get_Max_") for name in _SETTERS)
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def set_num_threads(threads: int | None = None) -> bool:
    """Set how many threads NumPy's matrix products and the compiled kernels use.

    Networks of reinforcement learning's size gain nothing from a second thread, and where other work shares
    the cores they lose a factor of ten: OpenBLAS's threads wait for one another by spinning.

    Args:
        threads: how many; ``None`` leaves what ``OMP_NUM_THREADS`` and the like say, and takes 1 where none
            is set.

    Returns:
        Whether NumPy's library is in the wanted state; ``False`` for one that has no such control.

    Raises:
        ValueError: ``threads`` is below 1.

    Example:
        >>> set_num_threads(1) in (True, False)
        True
    """
    if threads is None:
        if any(os.environ.get(name) for name in _VARIABLES):
            return True
        threads = 1
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    setter = _first(_SETTERS)
    if setter is None:
        return False
    setter(ctypes.c_int(threads))
    return True


@functools.cache
def _first(names: tuple[str, ...]) -> Any:
    """The first of these functions that the library behind NumPy's matrix products has."""
    # Looking a name up in NumPy's extension module finds it in the library that the module is linked with.
    library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)


def get_num_threads() -> int:
    """How many threads NumPy's matrix products and the compiled kernels use.

    Example:
        >>> get_num_threads() >= 1
        True
    """
    getter = _first(_GETTERS)
    return 1 if getter is None else int(getter())
