"""The memory behind tensors, for programs that ask whether two of them share it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import devices

__all__ = ["UntypedStorage"]


class UntypedStorage:
    """The whole memory that a tensor is a part of, to be asked about and not to be written.

    Args:
        array: what owns the memory.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.zeros(2, 3)
        >>> x[1].untyped_storage().nbytes()
        24
        >>> x[1].untyped_storage().data_ptr() == x.data_ptr()
        True
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    def data_ptr(self) -> int:
        """Address of the first byte."""
        array = self._array
        return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.data.ptr

    def nbytes(self) -> int:
        """How many bytes."""
        return int(self._array.nbytes)

    def size(self) -> int:
        """How many elements; of an untyped storage these are bytes."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.size()

    @property
    def device(self) -> devices.device:
        return devices.device_of(self._array)

    def is_shared(self) -> bool:
        """Whether other processes see the memory; a GPU's counts as shared."""
        return not isinstance(self._array, np.ndarray)


class TypedStorage(UntypedStorage):
    """:class:`UntypedStorage` counted in elements."""

    def size(self) -> int:
        """How many elements."""
        return int(self._array.size)

    def tolist(self) -> list[Any]:
        """The elements in the order of memory."""
        return devices.to_host(self._array).ravel("K").tolist()


def _owner(tensor: Tensor) -> Any:
    """The array whose memory a tensor's is a part of."""
    array = tensor._array
    while isinstance(getattr(array, "base", None), type(array)):
        array = array.base
    return array


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a part of, in bytes."""
    return UntypedStorage(_owner(self))


def _storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a part of, in elements."""
    warnings.warn(
        "TypedStorage is deprecated: ask tensor.untyped_storage(), which counts bytes.", UserWarning, stacklevel=2
    )
    return TypedStorage(_owner(self))


Tensor.untyped_storage, Tensor.storage = _untyped_storage, _storage  # type: ignore[attr-defined]
