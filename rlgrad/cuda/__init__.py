"""The GPU: whether there is one, and what it is doing."""

from __future__ import annotations

import contextlib
import functools
import importlib
from types import TracebackType
from typing import Any

from rlgrad.backend.devices import cupy
from rlgrad.backend.devices import device as _device
from rlgrad.backend.random import default_generator

Target = _device | str | int | None


def is_available() -> bool:
    """Whether CuPy is installed and an NVIDIA GPU answers."""
    try:
        cupy()
    except RuntimeError:
        return False
    return True


def is_initialized() -> bool:
    """As :func:`is_available`: there is nothing to initialise."""
    return is_available()


def device_count() -> int:
    """How many GPUs there are; 0 without CuPy."""
    return int(cupy().cuda.runtime.getDeviceCount()) if is_available() else 0


def current_device() -> int:
    """Index of the GPU that new tensors go to."""
    return int(cupy().cuda.Device().id)


def _index(target: Target) -> int:
    if target is None:
        return current_device()
    found = _device(target)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return current_device() if found.index is None else found.index


def set_device(target: Target) -> None:
    """Make a GPU the one that new tensors go to."""
    cupy().cuda.Device(_index(target)).use()


class device:
    """Make a GPU the one that new tensors go to inside the block.

    Args:
        target: index or device; ``None`` and -1 change nothing.
    """

    def __init__(self, target: Target) -> None:
        self._inner: Any = None
        self._target = target

    def __enter__(self) -> None:
        if self._target is not None and self._target != -1:
            self._inner = cupy().cuda.Device(_index(self._target))
            self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._inner is not None:
            self._inner.__exit__(kind, value, trace)
            self._inner = None


def get_device_properties(target: Target = None) -> dict[str, Any]:
    """What the driver says of a GPU, by CUDA's names."""
    return dict(cupy().cuda.runtime.getDeviceProperties(_index(target)))


def get_device_name(target: Target = None) -> str:
    """The GPU's name."""
    return get_device_properties(target)["name"].decode()


def get_device_capability(target: Target = None) -> tuple[int, int]:
    """The GPU's compute capability."""
    properties = get_device_properties(target)
    return properties["major"], properties["minor"]


def synchronize(target: Target = None) -> None:
    """Wait until the GPU has finished all that it was given."""
    cupy().cuda.Device(_index(target)).synchronize()


class Event:
    """A mark in a stream's work.

    Args:
        enable_timing: allow :meth:`elapsed_time`.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._cupy = cupy().cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind what the stream was given so far."""
        self._cupy.record((stream or current_stream())._cupy)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the mark."""
        (stream or current_stream())._cupy.wait_event(self._cupy)

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return bool(self._cupy.done)

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        self._cupy.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds between this mark and a later one."""
        return float(cupy().cuda.get_elapsed_time(self._cupy, end._cupy))


class Stream:
    """A queue of work on the GPU, beside the default one.

    Args:
        device: the GPU it belongs to.
    """

    def __init__(self, device: Target = None, priority: int = 0, *, _existing: Any = None) -> None:
        if _existing is None:
            with globals()["device"](device):
                _existing = cupy().cuda.Stream(non_blocking=True, priority=priority or None)
        self._cupy = _existing

    @property
    def cuda_stream(self) -> int:
        """The stream's address."""
        return int(self._cupy.ptr)

    def synchronize(self) -> None:
        """Wait until the stream's work is done."""
        self._cupy.synchronize()

    def query(self) -> bool:
        """Whether the stream's work is done."""
        return bool(self._cupy.done)

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""
        event.wait(self)

    def wait_stream(self, other: Stream) -> None:
        """Let later work wait for what another stream was given so far."""
        self.wait_event(other.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Mark the end of what the stream was given so far."""
        event = event or Event()
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)


def current_stream(target: Target = None) -> Stream:
    """The stream that work goes to."""
    return Stream(_existing=cupy().cuda.get_current_stream())


def default_stream(target: Target = None) -> Stream:
    """The stream that work goes to unless another is chosen."""
    return Stream(_existing=cupy().cuda.Stream.null)


def stream(target: Stream | None) -> contextlib.AbstractContextManager[Any]:
    """Send the block's work to a stream; ``None`` changes nothing."""
    return contextlib.nullcontext() if target is None else target._cupy


def manual_seed(seed: int) -> None:
    """Seed the default generator's GPU stream, if there is a GPU."""
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs; the default generator serves them all."""
    manual_seed(seed)


class _Peak:
    """The most bytes seen: a hook on CuPy's allocator keeps it."""

    def __init__(self) -> None:
        self.bytes = 0

    def note(self) -> int:
        self.bytes = max(self.bytes, memory_allocated())
        return self.bytes


@functools.cache
def _peak() -> _Peak:
    peak = _Peak()
    base = cupy().cuda.memory_hook.MemoryHook

    class Hook(base):  # type: ignore[misc, valid-type]
        name = "rlgrad peak"

        def malloc_postprocess(self, **_: Any) -> None:
            peak.note()

    Hook().__enter__()
    return peak


def memory_allocated(target: Target = None) -> int:
    """Bytes that live tensors hold on the GPU."""
    return int(cupy().get_default_memory_pool().used_bytes()) if is_available() else 0


def memory_reserved(target: Target = None) -> int:
    """Bytes that the memory pool holds on the GPU."""
    return int(cupy().get_default_memory_pool().total_bytes()) if is_available() else 0


def max_memory_allocated(target: Target = None) -> int:
    """The most bytes that tensors held at once, counted from the first call of this or of the reset."""
    return _peak().note() if is_available() else 0


def max_memory_reserved(target: Target = None) -> int:
    """The most bytes that the memory pool held; it shrinks only in :func:`empty_cache`."""
    return max(memory_reserved(target), max_memory_allocated(target))


def reset_peak_memory_stats(target: Target = None) -> None:
    """Start :func:`max_memory_allocated` anew."""
    if is_available():
        _peak().bytes = 0


def memory_stats(target: Target = None) -> dict[str, int]:
    """Bytes allocated and reserved, now and at most, under PyTorch's keys."""
    return {
        "allocated_bytes.all.current": memory_allocated(target),
        "allocated_bytes.all.peak": max_memory_allocated(target),
        "reserved_bytes.all.current": memory_reserved(target),
        "reserved_bytes.all.peak": max_memory_reserved(target),
    }


def mem_get_info(target: Target = None) -> tuple[int, int]:
    """Bytes of the GPU's memory that are free, and of all of it."""
    with device(target):
        free, total = cupy().cuda.runtime.memGetInfo()
    return int(free), int(total)


def __getattr__(name: str) -> Any:
    if name == "amp":  # loaded when first asked for
        return importlib.import_module("rlgrad.cuda.amp")
    raise AttributeError(f"module 'rlgrad.cuda' has no attribute {name!r}")


def empty_cache() -> None:
    """Give unused memory of the pool back to the GPU."""
    if is_available():
        cupy().get_default_memory_pool().free_all_blocks()
