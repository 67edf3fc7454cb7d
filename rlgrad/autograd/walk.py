"""The walk through the recorded graph that differentiates it.

It visits every node after all its users, without recursion: of the nodes that hold a gradient, the one with the highest
sequence number can get no more. Un-broadcasting, casting to the input's dtype and checking shapes happen here once, not
in each derivative.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from rlgrad.autograd.graph import (
    FREED,
    Hooks,
    LeafNode,
    Node,
    OutputOf,
    freed_error,
    leaf_lock,
    owned_copy,
    stale_error,
)
from rlgrad.autograd.modes import modes, no_grad, passes_watched
from rlgrad.autograd.namespace import namespace_of, numpy_namespace, recorded_namespace
from rlgrad.autograd.tensor import wrap

_by_sequence = attrgetter("seq")
_ndarray = np.ndarray


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


def _leading_to(roots: Iterable[Node], targets: set[Node]) -> set[Node]:
    """The nodes from which some target can be reached."""
    nodes = list(dict.fromkeys(roots))
    seen = set(nodes)
    for node in nodes:  # grows while it is read
        for edge in node.edges:
            if edge is not None and edge.__class__ is not LeafNode and edge not in seen:
                seen.add(edge)
                nodes.append(edge)
    useful = set(targets)
    for node in sorted(nodes, key=_by_sequence):
        for edge in node.edges:
            if edge in useful:
                useful.add(node)
                break
    return useful


class Pass:
    """A backward pass as hooks on several tensors see it: which nodes it comes to.

    Args:
        roots: where it starts.
        useful: the nodes that it is restricted to, if it is.
    """

    def __init__(self, roots: Sequence[Node], useful: set[Node] | None) -> None:
        self._roots, self._useful = roots, useful
        self._reached: set[Node] | None = None

    def end(self) -> None:
        """Let go of the graph: hooks remember which pass they saw last."""
        self._roots, self._reached, self._useful = (), set(), None

    def reaches(self, node: Node) -> bool:
        """Whether the pass computes the gradient that arrives at a node."""
        if self._reached is None:
            nodes = list(dict.fromkeys(self._roots))
            self._reached = set(nodes)
            for one in nodes:  # grows while it is read
                new = [edge for edge in one.edges if edge is not None and edge not in self._reached]
                self._reached.update(new)
                nodes += dict.fromkeys(new)
        return node in self._reached and (self._useful is None or node in self._useful)


def _push(queue: list[tuple[float, int, Node]], only: Node | None, node: Node) -> Node | None:
    """Put a node on the heap, after the one that was alone until now; returns which is alone then: none."""
    if only is not None:
        heappush(queue, (-only.seq, id(only), only))
    heappush(queue, (-node.seq, id(node), node))
    return None


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
    useful = None if targets is None else _leading_to([node for node, _ in roots], set(targets))
    if not passes_watched:
        return _carry(roots, keep, recorded, targets, accumulate, useful)
    outer, modes.running = modes.running, Pass([node for node, _ in roots], useful)
    try:
        return _carry(roots, keep, recorded, targets, accumulate, useful)
    finally:
        modes.running.end()
        modes.running = outer


def _carry(
    roots: Sequence[tuple[Node, Any]],
    keep: bool,
    recorded: bool,
    targets: Sequence[Node] | None,
    accumulate: bool,
    useful: set[Node] | None,
) -> dict[Node, Any]:
    """What :func:`walk` does, given the nodes that lead to its targets."""
    captured: dict[Node, Any] = {}
    wanted = None if targets is None or accumulate else frozenset(targets)
    ns: Any = recorded_namespace() if recorded else None
    anomaly = modes.anomaly
    pending: dict[Node, Any] = {}
    leaves: dict[Any, Any] = {}
    queue: list[tuple[float, int, Node]] = []  # the pending nodes as a heap
    only: Node | None = None  # the pending node where there is one: a chain needs no heap
    owned: set[Node] = set()  # nodes whose pending gradient is a sum that this walk made
    borrowed: set[Node] = set()  # nodes whose pending gradient somebody else can see
    for node, grad in roots:
        table: dict[Any, Any] = leaves if node.__class__ is LeafNode else pending
        known = table.get(node)
        if known is None:
            table[node] = grad
            if table is pending:
                only = node if only is None and not queue else _push(queue, only, node)
        else:
            table[node] = known + grad
        borrowed.add(node)

    while only is not None or queue:
        if only is None:
            node = heappop(queue)[2]
        else:
            node, only = only, None
        grad = pending.pop(node)
        if useful is not None and node not in useful:
            continue
        hooks = node.hooks
        if hooks is not None:
            grad = _run_hooks(node, hooks, grad, recorded)
        if wanted is not None and node in wanted:
            captured[node] = grad if recorded or (node in owned and hooks is None) else owned_copy(grad)
        edges = node.edges
        if useful is not None and not any(edge in useful for edge in edges):
            continue  # a target, with no other behind it: its own derivative is not asked for
        if node.__class__ is OutputOf:
            source: Any = edges[0]
            parts = pending.get(source)
            if parts is None:
                parts = pending[source] = {}
                only = source if only is None and not queue else _push(queue, only, source)
            known = parts.get(node.index)  # a saved output of a recorded derivative leads to the same output
            parts[node.index] = grad if known is None else known + grad
            continue
        if ns is None:
            ns = numpy_namespace if grad.__class__ is _ndarray else namespace_of(grad)

        plan = node.plan
        saved = node.saved
        if saved is FREED:
            raise freed_error(node)
        for cell, version in zip(node.cells, node.versions):  # noqa: B905 - equal by construction
            if cell[0] != version:
                raise _annotated(node, stale_error(node))
        shares = plan is None and not node.fresh
        if plan is None or plan.joint is not None or anomaly or (hooks is not None and hooks.post):
            if useful is None:
                wants = list(map(bool, edges))  # True for a node
            else:
                wants = [edge is not None and edge in useful for edge in edges]
            if plan is None and hooks is None and not anomaly:
                calls: Any = zip(itertools.count(), itertools.repeat(None), node.run(ns, grad, wants))
            else:
                calls = _computed(node, ns, grad, wants, recorded)
        else:
            calls = plan.calls
            if recorded:
                saved = tuple(saved_as_tensors(node, plan, saved, node.cells))
        for index, vjp, pick in calls:
            edge = edges[index]
            if edge is None or (useful is not None and edge not in useful):
                continue
            if vjp is None:
                result = pick  # computed already
            else:
                result = vjp(ns, grad, *saved) if pick is None else vjp(ns, grad, *pick(saved))
            if result is None:
                continue
            if result.shape != edge.shape:
                result = _unbroadcast(ns, result, edge.shape, node, index)
            if recorded:
                if result._array.dtype is not edge.dtype:
                    result = ns.cast(result, edge.dtype)
            elif result.dtype is not edge.dtype:
                result = result.astype(edge.dtype)
            table = leaves if edge.__class__ is LeafNode else pending
            known = table.get(edge)
            if known is None:
                table[edge] = result
                if table is pending:
                    only = edge if only is None and not queue else _push(queue, only, edge)
                if result is grad or shares or result.__class__ is not _ndarray or result.base is not None:
                    borrowed.add(edge)
            elif recorded or edge not in owned:
                total = known + result
                table[edge] = total if recorded or edge.shape else total[...]  # NumPy adds 0-d arrays to a scalar
                owned.add(edge)
            elif known.__class__ is _ndarray:
                known += result
            else:
                table[edge] = known + result
        if not keep and saved and (plan is None or plan.frees):
            node.saved = FREED
            node.cells = ()

    with leaf_lock:
        for leaf, grad in leaves.items():
            if useful is not None and leaf not in useful:
                continue
            shared = leaf in borrowed and leaf not in owned
            hooks = leaf.hooks
            if hooks is not None:
                grad, shared = _run_hooks(leaf, hooks, grad, recorded), True
            if shared and not recorded:
                grad = owned_copy(grad)
            if not accumulate:
                captured[leaf] = grad
                continue
            if leaf.grad is None:
                leaf.grad = grad
            else:
                leaf.accumulate(grad, recorded)
            if hooks is not None and hooks.post_accumulate:
                tensor = leaf.leaf()
                for hook in tuple(hooks.post_accumulate.values()) if tensor is not None else ():
                    hook(tensor)
    return captured


def _computed(node: Node, ns: Any, grad: Any, wants: Sequence[bool], recorded: bool) -> list[Any]:
    """A node's gradients computed all at once and put in the form of calls, for nodes that need more than theirs."""
    hooks = node.hooks
    results: Any = (_watched if modes.anomaly else _results)(node, ns, grad, wants, recorded)
    if hooks is not None and hooks.post:
        results = _run_post_hooks(node, hooks, results, grad, recorded)
    if modes.anomaly and modes.check_nan:
        _check_nan(node, results, recorded)
    return [(index, None, result) for index, result in results]


