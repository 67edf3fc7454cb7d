"""How many threads matrix products may use."""

from __future__ import annotations

import ctypes
import importlib
import os

_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
)
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def set_num_threads(threads: int | None = None) -> bool:
    """Set how many threads NumPy's matrix products use.

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
        if any(name in os.environ for name in _VARIABLES):
            return True
        threads = 1
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    # Looking a name up in NumPy's extension module finds it in the library that the module is linked with.
    library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    for name in _SETTERS:
        setter = getattr(library, name, None)
        if setter is not None:
            setter(ctypes.c_int(threads))
            return True
    return False
