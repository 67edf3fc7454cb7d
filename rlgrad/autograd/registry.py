"""The op registry: one entry per operation, from which tensor methods, functions and generic tests come.

An entry holds the forward on raw arrays, ``forward(xp, *arrays, *attributes)``, and the derivatives. A derivative is
written once against a namespace: ``vjp(ns, g, ...)`` uses operators and ``ns.<op>`` only, and names in its parameters
what it needs: an input, an attribute, ``out``, or ``<input>_shape``. Just these are saved, and only when a gradient
that needs them is wanted. A plain backward calls it with raw arrays; ``create_graph=True`` calls it with tensors, so
that it is recorded and every order of derivative follows from the one formula.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from rlgrad.autograd.graph import VIEW, Node, OutputOf, next_sequence
from rlgrad.autograd.modes import modes
from rlgrad.autograd.tensor import Tensor, ViewInfo, wrap
from rlgrad.backend.devices import cupy, device_of

_ndarray = np.ndarray
_new = object.__new__
_HERE = os.path.dirname(__file__) + os.sep
_version_of = itemgetter(0)
_no_cell = [0]  # stands for the version of an optional input that was not given
Vjp = Callable[..., Any]

REGISTRY: dict[str, Op] = {}
"""Every operation by name."""


def _parameters(function: Callable[..., Any], skip: int) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[skip : code.co_argcount]


def _picker(indices: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A fast function that takes these positions out of a tuple, as a tuple."""
    if not indices:
        return itemgetter(slice(0, 0))
    first, last = indices[0], indices[-1]
    if list(indices) == list(range(first, last + 1)):
        return itemgetter(slice(first, last + 1))
    return itemgetter(*indices)


class Plan:
    """What one op saves and computes for one set of inputs that need a gradient.

    Attributes:
        pick: takes the saved values out of ``(*inputs, *attributes, *outputs)``.
        tensors: for each saved array its index among the inputs, or the number of inputs plus that of the output.
        keep: takes the tensors that the saved arrays belong to out of ``(*inputs, *outputs)``.
        names: what the saved values are called in the derivatives, in their order.
        shapes: inputs whose shapes are saved, after everything else.
        calls: ``(input, vjp, pick)``: which derivative to call with which of the saved values (``None``: with all).
        joint: one function for all inputs, in place of ``calls``.
        outputs_of: gives the edge of a saved output where there are several.
        frees: something saved goes with the first backward; what kept only sizes can be walked again and again.
    """

    __slots__ = ("calls", "frees", "joint", "keep", "names", "outputs_of", "pick", "shapes", "tensors")

    def __init__(self, op: Op, needs: Sequence[int], numbers: Iterable[int] = ()) -> None:
        inputs, attributes = op.inputs, op.attributes
        functions: list[tuple[int, Vjp]] = []
        self.joint = op.joint
        if op.joint is not None:
            wanted = list(_parameters(op.joint, 3))
        else:
            functions = [(i, op.vjps[i]) for i in needs if op.vjps[i] is not None]  # type: ignore[misc]
            wanted = []
            for _, vjp in functions:
                wanted += [name for name in _parameters(vjp, 2) if name not in wanted]
        arrays = [inputs.index(n) for n in wanted if n in inputs and inputs.index(n) not in numbers]
        outputs = [k for k in map(op.output_index, wanted) if k is not None]
        plain = [inputs.index(n) for n in wanted if n in inputs and inputs.index(n) in numbers]
        plain += [len(inputs) + attributes.index(n) for n in wanted if n in attributes]
        shapes = [n for n in wanted if n.endswith("_shape") and n[:-6] in inputs]
        self.tensors = tuple(arrays + [len(inputs) + k for k in outputs])
        self.keep = _picker(self.tensors)
        self.shapes = tuple(inputs.index(n[:-6]) for n in shapes)
        base = len(inputs) + len(attributes)
        self.pick = _picker(arrays + [base + k for k in outputs] + plain)
        values = (*inputs, *attributes)
        order = [values[i] for i in arrays] + [n for k in outputs for n in wanted if op.output_index(n) == k]
        order += [values[i] for i in plain] + shapes
        self.names = tuple(order)
        unknown = [n for n in wanted if n not in order]
        if unknown:
            raise TypeError(f"a derivative of {op.name} asks for {unknown}, which it has not: {values}, out, *_shape")
        self.calls: tuple[tuple[int, Vjp, Any], ...] = tuple(
            (i, vjp, None if list(names) == order else _picker([order.index(n) for n in names]))
            for i, vjp in functions
            for names in [_parameters(vjp, 2)]
        )
        if self.joint is not None and wanted != order:
            joint, reorder = self.joint, _picker([order.index(n) for n in wanted])
            self.joint = lambda ns, g, wants, *saved: joint(ns, g, wants, *reorder(saved))
        self.outputs_of = op.edge_of_output if op.multiple else None
        self.frees = op.frees or bool(self.tensors) or any(name in inputs for name in wanted)


