"""User-defined differentiable functions."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.graph import FREED, LeafNode, Node, OutputOf, check_saved, freed_error, next_sequence
from rlgrad.autograd.modes import modes, no_grad
from rlgrad.autograd.registry import edge_of, trace
from rlgrad.autograd.saved import Packed
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


class FunctionCtx(Node):
    """The ``ctx`` that ``forward`` and ``backward`` share; it is the recorded node as well.

    Anything may be stored as an attribute; tensors that backward needs belong in :meth:`save_for_backward`, which
    notices in-place changes and makes no reference cycle.
    """

    function: type[Function]
    needs_input_grad: tuple[bool, ...]

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def __init__(self) -> None:
        self.plan, self.edges, self.saved, self.cells, self.versions = None, (), (), (), ()
        self.seq, self.hooks = next_sequence(), None
        self.shape, self.dtype = (), np.dtype(np.float32)
        self._to_save: tuple[Tensor | None, ...] = ()
        self._sources: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constants: tuple[Tensor, ...] = ()
        self._materialize = True
        self._outputs: list[tuple[tuple[int, ...], Any]] = []
        self._single = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs of ``forward`` for ``backward``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}; store other "
                    "objects as attributes of ctx"
                )
        self._to_save = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to :meth:`save_for_backward`, in their order."""
        values = check_saved(self)
        result: list[Tensor | None] = []
        for array, cell, source in zip(values, self.cells, self._sources, strict=True):
            if array is None:
                result.append(None)
                continue
            if array.__class__ is Packed:
                array = array.open()
            tensor = wrap(array)
            tensor._cell = cell
            if isinstance(source, int):
                tensor._edge = self if self._single else OutputOf(self, source, array.shape, array.dtype)
            else:
                tensor._edge = source
            result.append(tensor)
        return tuple(result)

    saved_variables = saved_tensors

    def source(self, position: int) -> Node | None:
        source = self._sources[position]
        return self if isinstance(source, int) else source

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare inputs that ``forward`` modified in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self._constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients reach ``backward`` as zeros (the default) or as ``None``."""
        self._materialize = value

    def run(self, ns: Any, grad: Any, wanted: Sequence[bool]) -> Sequence[Any]:
        if self.saved is FREED:
            raise freed_error(self)
        recorded = ns.recorded
        grads = {0: grad} if self._single else grad
        arguments: list[Any] = []
        for index, (shape, dtype) in enumerate(self._outputs):
            value = grads.get(index)
            if value is None and self._materialize:
                some = next(iter(grads.values()))
                like = some._array if recorded else some
                value = module_of(like).zeros(shape, dtype)
                value = wrap(value) if recorded else value
            arguments.append(value if recorded or value is None else wrap(value))
        with contextlib.nullcontext() if recorded else no_grad():
            results = self.function.backward(self, *arguments)
        results = results if isinstance(results, tuple) else (results,)
        if len(results) > len(self.edges) and all(r is None for r in results[len(self.edges) :]):
            results = results[: len(self.edges)]
        if len(results) != len(self.edges):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(self.edges)}, got "
                f"{len(results)})"
            )
        for position, result in enumerate(results):
            if result is not None and not isinstance(result, Tensor):
                raise RuntimeError(
                    f"function {self.name()} returned a {type(result).__name__} as gradient {position}; expected a Tensor or None"
                )
        return results if recorded else [None if r is None else r._array for r in results]


class Function:
    """A differentiable operation with its own backward: subclass, define both static methods, call :meth:`apply`.

    Example:
        >>> import rlgrad
        >>> class Exp(rlgrad.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, i):
        ...         result = i.exp()
        ...         ctx.save_for_backward(result)
        ...         return result
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         (result,) = ctx.saved_tensors
        ...         return grad_output * result
        >>> x = rlgrad.zeros(1, requires_grad=True)
        >>> Exp.apply(x).backward()
        >>> x.grad
        tensor([1.])
    """

    _ctx_class: type[FunctionCtx] = FunctionCtx

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke them on the class itself: call {type(self).__name__}.apply(...)"
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._ctx_class = type(cls.__name__ + "Backward", (FunctionCtx,), {"function": cls})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; the first argument is ``ctx`` unless :meth:`setup_context` is defined."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, when ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """Return a gradient (or ``None``) for every argument of ``forward``."""
        raise NotImplementedError("You must implement the backward function to use your custom autograd.Function.")

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record it."""
        ctx = cls._ctx_class()
        edges = tuple([edge_of(a) if isinstance(a, Tensor) else None for a in args])
        recording = modes.grad and any(edge is not None for edge in edges)
        ctx.needs_input_grad = tuple([edge is not None for edge in edges])
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        outputs = output if isinstance(output, tuple) else (output,)
        results = _attach(ctx, args, edges, outputs, recording, isinstance(output, tuple))
        return tuple(results) if isinstance(output, tuple) else results[0]


