"""Tensor methods that few programs use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.activations import hardshrink
from rlgrad.autograd.ops.creation import legacy_tensor
from rlgrad.autograd.ops.inplace import check_inplace
from rlgrad.autograd.ops.parts import alias
from rlgrad.autograd.registry import apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices

T = TypeVar("T", bound=Tensor)


def _as_subclass(self: Tensor, cls: type[T]) -> T:
    """This tensor as one of a subclass: it shares the memory and takes part in the graph.

    Results of operations on it are plain tensors.

    Raises:
        TypeError: where ``cls`` is no subclass of ``Tensor``.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            f"Creating a Tensor subclass from a class that does not inherit from Tensor is not possible, got {cls!r}. Make "
            "sure your class inherits from Tensor."
        )
    shared = apply_one(alias, self, (...,))
    result = object.__new__(cls)
    for name in ("_array", "_cell", "_edge", "_extra", "_view"):
        setattr(result, name, getattr(shared, name))
    return result


def _fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one number to the diagonal: all elements whose indices are equal.

    Args:
        wrap: in a matrix with more rows than columns, begin the diagonal anew below, after one row without.

    Raises:
        RuntimeError: for fewer than two dimensions, or more than two of different extents.
    """
    if not isinstance(fill_value, (bool, int, float, np.generic)):
        raise TypeError(
            f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {type(fill_value).__name__}"
        )
    shape = self._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got a tensor of shape {list(shape)}")
    if len(shape) > 2:
        if len(set(shape)) > 1:
            raise RuntimeError(
                f"fill_diagonal_(): all dimensions of input must be of equal length, got shape {list(shape)}"
            )
        self.as_strided((shape[0],), (sum(self.stride()),), self.storage_offset()).fill_(fill_value)
        return self
    rows, columns = shape
    for start in range(0, rows if wrap and columns else min(rows, 1), columns + 1):
        self.narrow(0, start, min(columns, rows - start)).diagonal().fill_(fill_value)
    return self


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in page-locked memory, from which copies to a GPU need not wait."""
    array = self._array
    if not isinstance(array, np.ndarray):
        return False
    owner: Any = array
    while owner is not None:
        if isinstance(owner, memoryview):
            owner = owner.obj
        if type(owner).__name__ == "PinnedMemoryPointer":
            return True
        owner = getattr(owner, "base", None)
    return False


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory; the tensor itself if it lies there.

    Raises:
        RuntimeError: for a tensor on a GPU, or where there is none.
    """
    if self.is_cuda:
        raise RuntimeError("cannot pin a tensor that is on a GPU; only dense CPU tensors can be pinned")
    if _is_pinned(self):
        return self
    devices.cupy()
    import cupyx

    memory = cupyx.empty_pinned(self._array.shape, self._array.dtype)
    memory[...] = self._array
    return wrap(memory)


def _dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from that of the largest steps in memory to that of the smallest."""
    return tuple(sorted(range(self.ndim), key=lambda d: -self._array.strides[d]))


def _is_nonzero(self: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    return bool(self)


def _to_dense(self: Tensor, dtype: Any = None) -> Tensor:
    """The tensor itself, in another dtype if asked for: there are no sparse ones."""
    return self if dtype is None else self.to(dtype)


def _is_shared(self: Tensor) -> bool:
    """Whether other processes see the tensor's memory; a GPU's counts as shared."""
    return self.is_cuda


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the two have one shape."""
    return self._array.shape == other._array.shape


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether the two are the same elements of the same memory."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and self._array.shape == tensor._array.shape
        and self._array.strides == tensor._array.strides
    )


def _new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype and device: of a size, or with values."""
    return legacy_tensor(Tensor, self.dtype, args, device=self.device if device is None else device)


def _map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by ``callable(element, other)``, with the elements of another tensor, broadcast.

    A loop in Python, on the CPU only, and not differentiated.
    """
    return _replaced(self, callable, tensor)


def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by ``callable(element)``: a loop in Python, on the CPU only, and not differentiated."""
    return _replaced(self, callable)


def _replaced(self: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    if any(t.is_cuda for t in (self, *others)):
        raise TypeError("apply_ and map_ work on CPU tensors only; move the tensor with .cpu()")
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError("Can't call apply_() or map_() on Variable that requires grad. Use var.detach() instead.")
    check_inplace(self)
    columns = [np.broadcast_to(t._array, self._array.shape).ravel().tolist() for t in (self, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    with no_grad():
        return self.copy_(wrap(np.array(values, self._array.dtype).reshape(self._array.shape)))


for _function in (
    _as_subclass, _dim_order, _is_nonzero, _to_dense, _fill_diagonal_, _is_pinned, _pin_memory, _is_shared, _is_same_size, _is_set_to, _new, _map_, _apply_,
):  # fmt: skip
    setattr(Tensor, _function.__name__[1:], _function)
Tensor.hardshrink = hardshrink  # type: ignore[attr-defined]
