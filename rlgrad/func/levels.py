"""What the transforms of functions share: inputs that only the transform differentiates, and results cut free of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rlgrad.autograd.functional import _grads
from rlgrad.autograd.graph import LeafNode, Node
from rlgrad.autograd.modes import is_grad_enabled
from rlgrad.autograd.registry import edge_of
from rlgrad.autograd.tensor import Tensor
from rlgrad.func.trees import Structure, flatten

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def _leads_elsewhere(tensor: Tensor, hidden: set[Node]) -> bool:
    """Whether the tensor's graph leads to a leaf other than the hidden ones."""
    edge = edge_of(tensor)
    nodes = [] if edge is None else [edge]
    seen = set(nodes)
    for node in nodes:  # grows while it is read
        if isinstance(node, LeafNode) and node not in hidden:
            return True
        for following in node.edges:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
    return False


class Level:
    """One transform at work: tensors that stand for its inputs inside the function, and the way out again.

    An input that requires grad outside stays connected with it, so that transforms nest and their results can be
    differentiated by ``backward`` too; for any other a leaf is made that nobody sees. What comes out requires grad only
    where it depends on something outside that does.
    """

    def __init__(self) -> None:
        self.recorded = is_grad_enabled()
        self._hidden: set[Node] = set()

    def enter(self, values: Any, function: str) -> tuple[Any, list[Tensor], Structure]:
        """Tensors, nested as the given ones are, to differentiate with respect to; also as a list.

        Raises:
            ValueError: for a leaf that is no tensor.
            RuntimeError: for a tensor of integers.
        """
        leaves, structure = flatten(values)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ValueError(
                    f"{function}: can only differentiate with respect to tensors, got {type(leaf).__name__}"
                )
        inner = [self._stand_in(leaf) for leaf in leaves]
        return structure.build(inner), inner, structure

    def _stand_in(self, tensor: Tensor) -> Tensor:
        if self.recorded and tensor.requires_grad:
            return tensor.view_as(tensor)
        return self.hide(tensor.detach().requires_grad_())

    def hide(self, leaf: Tensor) -> Tensor:
        """Remember a leaf that results are not to depend on once they are outside."""
        self._hidden.add(leaf._edge)
        return leaf

    def attached(self, tensors: Iterable[Tensor]) -> bool:
        """Whether something outside may want derivatives of what is computed from these tensors."""
        return self.recorded and any(_leads_elsewhere(tensor, self._hidden) for tensor in tensors)

    def leave(self, value: Any) -> Any:
        """The value with its tensors cut off from what is hidden, unless they depend on something outside too."""
        leaves, structure = flatten(value)
        return structure.build([self._released(x) if isinstance(x, Tensor) else x for x in leaves])

    def _released(self, tensor: Tensor) -> Tensor:
        return tensor if not tensor.requires_grad or self.attached([tensor]) else tensor.detach()


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor | None],
    create_graph: bool,
    retain_graph: bool = True,
) -> list[Tensor]:
    """Gradients with zeros for inputs that nothing depends on."""
    return list(_grads(outputs, inputs, vectors, False, create_graph, retain_graph=retain_graph)) if inputs else []


def chosen(args: tuple[Any, ...], argnums: Argnums, function: str) -> tuple[int, ...]:
    """The positions of the arguments to differentiate, checked.

    Raises:
        RuntimeError: for positions that there are not, or that come twice.
    """
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    if not given or any(not isinstance(n, int) for n in given):
        raise RuntimeError(f"{function}: argnums must be an int or a non-empty tuple of ints, got {argnums!r}")
    for n in given:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"{function}: Got argnum={n}, but only {len(args)} positional inputs")
    positions = tuple([n % len(args) for n in given])
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"{function}: argnums elements must be unique, got {argnums}")
    return positions


def replaced(args: tuple[Any, ...], positions: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with others at some positions."""
    table = dict(zip(positions, values, strict=True))
    return tuple([table.get(i, x) for i, x in enumerate(args)])


def without_aux(output: Any, has_aux: bool, function: str) -> tuple[Any, Any]:
    """What a function returned to be differentiated, and what beside it."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{function}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def floating_outputs(output: Any, function: str) -> tuple[list[Tensor], Structure]:
    """The tensors of a function's output, checked."""
    leaves, structure = flatten(output)
    if not leaves:
        raise RuntimeError(f"{function}: Expected f to be a function that has non-empty output (got output = {output})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{function}: Expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
        if not leaf.is_floating_point():
            raise RuntimeError(
                f"{function}: All outputs of f must be floating-point Tensors, got one of {leaf.dtype!r}"
            )
    return leaves, structure
