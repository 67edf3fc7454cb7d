"""Running a module once and noting down every operation on the way.

Every operation of the engine computes with its registry entry's ``forward`` on raw arrays. While a trace runs, these
are wrapped: they compute as ever and note what went in and what came out. Arrays are told apart by identity, so it does
not matter how the program that called them is written. Functions that are no operations, since they have no derivative,
are noticed when they make a tensor.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from rlgrad.autograd import tensor as tensors
from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops import define, inplace
from rlgrad.autograd.registry import REGISTRY, Op
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from rlgrad.nn.module import Module

WRITE = "write in place"
"""Name of what is no operation: an array that was written into; its inputs are the array and the values."""


READERS = ("__bool__", "__float__", "__int__", "__index__", "__array__", "item", "numpy", "tolist")
"""How a program learns the values of a tensor."""

COPIERS = ("tensor", "as_tensor", "asarray", "from_numpy")
"""Functions that create tensors and look at more of their arguments than shape and dtype."""

BY_SHAPE = (
    "adaptive_avg_pool",
    "clamp",
    "interpolate",
    "masked_fill",
    "pad",
    "scaled_dot_product",
    "upsample",
    "where",
)
"""Beginnings of the names of functions that make constants for themselves, from numbers and shapes alone."""


class Call:
    """One operation that ran.

    Attributes:
        op: the operation's name, that of a function with parentheses, or :data:`WRITE`.
        inputs: arrays, lists of arrays (of an operation that takes any number of them), numbers or ``None``.
        attributes: by name.
        outputs: arrays.
        where: the module that it ran in.
        indirect: attributes hold arrays, such as places, that were computed from the example.
    """

    indirect = False

    def __init__(
        self, op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], outputs: tuple[Any, ...], where: str
    ) -> None:
        self.op, self.inputs, self.attributes, self.outputs, self.where = op, inputs, attributes, outputs, where


class Trace:
    """What ran, in order, and what the program gave back.

    Attributes:
        calls: operations in the order they ran.
        reads: modules in which values were looked at that follow from the input.
        inputs: the example's arrays.
        outputs: the result's arrays.
    """

    def __init__(self, module: Module, example: tuple[Tensor, ...]) -> None:
        self.calls: list[Call] = []
        self._thread = threading.get_ident()
        self.stack = [type(module).__name__]
        self.names = {id(m): name for name, m in module.named_modules()}
        self.reads: list[str] = []
        self.inputs = [tensor._array for tensor in example]
        self._seen = {id(array) for array in self.inputs}
        self._following = set(self._seen)
        with no_grad(), self._listening():
            result = module(*example)
        self.structure = result
        self.outputs = [tensor._array for tensor in _tensors(result)]

    def note(self, op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], outputs: tuple[Any, ...]) -> None:
        if threading.get_ident() != self._thread:  # another thread's work
            return
        self.calls.append(Call(op, inputs, attributes, outputs, self.stack[-1]))
        made = {id(array) for array in outputs}
        self._seen |= made
        if any(self._follows(value) for value in inputs):
            self._following |= made

    def _follows(self, value: Any) -> bool:
        """Whether a value was computed from the example."""
        if isinstance(value, (list, tuple)):
            return any(self._follows(item) for item in value)
        array = value._array if isinstance(value, Tensor) else value
        return isinstance(array, np.ndarray) and id(array) in self._following

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        undo: list[Callable[[], None]] = []
        cast_to, store = define.cast_to, inplace.store
        hooks = [register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave)]
        try:
            for op in list(REGISTRY.values()):
                undo += self._listen_to(op)
            define.cast_to, inplace.store = self._cast_to(cast_to), self._store(store)
            undo += [*self._listen_to_wrap(), *self._listen_to_readers()]
            yield
        finally:
            define.cast_to, inplace.store = cast_to, store
            for put_back in undo:
                put_back()
            for hook in hooks:
                hook.remove()

    def _listen_to(self, op: Op) -> Iterator[Callable[[], None]]:
        forward = op.forward
        count = len(op.inputs)

        def noted(xp: Any, *given: Any) -> Any:
            if op.variadic:
                inputs, attributes = (list(given[0]),), given[1:]
            else:
                inputs, attributes = given[:count], given[count:]
            result = _as_arrays(forward(xp, *given))
            named = dict(zip(op.attributes, attributes, strict=False))
            self.note(op.name, inputs, named, result if isinstance(result, tuple) else (result,))
            if self.calls and any(_holds_array(value) for value in attributes):
                self.calls[-1].indirect = self._is_indirect(inputs, sys._getframe(1))
            return result

        op.forward = noted
        yield lambda: setattr(op, "forward", forward)
        function = op.function
        if function is not None:  # which calls NumPy's function, or the forward, as its closure holds it
            cell = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))["ufunc"]
            ufunc = cell.cell_contents
            cell.cell_contents = lambda *arrays: noted(np, *arrays)
            yield lambda: setattr(cell, "cell_contents", ufunc)

    def _is_indirect(self, inputs: tuple[Any, ...], frame: FrameType | None) -> bool:
        """Whether the function of the engine that runs an operation was given more that follows than the inputs."""
        outermost = None
        while frame is not None and frame.f_globals.get("__name__", "").startswith("rlgrad.autograd."):
            outermost, frame = frame, frame.f_back
        if outermost is None:
            return False
        code, seen = outermost.f_code, {id(value) for value in inputs}
        values = [outermost.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
        flat = [item for v in values for item in (v if isinstance(v, (list, tuple)) else (v,))]
        return any(self._follows(v) and not (isinstance(v, Tensor) and id(v._array) in seen) for v in flat)

    def _listen_to_wrap(self) -> Iterator[Callable[[], None]]:
        wrap = tensors.wrap

        def noted(array: Any) -> Tensor:
            result = wrap(array)
            if id(result._array) not in self._seen:
                self._note_function(result._array, sys._getframe(1))
            return result

        for name, module in list(sys.modules.items()):
            if name.startswith("rlgrad.") and vars(module).get("wrap") is wrap:
                setattr(module, "wrap", noted)  # noqa: B010 - a module has no such attribute for the type checker
                yield lambda module=module: setattr(module, "wrap", wrap)  # type: ignore[misc]

    def _note_function(self, array: Any, frame: FrameType | None) -> None:
        """Note the function of the engine that made an array, if it made it from what follows from the example."""
        outermost, follows = None, False
        while frame is not None and frame.f_globals.get("__name__", "").startswith("rlgrad.autograd."):
            if frame.f_code.co_name != "call":  # what a decorator puts around a function
                outermost = frame
            follows = follows or any(self._follows(value) for value in list(frame.f_locals.values()))
            frame = frame.f_back
        if outermost is None or not follows:
            return
        code = outermost.f_code
        if outermost.f_globals["__name__"].endswith(".creation") and code.co_name not in COPIERS:
            return
        if code.co_name.startswith(BY_SHAPE):
            return
        arguments = {n: outermost.f_locals[n] for n in code.co_varnames[: code.co_argcount] if n in outermost.f_locals}
        inputs = tuple(v._array for v in arguments.values() if isinstance(v, Tensor))
        attributes = {n: v for n, v in arguments.items() if not isinstance(v, Tensor)}
        self.note(f"{code.co_name}()", inputs, attributes, (array,))
        self._following.add(id(array))

    def _listen_to_readers(self) -> Iterator[Callable[[], None]]:
        for name in READERS:
            method = vars(Tensor).get(name)
            if method is not None:
                setattr(Tensor, name, self._reader(method))
                yield lambda name=name, method=method: setattr(Tensor, name, method)  # type: ignore[misc]

    def _reader(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            if self._follows(tensor):
                self.reads.append(self.stack[-1])
            return method(tensor, *args, **kwargs)

        return noted

    def _cast_to(self, cast_to: Callable[..., Any]) -> Callable[..., Any]:
        def noted(array: Any, dtype: np.dtype[Any]) -> Any:
            result = cast_to(array, dtype)
            self.note("cast", (array,), {"dtype": dtype}, (result,))
            return result

        return noted

    def _store(self, store: Callable[..., Any]) -> Callable[..., Any]:
        def noted(array: Any, value: Any) -> None:
            store(array, value)
            self.note(WRITE, (array, value), {}, (array,))

        return noted

    def _enter(self, module: Module, args: Any) -> None:
        name = self.names.get(id(module), "")
        self.stack.append(f"{type(module).__name__} '{name}'" if name else type(module).__name__)

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        self.stack.pop()


def _holds_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and any(_holds_array(item) for item in value))


def _as_arrays(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return tuple([_as_arrays(item) for item in result])
    return np.asarray(result) if isinstance(result, np.generic) else result


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, dict):
        return [t for item in result.values() for t in _tensors(item)]
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in _tensors(item)]
    return []