class Op:
    """One entry of the registry.

    Args:
        name: its name, also under which derivatives reach it as ``ns.<name>``.
        forward: ``forward(xp, *arrays, *attributes)`` on raw arrays; a string names a NumPy ufunc.
        vjps: for each input its derivative, or ``None`` where there is none; or one joint function
            ``vjp(ns, g, wants, ...)`` that returns a gradient for each input.
        node: PyTorch's name of the recorded node, such as ``"AddBackward0"``.
        inputs: how many leading parameters of ``forward`` are arrays.
        view: the output shares the input's memory.
        multiple: ``forward`` returns several arrays; derivatives get the gradients as a mapping from output to
            gradient.
        variadic: ``forward(xp, arrays, *attributes)`` takes any number of arrays as one list and saves none of them.
        frees: an attribute holds arrays, so that backward frees what was saved.
        refuses: kinds of dtype (NumPy's letters) that an elementwise op does not take, though NumPy's function would.
    """

    function: Callable[..., Any] | None = None
    """Of an elementwise operation, what its users call; it holds NumPy's function as ``ufunc``."""

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any] | str,
        vjps: Sequence[Vjp | None] | Vjp | None = None,
        *,
        node: str = "",
        inputs: int | None = None,
        view: bool = False,
        multiple: bool = False,
        variadic: bool = False,
        frees: bool = False,
        refuses: str = "",
    ) -> None:
        self.name = name
        self.ufunc = forward if isinstance(forward, str) else None
        if isinstance(forward, str):
            self.forward: Callable[..., Any] = lambda xp, *arrays: getattr(xp, forward)(*arrays)
            names: tuple[str, ...] = ("a", "b")[: getattr(np, forward).nin]
        else:
            self.forward = forward
            names = _parameters(forward, 1)
        self.joint = vjps if callable(vjps) else None
        self.vjps: tuple[Vjp | None, ...] = () if vjps is None or callable(vjps) else tuple(vjps)
        if variadic:
            count, names = 0, names[1:]
        else:
            count = inputs if inputs is not None else max(len(self.vjps), 1)
        self.inputs, self.attributes = names[:count], names[count:]
        self.view, self.multiple, self.variadic, self.frees = view, multiple, variadic, frees
        self.refuses = refuses
        self.differentiable = vjps is not None
        full = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        members: dict[str, Any] = {"__slots__": (), "__module__": Node.__module__}
        if "::" in full:  # PyTorch's own classes have a namespace in their names, though not in their types' names
            members["name"] = lambda self: full
        self.node: type[Node] = type(full.rpartition(":")[2], (Node,), members)
        self.plans: dict[Any, Plan] = {}
        self.masks: dict[int, Plan] = {}  # the same plans by the bits of the inputs that need a gradient
        REGISTRY[name] = self

    def output_index(self, name: str) -> int | None:
        if name == "out":
            return 0
        if self.multiple and name.startswith("out") and name[3:].isdecimal():
            return int(name[3:])
        return None

    def plan(self, needs: tuple[int, ...], numbers: tuple[int, ...] = ()) -> Plan:
        """The plan for these inputs needing a gradient and these being Python numbers, made once."""
        found = self.plans.get((needs, numbers))
        if found is None:
            found = self.plans[needs, numbers] = Plan(self, needs, numbers)
        return found

    def plan_for(self, edges: Sequence[Any]) -> Plan:
        """The plan for inputs of which those with an edge need a gradient."""
        return self.plan(() if self.joint is not None else tuple([i for i, e in enumerate(edges) if e is not None]))

    @staticmethod
    def edge_of_output(node: Node, index: int, array: Any) -> Node:
        return OutputOf(node, index, array.shape, array.dtype)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join((*self.inputs, *self.attributes))})>"


def array_module(op: Op, arrays: Iterable[Any]) -> Any:
    """CuPy, after checking that every array is on one GPU; asked only when some array is not NumPy's."""
    devices = {str(device_of(array)) for array in arrays if hasattr(array, "shape")}
    if len(devices) > 1:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but {op.name} got tensors on {' and '.join(sorted(devices))}; "
            "move them with .to(device)"
        )
    return np if devices <= {"cpu"} else cupy()


