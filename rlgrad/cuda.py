"""The GPU: whether there is one, and what it is doing."""

from __future__ import annotations

from typing import Any

from rlgrad.backend.devices import cupy, device
from rlgrad.backend.random import default_generator


def is_available() -> bool:
    """Whether CuPy is installed and an NVIDIA GPU answers."""
    try:
        cupy()
    except RuntimeError:
        return False
    return True


def device_count() -> int:
    """How many GPUs there are; 0 without CuPy."""
    return int(cupy().cuda.runtime.getDeviceCount()) if is_available() else 0


def current_device() -> int:
    """Index of the GPU that new tensors go to."""
    return int(cupy().cuda.Device().id)


def synchronize(target: device | str | int | None = None) -> None:
    """Wait until the GPU has finished all that it was given."""
    index = None if target is None else device(target).index
    (cupy().cuda.Device() if index is None else cupy().cuda.Device(index)).synchronize()


def manual_seed(seed: int) -> None:
    """Seed the default generator's GPU stream, if there is a GPU."""
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs; the default generator serves them all."""
    manual_seed(seed)


def memory_allocated(target: Any = None) -> int:
    """Bytes that live tensors hold on the GPU."""
    return int(cupy().get_default_memory_pool().used_bytes())


def memory_reserved(target: Any = None) -> int:
    """Bytes that the memory pool holds on the GPU."""
    return int(cupy().get_default_memory_pool().total_bytes())


def empty_cache() -> None:
    """Give unused memory of the pool back to the GPU."""
    cupy().get_default_memory_pool().free_all_blocks()
