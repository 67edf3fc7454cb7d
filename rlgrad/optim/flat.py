"""Parameters and their optimizer state side by side in flat buffers, so that one array call serves all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import device_of, module_of, on_device
from rlgrad.backend.kernels import jit

BLOCK = 16384
"""Elements updated at a time on the CPU, so that the buffers of an update stay in the cache."""


def lay_out(params: Sequence[Tensor]) -> None:
    """Move parameters next to each other in memory, where nobody can tell.

    An array that something else holds too (a view, a detached alias, a NumPy array that it was made from) stays where
    it is, and so do the others of its dtype and device then; :func:`side_by_side` tells what came of it.
    """
    for tensors in by_kind(params):
        if len(tensors) < 2 or not all(_exclusive(tensor) for tensor in tensors):
            continue
        first = tensors[0]._array
        xp = module_of(first)
        with on_device(device_of(first)):
            joined = xp.concatenate([tensor._array.ravel() for tensor in tensors])
        begin = 0
        for tensor in tensors:
            shape, end = tensor._array.shape, begin + tensor._array.size
            tensor._array = joined[begin:end].reshape(shape)
            begin = end


def by_kind(params: Iterable[Tensor]) -> list[list[Tensor]]:
    """The parameters of each dtype and device, in order."""
    kinds: dict[Any, list[Tensor]] = {}
    for parameter in params:
        kinds.setdefault((parameter._array.dtype, str(device_of(parameter._array))), []).append(parameter)
    return list(kinds.values())


def _exclusive(tensor: Tensor) -> bool:
    # Two references: the tensor's, and the one that the question itself holds.
    if sys.getrefcount(tensor._array) > 2 or tensor._view is not None:
        return False
    array = tensor._array
    return array.base is None and bool(array.flags.c_contiguous) and bool(getattr(array.flags, "writeable", True))


def side_by_side(arrays: Sequence[Any]) -> Any:
    """One flat array over the memory of arrays that lie next to each other; ``None`` where they do not."""
    first = arrays[0]
    if len(arrays) == 1:
        return first.reshape(-1) if first.flags.c_contiguous else None
    base = first.base
    if base is None or base.ndim != 1 or base.dtype != first.dtype:
        return None
    address = base.__array_interface__["data"][0] if isinstance(base, np.ndarray) else base.data.ptr
    expected = start = _address(first)
    for array in arrays:
        if array.base is not base or not array.flags.c_contiguous or _address(array) != expected:
            return None
        expected += array.nbytes
    begin = (start - address) // base.itemsize
    return base[begin : begin + (expected - start) // base.itemsize]


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.data.ptr


class Flat:
    """The parameters of one group that share dtype and device, with their state.

    Attributes:
        params: the parameters, in order.
        pairs: each with the array that it had when this was made.
        joined: all their values as one array, or ``None`` where they do not lie next to each other.
        bounds: where each begins in the flat buffers, and where the last ends.
        steps: how many updates each has had.
        state: flat state buffers by name.
        scalars: state that is one number for each parameter, by name.
        compiled: whether there are compiled kernels for these parameters.
        grad, scratch: the joined gradient, which the update turns into the change to subtract, and work space.
    """

    def __init__(self, params: list[Tensor], names: Iterable[str]) -> None:
        self.params = params
        lay_out(params)
        arrays = [p._array for p in params]
        self.pairs = list(zip(params, arrays, strict=True))
        self.joined = side_by_side(arrays)
        array = arrays[0]
        self.xp, self.dtype, self.device = module_of(array), array.dtype, device_of(array)
        self.bounds = np.cumsum([0, *(p._array.size for p in params)]).tolist()
        self.steps = [0] * len(params)
        self.scalars: dict[str, list[float]] = {}
        self.compiled = self.xp is np and self.bounds[-1] >= jit.WORTH_LOADING and jit.suits(array)
        self.place = on_device(self.device)
        with self.place:
            self.grad, self.scratch = (self.xp.zeros(self.bounds[-1], self.dtype) for _ in range(2))
            self.state = {name: self.xp.zeros(self.bounds[-1], self.dtype) for name in names}
        self.whole = self._blocks(0, len(params))
        self._rows: list[tuple[Any, ...]] | None = None

    def holds(self) -> bool:
        """Whether the parameters still have the arrays that this was made for."""
        return all(parameter._array is array for parameter, array in self.pairs)

    def blocks(self, first: int, last: int) -> list[tuple[slice, tuple[Any, ...]]]:
        """The buffers of some parameters in pieces: gradient, scratch, then the state."""
        return self.whole if last - first == len(self.params) else self._blocks(first, last)

    def _blocks(self, first: int, last: int) -> list[tuple[slice, tuple[Any, ...]]]:
        start, stop = self.bounds[first], self.bounds[last]
        size = BLOCK if self.xp is np else max(stop - start, 1)
        pieces = []
        for low in range(start, stop, size):
            part = slice(low, min(low + size, stop))
            pieces.append((part, tuple(b[part] for b in (self.grad, self.scratch, *self.state.values()))))
        return pieces

    def slices(self, index: int) -> dict[str, Any]:
        """One parameter's part of every state buffer, in its shape."""
        a, b = self.bounds[index], self.bounds[index + 1]
        shape = self.params[index]._array.shape
        return {name: buffer[a:b].reshape(shape) for name, buffer in self.state.items()}

    def runs(self, missing: list[int]) -> list[tuple[int, int]]:
        """Stretches of neighbouring parameters that all have a gradient and had equally many updates."""
        steps = self.steps
        if not missing and steps.count(steps[0]) == len(steps):
            return [(0, len(steps))]
        runs: list[tuple[int, int]] = []
        for index in range(len(steps)):
            if index in missing:
                continue
            if runs and runs[-1][1] == index and steps[runs[-1][0]] == steps[index]:
                runs[-1] = (runs[-1][0], index + 1)
            else:
                runs.append((index, index + 1))
        return runs

    def join(self, grads: list[Any], runs: list[tuple[int, int]]) -> None:
        """Write the gradients into the flat buffer."""
        if len(grads) == len(self.params):
            self.xp.concatenate(grads, out=self.grad)
            return
        position = 0
        for first, last in runs:
            for index in range(first, last):
                self.grad[self.bounds[index] : self.bounds[index + 1]] = grads[position]
                position += 1

    def advance(self, first: int, last: int) -> int:
        """Count one more update of some parameters that had equally many; how many that makes."""
        step = self.steps[first] + 1
        self.steps[first:last] = [step] * (last - first)
        return step

    def rows(self) -> list[tuple[Any, ...]] | None:
        """For each parameter its values and state as flat views; ``None`` where values are not in one piece."""
        if self._rows is None and all(array.flags.c_contiguous for _, array in self.pairs):
            ends = zip(self.pairs, self.bounds, self.bounds[1:], strict=False)
            self._rows = [
                (array.reshape(-1), *(buffer[a:b] for buffer in self.state.values())) for (_, array), a, b in ends
            ]
        return self._rows

    def changed(self, first: int, last: int) -> None:
        """Let it be known that some parameters' values were written."""
        for parameter in self.params[first:last]:
            parameter._cell[0] += 1

    def values(self, first: int, last: int) -> Any:
        """A flat copy of the values of some parameters."""
        if self.joined is not None:
            return self.joined[self.bounds[first] : self.bounds[last]].copy()
        return self.xp.concatenate([p._array.ravel() for p in self.params[first:last]])

    def subtract(self, first: int, last: int) -> None:
        """Take the change in ``grad`` from some parameters."""
        params, bounds = self.params, self.bounds
        if last - first != len(params):
            params = params[first:last]
        if self.joined is not None:
            values, change = self.joined, self.grad
            if params is not self.params:
                part = slice(bounds[first], bounds[last])
                values, change = values[part], change[part]
            values -= change
            for parameter in params:
                parameter._cell[0] += 1
        else:
            for index, parameter in enumerate(params, first):
                array = parameter._array
                array -= self.grad[bounds[index] : bounds[index + 1]].reshape(array.shape)
                parameter._cell[0] += 1
