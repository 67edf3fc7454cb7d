"""``backward`` and ``grad``: where a walk through the graph starts."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.graph import LeafNode, Node
from rlgrad.autograd.modes import modes
from rlgrad.autograd.registry import edge_of
from rlgrad.autograd.saved import GradientEdge
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.autograd.walk import walk
from rlgrad.backend.devices import module_of

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


def _sequence(value: Any) -> Sequence[Any]:
    if value.__class__ is list or value.__class__ is tuple:
        return value
    return [value] if isinstance(value, (Tensor, GradientEdge)) or value is None else list(value)


def _target(tensor: Any, index: int) -> Node:
    """The node whose gradient is wanted for one of ``inputs``."""
    edge = tensor.ownership_token if isinstance(tensor, GradientEdge) else edge_of(tensor)
    if edge is None:
        raise RuntimeError(f"One of the differentiated Tensors does not require grad: inputs[{index}]")
    return edge


@functools.cache
def _one(dtype: np.dtype[Any]) -> Any:
    return dtype.type(1)


def _root(tensor: Tensor, gradient: Tensor | None, index: int, recorded: bool) -> tuple[Node, Any]:
    """The node to start from and the gradient to start with."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn: it is a {tensor.dtype!r} tensor "
            f"of shape {list(tensor.shape)} that no recorded operation on a tensor with requires_grad=True led to"
        )
    array = tensor._array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, but this one has shape {list(array.shape)}; "
                "pass gradient= with that shape, or reduce it first, for example with .sum()"
            )
        if array.__class__ is np.ndarray:
            seed = np.ones(array.shape, array.dtype) if array.ndim else _one(array.dtype)
        else:
            seed = module_of(array).ones_like(array)
        return edge, wrap(seed) if recorded else seed
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {list(gradient.shape)} and output[{index}] has a shape "
            f"of {list(array.shape)}."
        )
    if gradient._array.dtype is not array.dtype and gradient._array.dtype != array.dtype:
        gradient = gradient.to(tensor.dtype)
    return edge, gradient if recorded else gradient._array


def _run(
    roots: Sequence[tuple[Node, Any]], keep: bool, recorded: bool, targets: Sequence[Node] | None, accumulate: bool
) -> dict[Node, Any]:
    if not recorded:
        return walk(roots, keep, False, targets, accumulate)
    outer, modes.grad = modes.grad, True
    try:
        return walk(roots, keep, True, targets, accumulate)
    finally:
        modes.grad = outer


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Differentiate ``tensors`` and add to the ``.grad`` of the leaves.

    Args:
        tensors: one tensor or several, each requiring grad.
        grad_tensors: for each its gradient, or ``None`` for one with a single element.
        retain_graph: keep saved values for another backward; ``create_graph`` unless given.
        create_graph: record the backward pass.
        inputs: only these tensors receive gradients.

    Raises:
        RuntimeError: when a tensor does not require grad, a gradient is missing or of the wrong shape, saved values
            were freed or modified in place.
    """
    outputs = _sequence(tensors)
    given = grad_variables if grad_tensors is None else grad_tensors
    gradients = [None] * len(outputs) if given is None else _sequence(given)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    targets = None
    if inputs is not None:
        chosen = _sequence(inputs)
        if not chosen:
            raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
        targets = []
        for index, tensor in enumerate(chosen):
            edge = _target(tensor, index)
            if isinstance(tensor, Tensor) and not isinstance(edge, LeafNode):
                tensor.retain_grad()
            targets.append(edge)
    if len(outputs) == 1:
        roots = [_root(outputs[0], gradients[0], 0, create_graph)]
    else:
        roots = [_root(t, g, i, create_graph) for i, (t, g) in enumerate(zip(outputs, gradients, strict=True))]
    keep = create_graph if retain_graph is None else retain_graph
    _run(roots, keep, create_graph, targets, True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the sum of the gradients of ``outputs`` with respect to each of ``inputs``, leaving ``.grad`` alone.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for :func:`backward`.
        inputs: the tensors to differentiate with respect to.
        allow_unused: give ``None`` for an input that the outputs do not depend on, instead of raising.
        materialize_grads: give zeros instead of ``None``.
        is_grads_batched: each of ``grad_outputs`` has a first dimension more, and so have the results: one gradient for
            each row.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.tensor(3.0, requires_grad=True)
        >>> (slope,) = rlgrad.autograd.grad(x**3, x, create_graph=True)
        >>> rlgrad.autograd.grad(slope, x)
        (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    wanted, results = _sequence(inputs), _sequence(outputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = [None] * len(results) if grad_outputs is None else _sequence(grad_outputs)
    if len(gradients) != len(results):
        raise RuntimeError(f"got {len(results)} outputs and {len(gradients)} grad_outputs")
    if is_grads_batched:
        return _row_by_row(results, wanted, gradients, retain_graph, create_graph, allow_unused, materialize_grads)
    targets: list[Node] = []
    for index, tensor in enumerate(wanted):
        targets.append(_target(tensor, index))
    roots = [_root(t, g, i, create_graph) for i, (t, g) in enumerate(zip(results, gradients, strict=True))]
    keep = create_graph if retain_graph is None else retain_graph
    found = _run(roots, keep, create_graph, targets, False)
    answers: list[Any] = []
    for index, (tensor, target) in enumerate(zip(wanted, targets, strict=True)):
        value = found.get(target)
        if value is None and not allow_unused:
            raise RuntimeError(
                f"One of the differentiated Tensors appears to not have been used in the graph: inputs[{index}], of shape "
                f"{list(target.shape)}. Set allow_unused=True if this is the desired behavior."
            )
        if value is None and materialize_grads:
            like = module_of(tensor._array) if isinstance(tensor, Tensor) else np
            value = like.zeros(target.shape, target.dtype)
        answers.append(value if value is None or isinstance(value, Tensor) else wrap(value))
    return tuple(answers)


def _row_by_row(
    outputs: Sequence[Any], inputs: Sequence[Any], grad_outputs: Sequence[Any], retain_graph: Any, *options: Any
) -> tuple[Any, ...]:
    """:func:`grad` once for each row of ``grad_outputs``, the results stacked."""
    from rlgrad.autograd.ops.joining import stack

    given = [g for g in grad_outputs if g is not None]
    if not given or any(g._array.ndim == 0 or len(g) != len(given[0]) for g in given):
        raise ValueError("is_grads_batched=True expects grad_outputs whose first dimensions have one extent")
    create_graph, allow_unused, materialize_grads = options
    rows = [
        grad(
            outputs, inputs, [None if g is None else g[i] for g in grad_outputs], True, create_graph,
            allow_unused=allow_unused, materialize_grads=materialize_grads,
        )
        for i in range(len(given[0]))
    ]  # fmt: skip
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Differentiate this tensor and add the gradients to the ``.grad`` of the leaves it came from.

    Args:
        gradient: gradient of some later scalar with respect to this tensor, of its shape; may be left out for a tensor
            with one element.
        retain_graph: keep what the graph saved, so that it can be differentiated again.
        create_graph: record the backward pass itself, for higher derivatives.
        inputs: accumulate for these tensors only.
    """
    if gradient is None and not create_graph and inputs is None:
        walk((_root(self, None, 0, False),), bool(retain_graph), False)
    else:
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = _backward  # type: ignore[attr-defined]