def _results(node: Node, ns: Any, grad: Any, wants: Sequence[bool], recorded: bool) -> Iterable[tuple[int, Any]]:
    plan = node.plan
    if plan is None:
        return enumerate(node.run(ns, grad, wants))
    values = saved_as_tensors(node, plan, node.saved, node.cells) if recorded else node.saved
    if plan.joint is not None:
        return enumerate(plan.joint(ns, grad, wants, *values))
    return [
        (index, vjp(ns, grad, *(values if pick is None else pick(values))))
        for index, vjp, pick in plan.calls
        if wants[index]
    ]


def _watched(node: Node, ns: Any, grad: Any, wants: Sequence[bool], recorded: bool) -> list[tuple[int, Any]]:
    """:func:`_results` in anomaly mode: errors name the forward line, and recorded nodes whose derivative they are."""
    outer, modes.evaluating = modes.evaluating, node
    try:
        return list(_results(node, ns, grad, wants, recorded))
    except Exception as error:
        _annotated(node, error)
        raise
    finally:
        modes.evaluating = outer


def saved_as_tensors(node: Node, plan: Any, saved: Sequence[Any], cells: Sequence[Any]) -> list[Any]:
    """Saved arrays as tensors that continue the graph, for derivatives that are recorded themselves."""
    values = list(saved)
    for position, index in enumerate(plan.tensors):
        array = values[position]
        if array is None:
            continue
        tensor = values[position] = wrap(array)
        tensor._cell = cells[position]
        if index < len(node.edges):
            tensor._edge = node.edges[index]
        elif plan.outputs_of is not None:
            tensor._edge = plan.outputs_of(node, index - len(node.edges), array)
        else:
            tensor._edge = node
    return values