def edge_of(tensor: Tensor) -> Node | None:
    """Where a tensor's gradient goes: its node, or ``None`` when it requires none."""
    edge = tensor._edge
    return tensor._view.edge(tensor) if edge is VIEW else edge  # type: ignore[union-attr]


def apply(op: Op, tensors: Sequence[Tensor | None], attributes: tuple[Any, ...] = ()) -> Any:
    """Run one op on tensors, and record it when a gradient is wanted."""
    if len(tensors) == 1 and not op.multiple:
        return apply_one(op, tensors[0], attributes)  # type: ignore[arg-type]
    arrays: list[Any] = []
    edges: list[Any] = []
    cells: list[Any] = []
    mask, bit = 0, 1
    for tensor in tensors:  # one loop and no comprehensions: each would cost a call of its own
        if tensor is None:
            arrays.append(None)
            edges.append(None)
            cells.append(_no_cell)
        else:
            arrays.append(tensor._array)
            cells.append(tensor._cell)
            edge = tensor._edge
            if edge is not None:
                if edge is VIEW:
                    edge = tensor._view.edge(tensor)  # type: ignore[union-attr]
                if edge is not None:
                    mask += bit
            edges.append(edge)
        bit += bit
    try:
        out = op.forward(np if arrays[0].__class__ is _ndarray else cupy(), *arrays, *attributes)
    except TypeError:
        array_module(op, arrays)  # says so if the cause is that they live on different devices
        raise
    if mask and modes.grad and op.differentiable:
        plan = op.masks.get(mask)
        if plan is None:
            plan = op.masks[mask] = op.plan_for(edges)
        if op.multiple:
            return _record_several(op, plan, tensors, arrays, edges, cells, attributes, out)
        return record(op, plan, tensors, arrays, edges, cells, attributes, out)
    if op.multiple:
        return tuple(
            [_view_of(op, tensors[0], attributes, None, o, i) if op.view else wrap(o) for i, o in enumerate(out)]
        )
    return _view_of(op, tensors[0], attributes, None, out) if op.view else wrap(out)


def apply_one(op: Op, tensor: Tensor, attributes: tuple[Any, ...] = ()) -> Tensor:
    """:func:`apply` for one input and one output, without the loops."""
    array = tensor._array
    out = op.forward(np if array.__class__ is _ndarray else cupy(), array, *attributes)
    if out.__class__ is not _ndarray and isinstance(out, np.generic):
        out = np.asarray(out)
    edge = tensor._edge
    if edge is VIEW:
        edge = tensor._view.edge(tensor)  # type: ignore[union-attr]
    if edge is None or not modes.grad or not op.differentiable:
        return _view_of(op, tensor, attributes, None, out) if op.view else wrap(out)
    plan = op.masks.get(1)
    if plan is None:
        plan = op.masks[1] = op.plan_for((edge,))
    node = op.node()
    node.plan = plan
    node.edges = (edge,)
    node.seq = next_sequence()
    node.hooks = None
    node.shape = out.shape
    node.dtype = out.dtype
    if op.view:
        result = _view_of(op, tensor, attributes, node, out)
    else:
        result = _new(Tensor)
        result._array = out
        result._edge = node
        result._cell = [0]
        result._view = result._extra = None
    node.saved = plan.pick((array, *attributes, out))
    if plan.shapes:
        node.saved += (array.shape,)
    kept = plan.tensors
    if not kept:
        node.cells = node.versions = ()
    elif len(kept) == 1:
        cell = tensor._cell if kept[0] == 0 else result._cell
        node.cells, node.versions = (cell,), (cell[0],)
    else:
        node.cells = (tensor._cell, result._cell)
        node.versions = (tensor._cell[0], result._cell[0])
    if modes.traced:
        trace(node)
    return result


def apply_list(op: Op, tensors: Sequence[Tensor], attributes: tuple[Any, ...] = ()) -> Tensor:
    """Run a variadic op on a list of tensors, and record it when a gradient is wanted."""
    arrays: list[Any] = []
    edges: list[Any] = []
    xp: Any = np
    flows = False
    for tensor in tensors:
        array, edge = tensor._array, tensor._edge
        arrays.append(array)
        if array.__class__ is not _ndarray:
            xp = None
        if edge is VIEW:
            edge = tensor._view.edge(tensor)  # type: ignore[union-attr]
        edges.append(edge)
        flows = flows or edge is not None
    out = op.forward(xp or array_module(op, arrays), arrays, *attributes)
    if flows and modes.grad:
        return record(op, op.plan(()), (), (), edges, (), attributes, out)
    return wrap(out)


