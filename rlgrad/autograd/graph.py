"""Nodes of the recorded graph.

A node holds what its operation saved, the edges to where its inputs came from and a sequence number; it never refers to
the tensors it produced. A graph is therefore free of reference cycles and goes when the last tensor does.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rlgrad.autograd.registry import Plan
    from rlgrad.autograd.tensor import Tensor

next_sequence = itertools.count(1).__next__
leaf_lock = threading.RLock()
"""Held while leaves take their gradients, the one thing that backward passes in several threads share."""
_ndarray = np.ndarray

FREED = ("freed",)
"""Takes the place of a node's saved values once they are gone."""

_FOR_USERS = (
    "GradientEdge",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "leaves",
    "nodes",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
)

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
    fresh = False  # whether run() gives arrays that nobody else holds
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

    def source(self, position: int) -> Node | None:
        """Where the saved array at ``position`` came from: an input's edge, or this node for an output."""
        index = -1 if self.plan is None else self.plan.tensors[position]
        return self.edges[index] if 0 <= index < len(self.edges) else self

    def kept(self, position: int) -> tuple[Any, Node | None]:
        """The saved array whose version is at ``position``, and its :meth:`source`."""
        return self.saved[position], self.source(position)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node its gradient flows to, and which of that node's outputs it was."""
        return tuple((edge.edges[0], edge.index) if isinstance(edge, OutputOf) else (edge, 0) for edge in self.edges)

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
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        """What the node saved, as PyTorch names it: ``_saved_self``, ``_saved_other``, ``_saved_result``, attributes."""
        if name.startswith("_saved_") and self.plan is not None:
            from rlgrad.autograd.walk import saved_as_tensors

            wanted = {"self": "a", "other": "b", "result": "out"}.get(name[7:], name[7:])
            if wanted in self.plan.names:
                saved = saved_as_tensors(self, self.plan, check_saved(self), self.cells)
                return saved[self.plan.names.index(wanted)]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> Any:
        raise TypeError("the recorded graph cannot be pickled; detach() the tensor first")


class LeafNode(Node):
    """Where the gradient of a leaf tensor arrives (PyTorch's AccumulateGrad).

    It owns the leaf's ``.grad`` and refers to the leaf weakly, so that neither keeps the other in a cycle. ``grad`` is
    a raw array until somebody looks at the leaf's ``.grad``, and a tensor from then on.
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
        return "torch::autograd::AccumulateGrad"

    def accumulate(self, grad: Any, recorded: bool) -> None:
        """Add to a gradient that is there already."""
        known = self.grad
        if recorded:
            self.grad = self.tensor() + grad
        elif known.__class__ is _ndarray:
            known += grad
        else:
            tensor = self.tensor()
            tensor._array += grad  # type: ignore[union-attr]
            tensor._cell[0] += 1  # type: ignore[union-attr]

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


def owned_copy(array: Any) -> Any:
    """A contiguous, writable array that nobody else holds."""
    if array.__class__ is _ndarray:
        return array.copy("K")
    return np.array(array) if isinstance(array, (np.ndarray, np.generic)) else array.copy("C")


def stale_error(node: Node) -> RuntimeError:
    """The error for a saved tensor that was modified in place after it was saved."""
    for position, (cell, seen) in enumerate(zip(node.cells, node.versions, strict=True)):
        if cell[0] == seen:
            continue
        array, source = node.kept(position)
        what = f"[{array.dtype} {list(array.shape)}]"
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
    """The error for a node whose saved values are gone."""
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
            raise stale_error(node)
    return node.saved


def __getattr__(name: str) -> Any:
    """What users look for in this module and what needs tensors: it lives in modules of its own."""
    if name in _FOR_USERS:
        from rlgrad.autograd import joint_hooks, saved

        return getattr(joint_hooks if name == "register_multi_grad_hook" else saved, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
