"""Nodes of the recorded graph, and the walk that differentiates it.

A node holds what its operation saved, the edges to where its inputs came from and a sequence number; it never refers to
the tensors it produced. A graph is therefore free of reference cycles and goes when the last tensor does.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.autograd.modes import modes, no_grad

if TYPE_CHECKING:
    from rlgrad.autograd.registry import Plan
    from rlgrad.autograd.tensor import Tensor

next_sequence = itertools.count(1).__next__
_by_sequence = attrgetter("seq")
_leaf_lock = threading.Lock()
_new = object.__new__
_ndarray = np.ndarray

FREED = ("freed",)
"""Takes the place of a node's saved values once they are gone."""

VIEW: Any = type("VIEW", (), {"__slots__": ()})()
"""The ``_edge`` of a tensor that is a view: its true edge depends on what became of its base, so it is looked up."""


class RemovableHandle:
    """What every ``register_*hook`` returns: ``remove()``, or leaving its ``with`` block, takes the hook away."""

    def __init__(self, table: dict[int, Any], key: int) -> None:
        self._table, self.id = table, key

    def remove(self) -> None:
        self._table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node: on the gradient that reaches it, on the gradients it gives, on a leaf's new ``.grad``."""

    __slots__ = ("counter", "post", "post_accumulate", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Callable[[Any], Any]] = {}
        self.pre: dict[int, Callable[[Any], Any]] = {}
        self.post: dict[int, Callable[[Any, Any], Any]] = {}
        self.post_accumulate: dict[int, Callable[[Any], Any]] = {}
        self.retain: weakref.ref[Tensor] | None = None
        self.counter = 0

    def add(self, kind: str, hook: Callable[..., Any]) -> RemovableHandle:
        table: dict[int, Any] = getattr(self, kind)
        self.counter += 1
        table[self.counter] = hook
        return RemovableHandle(table, self.counter)


class Node:
    """One recorded operation.

    Attributes:
        plan: which gradients are wanted and how to compute them; ``None`` where :meth:`run` does it.
        edges: for each input the node its gradient goes to, or ``None``.
        saved: raw arrays and attributes for the plan, or :data:`FREED`.
        cells, versions: version cells of the saved arrays, and the versions seen when they were saved.
        seq: rises with creation; an edge always points to a lower one.
        shape, dtype: of the output.
    """

    __slots__ = (
        "__weakref__",
        "cells",
        "dtype",
        "edges",
        "hooks",
        "metadata_",
        "plan",
        "saved",
        "seq",
        "shape",
        "versions",
    )
    plan: Plan | None
    edges: tuple[Node | None, ...]
    saved: tuple[Any, ...]
    cells: tuple[list[int], ...]
    versions: tuple[int, ...]
    seq: float
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    hooks: Hooks | None

    def name(self) -> str:
        """PyTorch's name for the operation, such as ``AddBackward0``."""
        return type(self).__name__

    def run(self, ns: Any, grad: Any, wanted: Sequence[bool]) -> Sequence[Any]:
        """Gradients for the edges, for nodes that have no plan."""
        raise RuntimeError(f"{self.name()} has neither a plan nor a run method")

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node its gradient flows to, and which of that node's outputs it was."""
        return tuple(
            (edge.edges[0], edge.index) if isinstance(edge, OutputOf) else (edge, 0) for edge in self.edges
        )

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes on this node."""
        try:
            return self.metadata_
        except AttributeError:
            self.metadata_: dict[Any, Any] = {}
            return self.metadata_

    def hooked(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a returned tuple replaces ``grad_inputs``."""
        return self.hooked().add("post", hook)

    def register_prehook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; a returned tuple replaces ``grad_outputs``."""
        return self.hooked().add("pre", hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __reduce__(self) -> Any:
        raise TypeError("the recorded graph cannot be pickled; detach() the tensor first")


class LeafNode(Node):
    """Where the gradient of a leaf tensor arrives (PyTorch's AccumulateGrad).

    It owns the leaf's ``.grad`` and refers to the leaf weakly, so that neither keeps the other in a cycle. ``grad`` is a
    raw array until somebody looks at the leaf's ``.grad``, and a tensor from then on.
    """

    __slots__ = ("grad", "leaf")
    grad: Any

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = weakref.ref(leaf)
        self.grad = None
        self.plan, self.edges, self.saved, self.cells, self.versions = None, (), (), (), ()
        self.seq = -1
        self.shape, self.dtype, self.hooks = leaf._array.shape, leaf._array.dtype, None

    @property
    def variable(self) -> Tensor | None:
        """The leaf tensor."""
        return self.leaf()

    def name(self) -> str:
        return "AccumulateGrad"

    def accumulate(self, grad: Any, recorded: bool, borrowed: bool) -> None:
        """Add to the leaf's ``.grad``; a ``borrowed`` array is visible elsewhere and so is copied, never kept."""
        with _leaf_lock:
            known = self.grad
            if known is None:
                self.grad = _owned(grad) if borrowed and not recorded else grad
            elif recorded:
                self.grad = self.tensor() + grad
            elif known.__class__ is _ndarray:
                known += grad
            else:
                tensor = self.tensor()
                tensor._array += grad
                tensor._cell[0] += 1

    def tensor(self) -> Tensor | None:
        """The gradient as a tensor."""
        from rlgrad.autograd.tensor import Tensor, wrap

        if self.grad is not None and not isinstance(self.grad, Tensor):
            self.grad = wrap(self.grad)
        return self.grad


LeafNode.__name__ = "AccumulateGrad"


class OutputOf(Node):
    """Stands between a node with several outputs and the users of one of them."""

    __slots__ = ("index",)
    index: int

    def __init__(self, node: Node, index: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.plan, self.edges, self.saved, self.cells, self.versions = None, (node,), (), (), ()
        self.index, self.seq, self.shape, self.dtype, self.hooks = index, node.seq + 0.5, shape, dtype, None


def _owned(array: Any) -> Any:
    """A contiguous, writable array that nobody else holds."""
    return np.array(array) if isinstance(array, (np.ndarray, np.generic)) else array.copy("C")


def _unbroadcast(ns: Any, grad: Any, shape: tuple[int, ...], node: Node, index: int) -> Any:
    """Sum a gradient over the dimensions in which the input was broadcast."""
    have = tuple(grad.shape)
    lead = len(have) - len(shape)
    if lead < 0 or any(n != m and n != 1 for n, m in zip(shape, have[lead:], strict=True)):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {index} - got {list(have)} but expected "
            f"shape compatible with {list(shape)}"
        )
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1)
    if axes:
        grad = ns.sum(grad, axes, True)
    return ns.reshape(grad, shape) if lead else grad