def record(
    op: Op,
    plan: Plan,
    tensors: Sequence[Tensor | None],
    arrays: Sequence[Any],
    edges: Sequence[Any],
    cells: Sequence[list[int]],
    attributes: tuple[Any, ...],
    out: Any,
) -> Tensor:
    """The output of an op as a tensor that remembers how it was computed.

    Args:
        cells: the version cells of the tensors.
    """
    if out.__class__ is not _ndarray and isinstance(out, np.generic):
        out = np.asarray(out)
    node = op.node()
    node.plan = plan
    node.edges = tuple(edges)
    node.seq = next_sequence()
    node.hooks = None
    node.shape = out.shape
    node.dtype = out.dtype
    if op.view:
        result = _view_of(op, tensors[0], attributes, node, out)
    else:
        result = _new(Tensor)
        result._array = out
        result._edge = node
        result._cell = [0]
        result._view = result._extra = None
    saved = plan.pick((*arrays, *attributes, out))
    for i in plan.shapes:
        saved = (*saved, arrays[i].shape)
    node.saved = saved
    if plan.tensors:
        node.cells = kept = plan.keep((*cells, result._cell))
        node.versions = (kept[0][0],) if len(kept) == 1 else tuple(map(_version_of, kept))
    else:
        node.cells = node.versions = ()
    if modes.traced:
        trace(node)
    return result


def _record_several(
    op: Op,
    plan: Plan,
    tensors: Sequence[Tensor | None],
    arrays: Sequence[Any],
    edges: Sequence[Any],
    cells: Sequence[list[int]],
    attributes: tuple[Any, ...],
    outs: Sequence[Any],
) -> tuple[Tensor, ...]:
    """:func:`record` for an op with several outputs."""
    node = op.node()
    node.plan = plan
    node.edges = tuple(edges)
    node.seq = next_sequence()
    node.hooks = None
    node.shape, node.dtype = outs[0].shape, outs[0].dtype
    results = tuple([_output_of(op, node, tensors, attributes, index, out) for index, out in enumerate(outs)])
    node.saved = plan.pick((*arrays, *attributes, *outs))
    if plan.shapes:
        node.saved += tuple([arrays[i].shape for i in plan.shapes])
    if plan.tensors:
        node.cells = kept = plan.keep((*cells, *[result._cell for result in results]))
        node.versions = tuple(map(_version_of, kept))
    else:
        node.cells = node.versions = ()
    if modes.traced:
        trace(node)
    return results


def _output_of(op: Op, node: Node, tensors: Sequence[Any], attributes: Any, index: int, out: Any) -> Tensor:
    """One output of an op with several; integer outputs, such as indices, take no part in the graph."""
    edge = OutputOf(node, index, out.shape, out.dtype) if out.dtype.kind == "f" else None
    if op.view:
        return _view_of(op, tensors[0], attributes, edge, out, index)
    result = wrap(out)
    result._edge = edge
    return result


def _view_of(op: Op, base: Tensor | None, attributes: Any, edge: Any, out: Any, index: int | None = None) -> Tensor:
    """Wrap an array that shares ``base``'s memory, remembering how to take the same view again."""
    assert base is not None
    if op.name == "reshape" and not (  # a reshape that had to copy
        base._array.flags.c_contiguous or np.may_share_memory(out, base._array)
    ):
        result = wrap(out)
        result._edge = edge
        return result
    result = _new(Tensor)
    result._array = out
    result._cell = cell = base._cell
    result._extra = None
    if cell.__class__ is not list:  # of an inference tensor, whose views are not tracked
        result._edge = result._view = None
        return result
    result._edge = VIEW
    result._view = view = ViewInfo()
    outer = base._view
    if outer is None:
        view.base = base
        view.chain = ((op, attributes, index),)
        view.tracked = modes.grad
    else:
        view.base = outer.base
        view.chain = (*outer.chain, (op, attributes, index))
        view.tracked = modes.grad and outer.tracked
    view.node = edge
    view.version = cell[0]
    return result


def trace(node: Node) -> None:
    """Slow path of recording: anomaly mode's stack, and hooks that pack saved tensors."""
    if modes.anomaly:
        import traceback

        stack = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_HERE)]
        node.metadata["traceback_"] = traceback.format_list(stack)
        if modes.evaluating is not None:
            node.metadata["parent_"] = modes.evaluating
    if modes.pack_hooks:
        from rlgrad.autograd.saved import pack

        pack(node)
