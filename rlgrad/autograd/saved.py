"""What a graph keeps of its tensors: hooks that pack and unpack it, and the edges and nodes it consists of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rlgrad.autograd.graph import FREED, LeafNode, Node, OutputOf
from rlgrad.autograd.modes import InferenceCell, modes, no_grad
from rlgrad.autograd.tensor import Tensor, wrap

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class Packed:
    """Stands in a node's saved values for a tensor that a pack hook took."""

    __slots__ = ("unpack", "value")

    def __init__(self, value: Any, unpack: Unpack) -> None:
        self.value, self.unpack = value, unpack

    def open(self) -> Any:
        """The raw array that the unpack hook gives back."""
        with no_grad():
            tensor = self.unpack(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}"
            )
        return tensor._array


class _PackedNode:
    """Mixed into the class of a node whose saved tensors went through hooks; ``saved`` is its plan and the values."""

    __slots__ = ()

    def run(self: Any, ns: Any, grad: Any, wanted: Sequence[bool]) -> Sequence[Any]:
        from rlgrad.autograd.walk import saved_as_tensors

        plan, packed, cells = self.saved
        saved = [value.open() if value.__class__ is Packed else value for value in packed]
        if ns.recorded:
            saved = saved_as_tensors(self, plan, saved, cells)
        if plan.joint is not None:
            return plan.joint(ns, grad, wanted, *saved)
        results: list[Any] = [None] * len(self.edges)
        for index, vjp, pick in plan.calls:
            if wanted[index]:
                results[index] = vjp(ns, grad, *(saved if pick is None else pick(saved)))
        return results


@functools.cache
def _packed_class(kind: Any) -> type[Node]:
    return type(kind.__name__, (_PackedNode, kind), {"__slots__": (), "__module__": kind.__module__})


def _pack_array(array: Any, hooks: tuple[Pack, Unpack]) -> Packed:
    tensor = wrap(array)
    with no_grad():
        value = hooks[0](tensor)
    if tensor._cell[0] != 0:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need "
            "to perform in-place operations on the input to a pack hook."
        )
    return Packed(value, hooks[1])


def pack(node: Node) -> None:
    """Pass what a node saved through the innermost hooks."""
    hooks, plan = modes.pack_hooks[-1], node.plan
    count = len(node.cells)
    if not count or node.saved is FREED:
        return
    packed = tuple([_pack_array(a, hooks) if i < count and a is not None else a for i, a in enumerate(node.saved)])
    if plan is None:
        node.saved = packed
        node.cells, node.versions = tuple([[0] for _ in packed]), (0,) * count
    else:
        node.saved = (plan, packed, tuple([[0] for _ in range(count)]))
        node.cells = node.versions = ()
        node.plan = None
        kind: Any = type(node)
        node.__class__ = _packed_class(kind)


def packed_like(node: Node, kind: Any) -> type[Node]:
    """The class for a node of another kind whose saved tensors went through hooks if those of ``node`` did."""
    return _packed_class(kind) if isinstance(node, _PackedNode) else kind


def protect(node: Node, array: Any) -> None:
    """Before memory is written in place: copy it where a hook kept the tensor as it was."""
    if not isinstance(node, _PackedNode) or node.saved is FREED:
        return
    for value in node.saved[1]:
        if value.__class__ is Packed and isinstance(value.value, Tensor) and value.value._array is array:
            value.value = wrap(array.copy())


class saved_tensors_hooks:
    """Pass every tensor that operations save for backward through ``pack_hook``, and back through ``unpack_hook``.

    Args:
        pack_hook: takes the tensor that is to be saved, returns anything.
        unpack_hook: takes what ``pack_hook`` returned, returns a tensor of the same values.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.tensor(3.0, requires_grad=True)
        >>> with rlgrad.autograd.graph.saved_tensors_hooks(lambda t: t.item(), rlgrad.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if modes.hooks_disabled is not None:
            raise RuntimeError(modes.hooks_disabled)
        modes.pack_hooks = (*modes.pack_hooks, (self.pack_hook, self.unpack_hook))
        modes.traced = True

    def __exit__(self, *exc: object) -> None:
        modes.pack_hooks = modes.pack_hooks[:-1]
        modes.traced = modes.anomaly or bool(modes.pack_hooks)


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in the CPU's memory, and copy it back when backward needs it.

    Args:
        pin_memory: accepted as in PyTorch; copies are synchronous here, so that pinning would not help.
        device_type: accepted as in PyTorch.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """Refuse :class:`saved_tensors_hooks` inside the block.

    Args:
        error_message: what the error says.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if modes.pack_hooks:
            raise RuntimeError(self.error_message)
        self._outer, modes.hooks_disabled = modes.hooks_disabled, self.error_message

    def __exit__(self, *exc: object) -> None:
        modes.hooks_disabled = self._outer

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with disable_saved_tensors_hooks(self.error_message):
                return function(*args, **kwargs)

        return wrapped


class GradientEdge(NamedTuple):
    """Where a tensor's gradient arrives; stands for the tensor in ``grad(inputs=...)`` and keeps no values alive.

    Attributes:
        node: the node, as ``grad_fn`` gives it, or the leaf's.
        output_nr: which of the node's outputs.
        ownership_token: keeps the graph alive.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that a tensor's gradient flows along."""
    from rlgrad.autograd.registry import edge_of

    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if isinstance(edge, OutputOf):
        return GradientEdge(edge.edges[0], edge.index, edge)  # type: ignore[arg-type]
    return GradientEdge(edge, 0, edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor's memory was changed by something that autograd did not see."""
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if one._cell.__class__ is InferenceCell:
            raise RuntimeError("Inference tensors do not track version counter.")
        one._cell[0] += 1


def nodes(root: Tensor | Node | Iterable[Tensor | Node]) -> Iterator[Node]:
    """Every node that a tensor's gradient passes through, leaves included, each before those it leads to.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.ones(2, requires_grad=True)
        >>> [node.name() for node in rlgrad.autograd.graph.nodes((x * 2).sum())]
        ['SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    from rlgrad.autograd.registry import edge_of

    given = [root] if isinstance(root, (Tensor, Node)) else list(root)
    starts = [edge_of(one) if isinstance(one, Tensor) else one for one in given]
    found: dict[Node, None] = dict.fromkeys(node for node in starts if node is not None)
    order = list(found)
    for node in order:  # grows while it is read
        for edge in node.edges:
            if edge is not None and edge not in found:
                found[edge] = None
                order.append(edge)
    order.sort(key=lambda node: -node.seq)
    return iter([node for node in order if not isinstance(node, OutputOf)])


def leaves(root: Tensor | Node) -> list[Tensor]:
    """The leaf tensors that a graph leads to."""
    tensors = [node.leaf() for node in nodes(root) if isinstance(node, LeafNode)]
    return [tensor for tensor in tensors if tensor is not None]