def _stale(node: Node) -> RuntimeError:
    """The error for a saved tensor that was modified in place after it was saved."""
    plan = node.plan
    for position, (cell, seen) in enumerate(zip(node.cells, node.versions, strict=True)):
        if cell[0] == seen:
            continue
        array = node.saved[position] if plan is not None else None
        source: Node | None = node
        if plan is not None:
            index = plan.tensors[position]
            source = node.edges[index] if 0 <= index < len(node.edges) else node
        what = "a tensor" if array is None else f"[{array.dtype} {list(array.shape)}]"
        if isinstance(source, LeafNode):
            leaf = source.leaf()
            label = getattr(leaf, "_name", None) if leaf is not None else None
            origin = f"the parameter {label!r}" if label else "a leaf tensor"
        elif isinstance(source, OutputOf):
            origin = f"output {source.index} of {source.edges[0].name()}"  # type: ignore[union-attr]
        else:
            origin = f"output 0 of {source.name()}" if source is not None else "an input that needs no gradient"
        return RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{what}, which is {origin}, is at version {cell[0]}; {node.name()} expected version {seen} instead. "
            "Recompute what depends on it after the in-place change (an optimizer's step is one), or find the forward "
            "line with rlgrad.autograd.set_detect_anomaly(True)."
        )
    raise AssertionError("no saved tensor is stale")


def freed_error(node: Node) -> RuntimeError:
    return RuntimeError(
        f"Trying to backward through the graph a second time: the values that {node.name()} saved were freed by the "
        "first backward() or autograd.grad(), as always unless retain_graph=True is given. Pass retain_graph=True the "
        "first time if you need to backward through the graph again, or recompute the forward pass."
    )


def check_saved(node: Node) -> tuple[Any, ...]:
    """A node's saved values, after making sure that they are still there and unmodified."""
    if node.saved is FREED:
        raise freed_error(node)
    for cell, seen in zip(node.cells, node.versions, strict=True):
        if cell[0] != seen:
            raise _stale(node)
    return node.saved


def _collect(roots: Iterable[Node]) -> list[Node]:
    """Every node but leaves that the roots lead to, the latest first."""
    nodes = [node for node in dict.fromkeys(roots) if node.__class__ is not LeafNode]
    seen = set(nodes)
    add, append = seen.add, nodes.append
    for node in nodes:  # grows while it is read
        for edge in node.edges:
            if edge is not None and edge.__class__ is not LeafNode and edge not in seen:
                add(edge)
                append(edge)
    nodes.sort(key=_by_sequence, reverse=True)
    return nodes