def _tensor(grad: Any, recorded: bool) -> Any:
    return grad if recorded or grad is None else wrap(grad)


def _raw(grad: Any, recorded: bool) -> Any:
    return grad if recorded or grad is None else grad._array


def _run_hooks(node: Node, hooks: Hooks, grad: Any, recorded: bool) -> Any:
    """Tensor hooks, then retained gradients, then node hooks; each may replace the gradient."""
    if isinstance(grad, dict):  # a node with several outputs: its tensors' hooks sit on the OutputOf nodes
        return grad
    with contextlib.nullcontext() if recorded else no_grad():
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
                rare = tensor._rare()
                known = rare.get("grad")
                fresh = _tensor(grad, recorded)
                rare["grad"] = fresh.clone() if known is None else known + fresh
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
    with contextlib.nullcontext() if recorded else no_grad():
        for hook in tuple(hooks.post.values()):
            result = hook(inputs, outputs)
            if result is not None:
                given = result if isinstance(result, tuple) else (result,)
                inputs = tuple(
                    new if new is None or recorded or new is old else wrap(owned_copy(new._array))
                    for new, old in itertools.zip_longest(given, inputs)
                )
    return [(index, _raw(result, recorded)) for index, result in enumerate(inputs)]


def _annotated(node: Node, error: Exception) -> Exception:
    """In anomaly mode, add the forward traceback to an error, and warn with it as PyTorch does."""
    notes: list[str] = []
    current: Node | None = node
    while current is not None and len(notes) < 10:
        metadata = current.metadata if hasattr(current, "metadata_") else {}
        stack = metadata.get("traceback_")
        if stack and notes:
            what = f"Previous calculation was induced by {current.name()}. Traceback of forward call that induced it:\n"
        elif stack:
            what = f"Error detected in {current.name()}. Traceback of forward call that caused the error:\n"
        elif modes.anomaly and not notes:
            what = f"Error detected in {current.name()}, which was recorded without anomaly mode: switch it on earlier"
        else:
            break
        notes.append(what + "".join(stack or ()))
        current = metadata.get("parent_")
    if notes and not getattr(error, "__notes__", None):
        for note in notes:
            error.add_note(note)
        warnings.warn("\n\n".join(notes), UserWarning, stacklevel=2)
    return error


def _check_nan(node: Node, results: Iterable[tuple[int, Any]], recorded: bool) -> None:
    for index, result in results:
        array = result._array if recorded and result is not None else result
        if array is not None and array.dtype.kind == "f" and bool((array != array).any()):
            error = RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
            raise _annotated(node, error)
