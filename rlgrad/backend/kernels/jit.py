"""Whether compiled kernels are there, and their work shared among threads.

Compiled kernels come with the extra ``jit`` (Numba). They compile when they are first used and are kept on disk. Every
one takes the range of samples to work on as its last two arguments and holds no lock of Python's, so that threads can
share a batch.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rlgrad.backend import threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

WORTH_LOADING = 4096
"""Elements from which on small passes over memory ask for compiled kernels: loading them takes a good part of a second."""

_WORTHWHILE = 1 << 16  # elements for each thread from which on handing them out costs less than it saves


@functools.cache
def compiled() -> ModuleType | None:
    """The compiled kernels; ``None`` without Numba, where it has no folder to keep them in, or with ``RLGRAD_JIT=0`` set."""
    if os.environ.get("RLGRAD_JIT") == "0":
        return None
    try:
        from rlgrad.backend import compiled as module
    except (ImportError, RuntimeError):
        return None
    return module


def kernels() -> Any:
    """The compiled kernels, which :func:`suits` has shown to be there."""
    return compiled()


def suits(*arrays: Any) -> bool:
    """Whether the compiled kernels are there and take these arrays: float32 or float64, of one dtype."""
    dtype = arrays[0].dtype
    return dtype.char in "fd" and all(a.dtype is dtype for a in arrays) and compiled() is not None


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers, "rlgrad-kernel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def shared(kernel: Callable[..., Any], samples: int, elements: int, *arguments: Any) -> None:
    """Run ``kernel(*arguments, start, stop)`` over all samples, in as many threads as are set and worth it."""
    workers = elements // _WORTHWHILE
    if workers > 1:
        workers = min(workers, threads.get_num_threads(), samples)
    if workers < 2:
        kernel(*arguments, 0, samples)
        return
    bounds = [samples * i // workers for i in range(workers + 1)]
    rest = [_pool(workers - 1).submit(kernel, *arguments, bounds[i], bounds[i + 1]) for i in range(1, workers)]
    kernel(*arguments, 0, bounds[1])
    for future in rest:
        future.result()
