"""Functions that ask what something is."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import can_cast

__all__ = [
    "can_cast",
    "get_device",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "typename",
]


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor's dtype is a floating one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the tensor's dtype is complex, which no dtype here is."""
    return input.is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    return bool(input)


def numel(input: Tensor) -> int:
    """How many elements the tensor has."""
    return input.numel()


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
    """Whether ``obj`` is the memory behind a tensor, as ``Tensor.untyped_storage`` gives it."""
    from rlgrad.autograd.ops.storages import UntypedStorage  # imported on first use: few programs ask

    return isinstance(obj, UntypedStorage)


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
