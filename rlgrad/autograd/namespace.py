"""What derivatives compute with: every registered op by name, on raw arrays or recorded on tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rlgrad.autograd.registry import REGISTRY, Op, apply, apply_list
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import cupy, module_of


def _registered(name: str) -> Op:
    try:
        return REGISTRY[name]
    except KeyError:
        raise AttributeError(f"No op is registered as {name!r}.") from None


class _Raw:
    """Ops on raw arrays of one library, found on first use: ``ns.exp(array)``."""

    recorded = False

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Any:
        op = _registered(name)
        function = getattr(self.xp, op.ufunc) if op.ufunc else functools.partial(op.forward, self.xp)
        setattr(self, name, function)
        return function

    def array(self, value: Any) -> Any:
        """The raw array behind a saved value."""
        return value

    def constant(self, value: Any) -> Any:
        """A raw array as an operand."""
        return value


class _Recorded:
    """The same ops on tensors, recorded, so that a derivative can be differentiated again."""

    recorded = True

    def __getattr__(self, name: str) -> Any:
        op = _registered(name)
        count = len(op.inputs)

        def call(*operands: Any) -> Any:
            if op.variadic:
                return apply_list(op, [x if isinstance(x, Tensor) else wrap(x) for x in operands[0]], operands[1:])
            tensors = [x if x is None or isinstance(x, Tensor) else wrap(_array(x, operands)) for x in operands[:count]]
            return apply(op, tensors, operands[count:])

        setattr(self, name, call)
        return call

    def array(self, value: Any) -> Any:
        return value._array if isinstance(value, Tensor) else value

    def constant(self, value: Any) -> Any:
        return wrap(value)


def _array(value: Any, operands: tuple[Any, ...]) -> Any:
    """A Python number among the operands, as an array of the tensors' dtype; that of a mask does not count."""
    if hasattr(value, "dtype"):
        return value
    arrays = [x._array for x in operands if isinstance(x, Tensor)]
    dtype = next((a.dtype for a in arrays if a.dtype.kind != "b"), None)
    return (module_of(arrays[0]) if arrays else np).asarray(value, dtype)


numpy_namespace = _Raw(np)
"""The namespace for NumPy's arrays."""
_recorded = _Recorded()


@functools.cache
def _cupy() -> _Raw:
    return _Raw(cupy())


def recorded_namespace() -> _Recorded:
    """The namespace that computes on tensors and records."""
    return _recorded


def namespace_of(array: Any) -> _Raw:
    """The namespace for a raw array, or for the gradients of a node with several outputs."""
    if isinstance(array, dict):
        array = next(iter(array.values()))
    return numpy_namespace if isinstance(array, (np.ndarray, np.generic)) else _cupy()
