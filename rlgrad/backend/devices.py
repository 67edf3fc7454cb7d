"""Devices and the array library behind each: NumPy for ``cpu``, CuPy for ``cuda``."""

from __future__ import annotations

import contextlib
import functools
from types import ModuleType
from typing import Any

import numpy as np


class device:
    """Where a tensor lives: ``device("cpu")``, ``device("cuda")``, ``device("cuda:1")`` or ``device("cuda", 1)``."""

    __slots__ = ("index", "type")

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        name: Any = type
        if isinstance(type, device):
            name, index = type.type, type.index
        elif isinstance(type, int):
            name, index = "cuda", type
        elif isinstance(type, str) and ":" in type:
            name, _, number = type.partition(":")
            if not number.isdecimal():
                raise RuntimeError(f"Invalid device string: '{type}'; write 'cpu', 'cuda' or 'cuda:0'")
            index = int(number)
        if name not in ("cpu", "cuda"):
            raise RuntimeError(f"Expected one of cpu, cuda as device type, got {name!r}")
        self.type: str = name
        self.index: int | None = index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> device:
        _defaults.append(as_device(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _defaults.pop()

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index))


CPU = device("cpu")
_defaults = [CPU]


def get_default_device() -> device:
    """The device that factories use when none is given."""
    return _defaults[-1]


def set_default_device(target: device | str | int | None) -> None:
    """Choose the device that factories use when none is given; ``None`` is the CPU."""
    _defaults[-1] = CPU if target is None else as_device(target)


@functools.cache
def cupy() -> ModuleType:
    """Import CuPy and prove that a GPU answers, or say in one sentence what is missing."""
    try:
        import cupy as module
    except ImportError:
        raise RuntimeError(
            "device 'cuda' needs CuPy, which is not installed: pip install 'rlgrad[cuda13]' "
            "(or 'rlgrad[cuda12]' for a CUDA 12 driver), or use device='cpu'"
        ) from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise RuntimeError(f"device 'cuda' is not available on this machine ({error}); use device='cpu'") from None
    if count == 0:
        raise RuntimeError("device 'cuda' is not available: no NVIDIA GPU was found; use device='cpu'")
    return module


def as_device(value: device | str | int | None) -> device:
    """Turn a device argument into a checked :class:`device`; ``None`` is the default one."""
    if value is None:
        return _defaults[-1]
    found = value if isinstance(value, device) else device(value)
    if found.type == "cuda":
        module = cupy()
        if found.index is None:
            return device("cuda", module.cuda.Device().id)
        if found.index >= module.cuda.runtime.getDeviceCount():
            raise RuntimeError(
                f"invalid device {found}: this machine has {module.cuda.runtime.getDeviceCount()} GPU(s)"
            )
    elif found.index:
        raise RuntimeError(f"invalid device {found}: the CPU has index 0 only")
    return found


def module_of(array: Any) -> Any:
    """The library (``numpy`` or ``cupy``) that an array belongs to."""
    return np if isinstance(array, (np.ndarray, np.generic)) else cupy()


def module_for(target: device) -> Any:
    """The library that holds arrays on ``target``."""
    return np if target.type == "cpu" else cupy()


def device_of(array: Any) -> device:
    """The device an array lives on."""
    return CPU if isinstance(array, np.ndarray) else device("cuda", array.device.id)


def on_device(target: device) -> contextlib.AbstractContextManager[Any]:
    """Make ``target`` the current GPU for allocations inside the block; nothing to do for the CPU."""
    return contextlib.nullcontext() if target.type == "cpu" else cupy().cuda.Device(target.index)


def move(array: Any, target: device) -> Any:
    """Copy an array to a device; the array itself when it is there already."""
    source = device_of(array)
    if source == target:
        return array
    if target.type == "cpu":
        return cupy().asnumpy(array)
    with on_device(target):
        return cupy().asarray(array)


def to_host(array: Any) -> np.ndarray:
    """The array as NumPy's, copied from the GPU if need be."""
    return array if isinstance(array, np.ndarray) else cupy().asnumpy(array)
