"""Tensors over memory that something else made or holds too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rlgrad.autograd.ops.creation import Device, as_tensor, from_dlpack, from_numpy, tensor
from rlgrad.autograd.ops.define import public
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import devices, dtypes


def _shared(obj: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """A tensor that shares the memory of ``obj``, or ``None`` where there is no memory to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, np.generic):
        return None
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if hasattr(obj, "__cuda_array_interface__"):
        return as_tensor(devices.cupy().asarray(obj))
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)


def asarray(
    obj: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of ``obj``, sharing its memory where that can be.

    Args:
        obj: a tensor, an array, a scalar, nested sequences of numbers, or anything that offers DLPack or a buffer (whose
            bytes are then read as ``dtype``).
        copy: ``True`` always copies, ``False`` never does, ``None`` only as needed.
        requires_grad: collect gradients; by default what a tensor given as ``obj`` does.

    Raises:
        ValueError: with ``copy=False`` where a copy is needed: for sequences, or another dtype or device.

    Example:
        >>> import numpy, rlgrad
        >>> array = numpy.zeros(2)
        >>> rlgrad.asarray(array)[0] = 1.0
        >>> array
        array([1., 0.])
    """
    source = _shared(obj, dtype)
    if source is None:
        if copy is False:
            raise ValueError(
                f"can't alias arbitrary sequence into a tensor: {type(obj).__name__} has no memory to share"
            )
        result = tensor(obj, dtype=dtype, device=device)
        return result.requires_grad_() if requires_grad else result
    if requires_grad is False and source.requires_grad:
        source = source.detach()
    target = source.device if device is None else devices.as_device(device)
    if copy is False and target != source.device:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{target}'.")
    if copy is False and dtype is not None and dtype is not source.dtype:
        raise ValueError(f"can't alias tensor with dtype {source.dtype!r} into dtype {dtype!r}.")
    result = source.to(device=target, dtype=dtype)
    if copy and result is source:
        result = source.clone()
    return result.requires_grad_() if requires_grad and not result.requires_grad else result


def detach(input: Tensor) -> Tensor:
    """The same memory without history."""
    return input.detach()


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector that shares the memory of a ``bytearray`` or anything else with Python's buffer protocol.

    Args:
        dtype: what the bytes are read as.
        count: how many elements; all that there are if negative.
        offset: how many bytes are left out at the beginning.

    Raises:
        ValueError: where the buffer holds no such elements.

    Example:
        >>> import rlgrad
        >>> rlgrad.frombuffer(bytearray(b"ab"), dtype=rlgrad.uint8)
        tensor([97, 98], dtype=torch.uint8)
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(f"object of type {type(buffer).__name__} does not implement Python buffer protocol.") from None
    size, kind = view.nbytes, dtypes.to_numpy(dtype)
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0:
        if (size - offset) % kind.itemsize:
            raise ValueError(
                f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
                f"({kind.itemsize})"
            )
    elif count * kind.itemsize > size - offset:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({size} bytes)"
        )
    array = np.frombuffer(view, kind, max(count, -1), offset)
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and neither is the tensor over it: copy it with bytearray() first to write.",
            UserWarning,
            stacklevel=2,
        )
    result = from_numpy(array)
    return result.requires_grad_() if requires_grad else result


__all__ = public(globals())
