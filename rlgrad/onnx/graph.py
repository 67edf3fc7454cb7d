"""From a trace to an ONNX graph: names for arrays, constants, and sizes that follow the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rlgrad.backend.errors import nearest
from rlgrad.onnx.tracing import WRITE, Call, Trace


class ExportError(RuntimeError):
    """A module that does something for which ONNX, or this exporter, has no words."""


class Step:
    """One operation of the trace while it is translated, with the same operation of a trace with a larger batch.

    Args:
        graph: that it becomes part of.
        call, other: the operation in both traces.
    """

    def __init__(self, graph: Graph, call: Call, other: Call) -> None:
        self.graph, self.call, self.other = graph, call, other

    def __getitem__(self, index: int) -> str:
        """The name of an input."""
        return self.graph.value(self.call.inputs[index], self.other.inputs[index], self.dtype)

    def operand(self, position: int) -> str:
        """The name of an operand that may be an input or, for a number that has no derivative, an attribute."""
        if position < len(self.call.inputs):
            return self[position]
        return self.constant(self.attribute(list(self.call.attributes)[position - len(self.call.inputs)]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """What numbers among the inputs become: the dtype of the first array."""
        arrays = [a for a in self.call.inputs if isinstance(a, np.ndarray)]
        return arrays[0].dtype if arrays else self.call.outputs[0].dtype

    def has(self, index: int) -> bool:
        """Whether an optional input was given."""
        return self.call.inputs[index] is not None

    def names(self) -> list[str]:
        """The names of all inputs."""
        return [self[i] for i in range(len(self.call.inputs))]

    def listed(self) -> list[str]:
        """The names of the inputs of an operation that takes any number of them."""
        return [
            self.graph.value(a, b, self.dtype) for a, b in zip(self.call.inputs[0], self.other.inputs[0], strict=True)
        ]

    def attribute(self, name: str) -> Any:
        """An attribute, which must not follow the batch."""
        mine, other = self.call.attributes[name], self.other.attributes[name]
        if not _same(mine, other):
            raise ExportError(
                f"its {name} follows the batch ({mine} for one size, {other} for another): export with batch_dim=None for "
                "a model of fixed size"
            )
        return mine

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of an input in the first trace."""
        return self.call.inputs[index].shape

    @property
    def rank(self) -> int:
        return len(self.shape())

    def add(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Add a node; the name of its output, or a list of the names of several."""
        return self.graph.add(kind, *inputs, count=count, **attributes)

    def constant(self, value: Any, dtype: Any = None) -> str:
        return self.graph.constant(np.asarray(value, self.dtype if dtype is None else dtype))

    def integers(self, values: Iterable[int]) -> str:
        return self.graph.constant(np.asarray(list(values), np.int64))

    def reshaped(self, name: str, output: int = 0) -> str:
        """``name`` in the shape of one of this operation's outputs."""
        return self.to_shape(name, self.call.outputs[output].shape, self.other.outputs[output].shape)

    def to_shape(self, name: str, shape: Sequence[int], other: Sequence[int]) -> str:
        """``name`` in a shape that is known for both traces."""
        return self.graph.add("Reshape", name, self.graph.sizes(shape, other, one_free=True))


Translation = Callable[[Step], Any]


class Graph:
    """Nodes and constants, with names for the arrays of a trace.

    Args:
        traces: of one module with two batches.
        owned: parameters and buffers by name.
        inputs: names of the module's inputs.
        batch_dim: which of the first input's dimensions is the batch, if any.
    """

    def __init__(
        self, traces: tuple[Trace, Trace], owned: dict[str, Any], inputs: Sequence[str], batch_dim: int | None
    ) -> None:
        from onnx import helper

        self._make = helper.make_node
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.owned = {id(array): name for name, array in owned.items()}
        self.known: dict[int, str | ExportError] = {}
        self.made_by: dict[int, Call] = {}
        self.traces, self.batch_dim = traces, batch_dim
        self._batch: str | None = None
        for name, array in zip(inputs, traces[0].inputs, strict=True):
            self.known[id(array)] = name
        self._first = inputs[0]
        self._sizes = tuple(1 if batch_dim is None else t.inputs[0].shape[batch_dim] for t in traces)

    def translate(self, table: dict[str, Translation]) -> None:
        """Go through the trace, and note for outputs that cannot be translated why; it matters when they are used."""
        mine, others = (trace.calls for trace in self.traces)
        for call, other in zip(mine, others, strict=False):
            if call.op != other.op:
                break
            self._translate(table, call, other)
        else:
            if len(mine) == len(others):
                return
        raise ExportError(
            "the module does not run the same operations for every input: a graph holds no decisions. Trace the part "
            "that does not depend on values or batch sizes, or export with batch_dim=None"
        )

    def _translate(self, table: dict[str, Translation], call: Call, other: Call) -> None:
        if call.op == WRITE:
            self._write(call, other)
            return
        fresh = [(i, out) for i, out in enumerate(call.outputs) if id(out) not in self.known]
        if not fresh or any(out is array for _, out in fresh for array in call.inputs):
            return  # it gave back what it got
        self.made_by.update({id(out): call for _, out in fresh})
        result: Any
        try:
            translation = table.get(call.op)
            if translation is None:
                raise ExportError(f"has no translation to ONNX.{nearest(call.op, table)}")
            result = translation(Step(self, call, other))
        except ExportError as error:
            named = (
                str(error)
                if str(error).startswith("operation '")
                else f"operation '{call.op}' in {call.where}: {error}"
            )
            result = [ExportError(named)] * len(call.outputs)
        names = result if isinstance(result, list) else [result]
        for i, out in fresh:
            missing = ExportError(f"operation '{call.op}' in {call.where}: its output {i} has no translation to ONNX")
            self.known[id(out)] = names[i] if i < len(names) else missing

    def _write(self, call: Call, other: Call) -> None:
        target, value = call.inputs
        try:
            name: str | ExportError = self.value(value, other.inputs[1], target.dtype)
        except ExportError as error:
            name = error
        for trace_call in self.traces[0].calls:
            for out in (*trace_call.outputs, *self.traces[0].inputs):
                if out is not target and id(out) in self.known and np.may_share_memory(out, target):
                    self.known[id(out)] = ExportError(
                        f"an in-place change in {call.where} reaches a view: write it out of place to export it"
                    )
        self.known[id(target)] = name

    def value(self, array: Any, other: Any, dtype: Any = np.float32) -> str:
        """The name of an array or number that the traces have at the same place."""
        if not isinstance(array, np.ndarray):
            return self._number(array, other, dtype)
        found = self.known.get(id(array))
        if isinstance(found, ExportError):
            raise found
        if found is None:
            found = self.known[id(array)] = self._outside(array, other)
        return found

    def _number(self, number: Any, other: Any, dtype: Any) -> str:
        if number == other or (number != number and other != other):
            return self.constant(np.asarray(number, dtype))
        return self.add("Cast", self._multiple(number, other), to=onnx_type(dtype))

    def _outside(self, array: Any, other: Any) -> str:
        if id(array) in self.owned:
            self.constants[self.owned[id(array)]] = array
            return self.owned[id(array)]
        if array.shape == other.shape:
            if np.array_equal(array, other, equal_nan=array.dtype.kind == "f"):
                return self.constant(array)
        elif array.ndim == other.ndim:
            along = tuple(i for i in range(array.ndim) if array.shape[i] != other.shape[i])
            first = tuple(slice(0, 1) if i in along else slice(None) for i in range(array.ndim))
            if array.size and (array == array[first]).all() and np.array_equal(other[first], array[first]):
                return self.add("Expand", self.constant(array[first]), self.sizes(array.shape, other.shape))
        raise ExportError(
            f"it uses an array of shape {list(array.shape)} that changes with the input but was not computed by "
            "operations that can be recorded"
        )

    def constant(self, array: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.array(array)
        return name

    def add(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        start = len(self.nodes)
        names = [f"{kind.lower()}_{start}" + (f"_{i}" if count > 1 else "") for i in range(count)]
        self.nodes.append(self._make(kind, list(inputs), names, name=f"{kind}_{start}", **attributes))
        return names[0] if count == 1 else names

    def sizes(self, shape: Sequence[int], other: Sequence[int], one_free: bool = False) -> str:
        """A shape as a constant, or computed from the input where it follows the batch.

        Args:
            one_free: one size that follows the batch may be left for the operation to work out.
        """
        following = [i for i, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b]
        if not following:
            return self.constant(np.asarray(shape, np.int64))
        if one_free and len(following) == 1:
            return self.constant(np.asarray([-1 if i in following else n for i, n in enumerate(shape)], np.int64))
        parts = [
            self._multiple(a, b) if i in following else self.constant(np.asarray([a], np.int64))
            for i, (a, b) in enumerate(zip(shape, other, strict=True))
        ]
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=0)

    def _multiple(self, number: Any, other: Any) -> str:
        """A number that is a multiple of the batch's size, in a tensor with one element."""
        mine, theirs = self._sizes
        if mine == theirs or number * theirs != other * mine or number % mine:
            raise ExportError(
                f"a number changes with the input ({number}, then {other}), but is no multiple of the batch"
            )
        if self._batch is None:
            shape = self.add("Shape", self._first)
            self._batch = self.add("Gather", shape, self.constant(np.asarray([self.batch_dim], np.int64)))
        if number == mine:
            return self._batch
        return self.add("Mul", self._batch, self.constant(np.asarray([number // mine], np.int64)))

    def needed(self, outputs: Sequence[str]) -> tuple[list[Any], dict[str, np.ndarray]]:
        """The nodes and constants that outputs depend on."""
        wanted, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                nodes.append(node)
                wanted.update(node.input)
        return nodes[::-1], {name: array for name, array in self.constants.items() if name in wanted}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def onnx_type(dtype: Any) -> int:
    """ONNX's number for a dtype."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