def _attach(
    ctx: FunctionCtx, args: tuple[Any, ...], edges: Any, outputs: tuple[Any, ...], recording: bool, many: bool
) -> list[Any]:
    """Make the outputs of ``forward`` the outputs of its node."""
    saved = ctx._to_save
    ctx._single = not many
    results: list[Any] = []
    identities: dict[int, int] = {}
    for index, value in enumerate(outputs):
        if not isinstance(value, Tensor):
            results.append(value)
            ctx._outputs.append(((), np.dtype(np.float32)))
            continue
        identities[id(value)] = index
        dirty = any(value is d for d in ctx._dirty)
        result = value
        if any(value is a for a in args) and not dirty:
            result = wrap(value._array)  # an input returned as it is: a view of it in PyTorch
            result._cell = value._cell
        ctx._outputs.append((value._array.shape, value._array.dtype))
        constant = any(value is c for c in ctx._constants) or value._array.dtype.kind != "f"
        if dirty and recording and value._edge.__class__ is LeafNode:
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation: forward() marked it dirty. Give "
                "apply() a .clone() of it."
            )
        if recording and not constant:
            edge: Node = OutputOf(ctx, index, value._array.shape, value._array.dtype) if many else ctx
            if dirty and result._view is not None:
                from rlgrad.autograd.ops.inplace import rebase

                result._cell[0] += 1
                rebase(result, edge)
            else:
                if dirty:
                    result._cell[0] += 1
                result._edge = edge
        results.append(result)
    ctx.shape, ctx.dtype = ctx._outputs[0] if ctx._outputs else ((), np.dtype(np.float32))
    ctx._to_save = ctx._dirty = ctx._constants = ()
    if recording:
        ctx.edges = edges
        sources: list[Any] = []
        for tensor in saved:
            if tensor is None:
                sources.append(None)
            elif id(tensor) in identities and not any(tensor is a for a in args):
                sources.append(identities[id(tensor)])
            else:
                position = next((i for i, a in enumerate(args) if a is tensor), None)
                sources.append(edge_of(tensor) if position is None else edges[position])
        ctx._sources = tuple(sources)
        ctx.saved = tuple([None if t is None else t._array for t in saved])
        ctx.cells = tuple([[0] if t is None else t._cell for t in saved])
        ctx.versions = tuple([cell[0] for cell in ctx.cells])
        if modes.traced:
            trace(ctx)
    return results


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot be differentiated itself: asking for that raises instead of being wrong."""

    @functools.wraps(function)
    def wrapped(ctx: FunctionCtx, *grads: Any) -> Any:
        recording = modes.grad
        with no_grad():
            results = function(ctx, *grads)
        if not recording or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return results
        several = results if isinstance(results, tuple) else (results,)
        marked = tuple([_Refuse.apply(r, *grads) if isinstance(r, Tensor) else r for r in several])
        return marked if isinstance(results, tuple) else marked[0]

    return wrapped


class _Refuse(Function):
    @staticmethod
    def forward(ctx: Any, result: Any, *grads: Any) -> Any:
        return result.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
