"""Hooks on several tensors at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal

from rlgrad.autograd.graph import Node, RemovableHandle
from rlgrad.autograd.modes import modes, passes_watched
from rlgrad.autograd.registry import edge_of
from rlgrad.autograd.tensor import Tensor


class _Handle:
    """Takes all hooks of one registration away: ``remove()``, or leaving its ``with`` block."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = list(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        if self._handles:
            passes_watched.pop()
            self._handles = []

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class _Watch:
    """What one registration has seen of the backward passes now running, each by its own record."""

    def __init__(self, nodes: Sequence[Node], fn: Callable[[Any], Any], first_only: bool) -> None:
        self.nodes, self.fn, self.first_only = nodes, fn, first_only
        self.lock = threading.Lock()
        self.current: Any = None
        self.found: list[Tensor | None] = []
        self.missing = 0

    def seen(self, index: int, grad: Tensor) -> None:
        with self.lock:
            if self.current is not modes.running:
                self.current = modes.running
                self.found = [None] * len(self.nodes)
                self.missing = 1 if self.first_only else sum(self.current.reaches(node) for node in self.nodes)
            self.found[index] = grad
            self.missing -= 1
            complete, found = self.missing == 0, self.found
            if complete:
                self.found = [None] * len(self.nodes)
        if complete:
            self.fn(grad if self.first_only else found)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
) -> _Handle:
    """Call ``fn`` in every backward pass that computes gradients of some of these tensors.

    Args:
        tensors: each requires grad.
        fn: with ``"all"`` gets a list with the gradient of each, ``None`` for those that the pass does not compute, when the
            last of them is there; with ``"any"`` the first gradient only.

    Returns:
        A handle whose ``remove()`` takes the hook away.

    Raises:
        ValueError: for another mode.
        AssertionError: for a tensor that does not require grad.

    Example:
        >>> import rlgrad
        >>> a, b, c = (rlgrad.ones(1, requires_grad=True) for _ in range(3))
        >>> with rlgrad.autograd.graph.register_multi_grad_hook((a, b, c), print):
        ...     (a * 2 + b * 3).backward()
        [tensor([2.]), tensor([3.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = []
    for index, tensor in enumerate(tensors):
        edge = edge_of(tensor)
        if edge is None:
            raise AssertionError(f"Expected gradient function to be set: tensors[{index}] does not require grad")
        nodes.append(edge)
    watch = _Watch(nodes, fn, mode == "any")
    handles = [
        tensor.register_hook(lambda grad, index=index: watch.seen(index, grad))  # type: ignore[misc]
        for index, tensor in enumerate(tensors)
    ]
    if handles:
        passes_watched.append(None)
    return _Handle(handles)
