"""What programs ask and set now and then: about tensors, threads and warnings."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.define import public
from rlgrad.autograd.tensor import Tensor


def detach(input: Tensor) -> Tensor:
    """The same memory without history."""
    return input.detach()


def get_device(input: Tensor) -> int:
    """The number of the GPU that a tensor is on; -1 for the CPU."""
    return input.get_device()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the two have one shape."""
    return input._array.shape == other._array.shape


def is_signed(input: Tensor) -> bool:
    """Whether the tensor's dtype has negative numbers."""
    return input.is_signed()


def is_conj(input: Tensor) -> bool:
    """Whether the tensor stands for conjugates that are yet to be computed: never."""
    return input.is_conj()


def is_neg(input: Tensor) -> bool:
    """Whether the tensor stands for negatives that are yet to be computed: never."""
    return input.is_neg()


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage, of which there are none here: tensors hold arrays."""
    return False


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor the old name, such as ``torch.FloatTensor``.

    Example:
        >>> import rlgrad
        >>> rlgrad.typename(rlgrad.ones(1))
        'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    module = "" if kind.__module__ in (None, "builtins") else f"{kind.__module__}."
    return module + kind.__qualname__


def set_flush_denormal(mode: bool) -> bool:
    """Ask that tiny numbers be rounded to zero; ``False`` says that this cannot be set here."""
    return False


def get_num_interop_threads() -> int:
    """How many operations run at once: one."""
    return 1


def set_num_interop_threads(threads: int) -> None:
    """Say how many operations may run at once, which stays one.

    Raises:
        RuntimeError: for fewer than one.
    """
    if threads <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {threads}")


_warn_always = False


def set_warn_always(b: bool) -> None:
    """Remember whether each warning is to come every time, which Python's own filters decide here.

    Example:
        >>> import rlgrad
        >>> rlgrad.is_warn_always_enabled()
        False
    """
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told last."""
    return _warn_always


__all__ = public(globals())