def _leading_to(nodes: list[Node], targets: set[Node]) -> set[Node]:
    """The nodes from which some target can be reached."""
    useful = set(targets)
    for node in reversed(nodes):
        for edge in node.edges:
            if edge in useful:
                useful.add(node)
                break
    return useful


def walk(
    roots: Sequence[tuple[Node, Any]],
    keep: bool,
    recorded: bool,
    targets: Sequence[Node] | None = None,
    accumulate: bool = True,
) -> dict[Node, Any]:
    """Differentiate: carry the gradients of ``roots`` back along the edges.

    Args:
        roots: pairs of a node and the gradient of its output: a raw array, or a tensor when ``recorded``.
        keep: leave the saved values in place for another walk (``retain_graph``).
        recorded: run the derivatives as recorded operations (``create_graph``).
        targets: only these nodes' gradients are wanted; all leaves' when ``None``.
        accumulate: add to the ``.grad`` of leaves; otherwise the targets' gradients are returned.
    """
    from rlgrad.autograd.namespace import namespace_of, recorded_namespace

    nodes = _collect([node for node, _ in roots])
    useful = None if targets is None else _leading_to(nodes, set(targets))
    captured: dict[Node, Any] = {}
    wanted = None if targets is None or accumulate else frozenset(targets)
    ns = recorded_namespace() if recorded else None
    anomaly = modes.anomaly
    pending: dict[Node, Any] = {}
    owned: set[Node] = set()  # nodes whose pending gradient is a sum that this walk made
    borrowed: set[Node] = set()  # nodes whose pending gradient somebody else can see
    for node, grad in roots:
        known = pending.get(node)
        pending[node] = grad if known is None else known + grad
        borrowed.add(node)

    for node in nodes:
        grad = pending.pop(node, None)
        if grad is None or (useful is not None and node not in useful):
            continue
        hooks = node.hooks
        if hooks is not None:
            grad = _run_hooks(node, hooks, grad, recorded)
        if wanted is not None and node in wanted:
            captured[node] = grad if recorded or (node in owned and hooks is None) else _owned(grad)
        edges = node.edges
        if node.__class__ is OutputOf:
            pending.setdefault(edges[0], {})[node.index] = grad  # type: ignore[attr-defined, index]
            continue
        if ns is None:
            ns = namespace_of(grad)

        plan = node.plan
        saved = node.saved
        if saved is FREED:
            raise freed_error(node)
        if plan is None:
            wants = [edge is not None and (useful is None or edge in useful) for edge in edges]
            results: Any = enumerate(node.run(ns, grad, wants))
        else:
            cells = node.cells
            if cells:
                for cell, seen in zip(cells, node.versions):  # noqa: B905 - equal by construction
                    if cell[0] != seen:
                        raise _annotated(node, _stale(node))
            if recorded:
                saved = _as_tensors(node, saved)
            if plan.joint is not None:
                wants = [edge is not None and (useful is None or edge in useful) for edge in edges]
                results = enumerate(plan.joint(ns, grad, wants, *saved))
            else:
                results = [
                    (index, vjp(ns, grad, *saved) if pick is None else vjp(ns, grad, *pick(saved)))
                    for index, vjp, pick in plan.calls
                    if useful is None or edges[index] in useful
                ]
        if hooks is not None and hooks.post:
            results = _run_post_hooks(node, hooks, results, grad, recorded)
        if anomaly:
            results = list(results)
            _check_nan(node, results, recorded)
        for index, result in results:
            edge = edges[index]
            if result is None or edge is None:
                continue
            if result.shape != edge.shape:
                result = _unbroadcast(ns, result, edge.shape, node, index)
            if recorded:
                if result._array.dtype is not edge.dtype:
                    result = ns.cast(result, edge.dtype)
            elif result.dtype is not edge.dtype:
                result = result.astype(edge.dtype)
            known = pending.get(edge)
            if known is None:
                pending[edge] = result
                if result is grad or plan is None or result.__class__ is not _ndarray or result.base is not None:
                    borrowed.add(edge)
            elif recorded or edge not in owned:
                pending[edge] = known + result
                owned.add(edge)
            elif known.__class__ is _ndarray:
                known += result
            else:
                pending[edge] = known + result
        if not keep and saved:
            node.saved = FREED
            node.cells = ()

    for leaf, grad in pending.items():
        if leaf.__class__ is not LeafNode or (useful is not None and leaf not in useful):
            continue
        hooks, shared = leaf.hooks, leaf in borrowed and leaf not in owned
        if hooks is not None:
            grad, shared = _run_hooks(leaf, hooks, grad, recorded), True
        if not accumulate:
            captured[leaf] = _owned(grad) if shared and not recorded else grad
            continue
        leaf.accumulate(grad, recorded, shared)  # type: ignore[attr-defined]
        if hooks is not None and hooks.post_accumulate:
            tensor = leaf.leaf()  # type: ignore[attr-defined]
            for hook in tuple(hooks.post_accumulate.values()) if tensor is not None else ():
                hook(tensor)
    return captured


