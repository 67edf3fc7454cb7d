"""How kernels are compiled."""

from __future__ import annotations

import numba
import numpy as np

# Sums may be reordered, so that they run in vectors, and nothing else: infinities and NaN are kept.
_MATH = {"reassoc", "contract", "nsz"}

kernel = numba.njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
"""A function that holds no lock of Python's and whose machine code is kept on disk."""

inlined = numba.njit(inline="always", fastmath=_MATH, error_model="numpy")
"""A part of kernels: called as a function it would count references to its arguments."""

U = np.uintp
"""Type of indices in inner loops: Numba tests signed ones for negative values, which keeps a loop from running in vectors."""