def _as_tensors(node: Node, saved: tuple[Any, ...]) -> list[Any]:
    """Saved arrays as tensors that continue the graph, for derivatives that are recorded themselves."""
    from rlgrad.autograd.tensor import wrap

    values = list(saved)
    plan = node.plan
    assert plan is not None
    for position, index in enumerate(plan.tensors):
        array = values[position]
        if array is None:
            continue
        tensor = values[position] = wrap(array)
        tensor._cell = node.cells[position]
        if index < len(node.edges):
            tensor._edge = node.edges[index]
        elif plan.outputs_of is not None:
            tensor._edge = plan.outputs_of(node, index - len(node.edges), array)
        else:
            tensor._edge = node
    return values


def _tensor(grad: Any, recorded: bool) -> Any:
    from rlgrad.autograd.tensor import wrap

    return grad if recorded or grad is None else wrap(grad)


def _raw(grad: Any, recorded: bool) -> Any:
    return grad if recorded or grad is None else grad._array


def _run_hooks(node: Node, hooks: Hooks, grad: Any, recorded: bool) -> Any:
    """Tensor hooks, then retained gradients, then node hooks; each may replace the gradient."""
    if isinstance(grad, dict):  # a node with several outputs: its tensors' hooks sit on the OutputOf nodes
        return grad
    with no_grad() if not recorded else _nothing:
        for hook in tuple(hooks.tensor.values()):
            argument = _tensor(grad, recorded)
            result = hook(argument)
            if result is not None:
                if tuple(result.shape) != tuple(node.shape):
                    raise RuntimeError(
                        f"a hook on {node.name()} changed the gradient's shape from {list(node.shape)} to "
                        f"{list(result.shape)}; it must return the same shape or None"
                    )
                grad = _raw(result, recorded)
        if hooks.retain is not None:
            tensor = hooks.retain()
            if tensor is not None:
                known = tensor._extra.get("grad")
                fresh = _tensor(grad, recorded)
                tensor._extra["grad"] = fresh.clone() if known is None else known + fresh
        for hook in tuple(hooks.pre.values()):
            result = hook((_tensor(grad, recorded),))
            if result is not None:
                first = result[0] if isinstance(result, tuple) else result
                grad = _raw(first, recorded)
    return grad


def _run_post_hooks(node: Node, hooks: Hooks, results: Any, grad: Any, recorded: bool) -> list[tuple[int, Any]]:
    table = dict(results)
    inputs = tuple(_tensor(table.get(index), recorded) for index in range(len(node.edges)))
    outputs = (
        tuple(_tensor(g, recorded) for _, g in sorted(grad.items()))
        if isinstance(grad, dict)
        else (_tensor(grad, recorded),)
    )
    with no_grad() if not recorded else _nothing:
        for hook in tuple(hooks.post.values()):
            result = hook(inputs, outputs)
            if result is not None:
                inputs = result if isinstance(result, tuple) else (result,)
    return [(index, _raw(result, recorded)) for index, result in enumerate(inputs)]


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


_nothing = _Nothing()


def _annotated(node: Node, error: RuntimeError) -> RuntimeError:
    """Add the forward traceback that anomaly mode kept to an error."""
    stack = node.metadata.get("traceback") if hasattr(node, "metadata_") else None
    if stack:
        error.add_note(f"The forward call that {node.name()} comes from:\n{stack}")
    return error


def _check_nan(node: Node, results: list[tuple[int, Any]], recorded: bool) -> None:
    for index, result in results:
        array = result._array if recorded and result is not None else result
        if array is not None and array.dtype.kind == "f" and bool((array != array).any()):
            error = RuntimeError(f"Function {node.name()} returned nan values in its {index}th output.")
            raise _annotated(node, error)
