"""From a registry entry to a function, a tensor method and its in-place form, with as little between as possible."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from rlgrad.autograd.graph import VIEW, next_sequence
from rlgrad.autograd.modes import inferring, modes, new_cell
from rlgrad.autograd.ops.inplace import inplace, write_out
from rlgrad.autograd.registry import REGISTRY, Op, Vjp, array_module, edge_of, trace
from rlgrad.autograd.tensor import Tensor, dim_error, wrap
from rlgrad.backend import dtypes

F = TypeVar("F", bound=Callable[..., Any])

_ndarray = np.ndarray
_NUMBERS = (int, float, np.number, np.bool_)
_new = object.__new__


def method(function: F) -> F:
    """Make a function of a tensor a method of tensors too."""
    setattr(Tensor, function.__name__, function)
    return function


def cast_to(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array in another dtype; itself when it has it."""
    return array if array.dtype is dtype else array.astype(dtype)


def finish(op: Op, tensors: Sequence[Any], arrays: Sequence[Any], edges: tuple[Any, ...], out: Any) -> Tensor:
    """Wrap and record an elementwise result whose operands may be Python numbers."""
    result = wrap(out)
    if modes.grad and any(edge is not None for edge in edges) and op.differentiable and out.dtype.kind == "f":
        numbers = tuple([i for i, t in enumerate(tensors) if not isinstance(t, Tensor)])
        plan = op.plan(tuple([i for i, edge in enumerate(edges) if edge is not None]), numbers)
        node = op.node()
        node.plan, node.edges, node.seq, node.hooks = plan, edges, next_sequence(), None
        node.shape, node.dtype = result._array.shape, result._array.dtype
        saved = plan.pick((*arrays, result._array))
        node.saved = saved + tuple([np.shape(arrays[i]) for i in plan.shapes]) if plan.shapes else saved
        node.cells = tuple([tensors[i]._cell if i < len(tensors) else result._cell for i in plan.tensors])
        node.versions = tuple([cell[0] for cell in node.cells])
        if modes.traced:
            trace(node)
        result._edge = node
    return result


def elementwise(op: Op, operands: Sequence[Any], kind: str) -> Tensor:
    """Apply an elementwise op to any mixture of tensors and numbers under PyTorch's type promotion.

    Args:
        kind: ``"same"`` computes in the promoted dtype, ``"float"`` in a floating one.
    """
    for operand in operands:
        if not isinstance(operand, (Tensor, bool, int, float, np.bool_, np.integer, np.floating)):
            if isinstance(operand, np.ndarray):  # as in PyTorch, arrays may stand beside tensors in Python's operators
                return elementwise(op, [wrap(x) if isinstance(x, np.ndarray) else x for x in operands], kind)
            raise TypeError(f"{op.name}(): expected a Tensor or a number, got {type(operand).__name__}")
    common = dtypes.result_type(*operands)
    if kind == "float" and not common.is_floating_point:
        common = dtypes.get_default_dtype()
    target = common.numpy
    if target.kind in op.refuses:
        raise _unsupported(op.name, common)
    tensors = [x for x in operands if isinstance(x, Tensor)]
    arrays, edges = [], []
    for x in operands:
        if isinstance(x, Tensor):
            arrays.append(cast_to(x._array, target))
            edges.append(edge_of(x))
        else:
            arrays.append(_number(x, target))
            edges.append(None)
    xp = np
    if any(a.__class__ is not _ndarray for a, x in zip(arrays, operands, strict=True) if isinstance(x, Tensor)):
        zero_d = [x for x in tensors if x._array.ndim == 0 and isinstance(x._array, _ndarray)]
        if zero_d:  # 0-d CPU tensors may meet CUDA tensors, as numbers do
            arrays = [a.item() if x in zero_d else a for a, x in zip(arrays, operands, strict=True)]
        xp = array_module(op, arrays)
    try:
        out = op.forward(xp, *arrays)
    except ValueError as error:
        shapes = [tuple(t.shape) for t in tensors]
        raise broadcast_error(op.name, shapes) if "broadcast" in str(error) else error from None
    except TypeError as error:
        if "ufunc" not in str(error) and "numpy boolean" not in str(error):
            raise
        raise _unsupported(op.name, common) from None
    return finish(op, operands, arrays, tuple(edges), np.asarray(out) if isinstance(out, np.generic) else out)


def require_floating(input: Tensor, name: str) -> Tensor:
    """``input``, which the function of that name takes only where it is of a floating dtype."""
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f'"{name}_kernel_impl" not implemented for {input.dtype!r}; convert it with .float()')
    return input


def _unsupported(name: str, dtype: dtypes.dtype) -> RuntimeError:
    if name == "neg":
        return RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )
    if name == "relu":
        return RuntimeError("Boolean inputs not supported for relu; convert the tensor first")
    return NotImplementedError(f"{name} is not implemented for {dtype!r}; convert the tensor first")


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number as the given dtype would hold it (out-of-range integers wrap, as in C)."""
    if dtype.kind in "iu" and not isinstance(value, (bool, np.bool_)):
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            return np.asarray(int(value) & (2**64 - 1), np.uint64).astype(dtype)
    return dtype.type(value) if dtype.kind == "b" else (float(value) if dtype.kind == "f" else int(value))


def broadcast_error(name: str, shapes: Sequence[tuple[int, ...]]) -> RuntimeError:
    """PyTorch's wording for operands whose shapes do not fit together."""
    text = f"{name}: shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast"
    if len(shapes) == 2:
        a, b = shapes
        ndim = max(len(a), len(b))
        a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
        for dim in reversed(range(ndim)):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                text = (
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim} ({name} of shapes {list(shapes[0])} and {list(shapes[1])})"
                )
                break
    return RuntimeError(text)


def binary(
    name: str,
    forward: Callable[..., Any] | str,
    vjps: Sequence[Vjp | None] | None = None,
    *,
    node: str = "",
    kind: str = "same",
    methods: bool = True,
    numbers: str = "either",
    refuses: str = "",
) -> Callable[..., Tensor]:
    """Register an elementwise op of two operands; the returned function has a fast path for float tensors of one dtype.

    Args:
        kind: ``"same"`` computes in the promoted dtype, ``"float"`` in a floating one.
        numbers: which operand may be a Python number: ``"both"``, ``"either"``, the ``"second"`` or ``"none"``.
        methods: also make ``Tensor.<name>`` and, for ops that keep the dtype, ``Tensor.<name>_``.
        refuses: kinds of dtype that it does not take, as for :class:`Op`.
    """
    op = Op(name, forward, vjps, node=node, inputs=2, refuses=refuses)
    ufunc = getattr(np, forward) if isinstance(forward, str) else functools.partial(op.forward, np)
    node_class, differentiable = op.node, op.differentiable
    first = second = both = number = None
    if differentiable:
        first, second, both, number = op.plan((0,)), op.plan((1,)), op.plan((0, 1)), op.plan((0,), (1,))

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return write_out(out, function(input, other))
        if not isinstance(input, Tensor):
            if numbers == "both" and isinstance(input, _NUMBERS) and isinstance(other, _NUMBERS):
                dtype = dtypes.result_type(input, other).numpy
                return function(wrap(np.asarray(input, dtype)), wrap(np.asarray(other, dtype)))
            if numbers not in ("either", "both") or not isinstance(other, Tensor):
                raise _needs_tensor(name, "input", input)
            return elementwise(op, (input, other), kind)
        a = input._array
        edge = input._edge
        if edge is VIEW:
            edge = input._view.edge(input)  # type: ignore[union-attr]
        if isinstance(other, Tensor):
            b = other._array
            if (
                a.dtype is not b.dtype
                or a.__class__ is not _ndarray
                or b.__class__ is not _ndarray
                or a.dtype.kind != "f"
            ):
                return elementwise(op, (input, other), kind)
            other_edge = other._edge
            if other_edge is VIEW:
                other_edge = other._view.edge(other)  # type: ignore[union-attr]
            if edge is None:
                plan = second
            else:
                plan = first if other_edge is None else both
        else:
            if numbers == "none":
                raise _needs_tensor(name, "other", other)
            if a.dtype.kind != "f" or (other.__class__ is not float and other.__class__ is not int):
                return elementwise(op, (input, other), kind)
            if a.__class__ is not _ndarray:
                return elementwise(op, (input, other), kind)
            b = other
            other_edge = None
            plan = number
        try:
            result = ufunc(a, b)
        except ValueError:
            raise broadcast_error(name, (a.shape, b.shape)) from None
        except TypeError:
            return elementwise(op, (input, other), kind)  # says which dtypes it has
        if result.__class__ is not _ndarray:
            result = np.asarray(result)
        tensor = _new(Tensor)
        tensor._array = result
        tensor._cell = cell = [0]
        tensor._view = tensor._extra = None
        if (edge is None and other_edge is None) or not differentiable or not modes.grad:
            if inferring:
                tensor._cell = new_cell()
            tensor._edge = None
            return tensor
        tensor._edge = node = node_class()
        node.plan = plan
        node.edges = (edge, other_edge)
        node.seq = next_sequence()
        node.hooks = None
        node.shape = result.shape
        node.dtype = result.dtype
        node.saved = plan.pick((a, b, result))  # type: ignore[union-attr]
        if plan.shapes:  # type: ignore[union-attr]
            node.saved += tuple([(a, b)[i].shape for i in plan.shapes])  # type: ignore[operator,union-attr]
        tensors = plan.tensors  # type: ignore[union-attr]
        if not tensors:
            node.cells = node.versions = ()
        elif tensors == (1,):
            node.cells = (other._cell,)
            node.versions = (other._cell[0],)
        elif tensors == (0,):
            node.cells = (input._cell,)
            node.versions = (input._cell[0],)
        else:
            cells = (input._cell, other._cell if isinstance(other, Tensor) else cell, cell)
            node.cells = tuple([cells[i] for i in tensors])
            node.versions = tuple([c[0] for c in node.cells])
        if modes.traced:
            trace(node)
        return tensor

    return _named(function, name, methods, methods)


def _needs_tensor(name: str, argument: str, given: Any) -> TypeError:
    return TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(given).__name__}")


def tensors_only(name: str, *operands: Any) -> None:
    """Refuse numbers where PyTorch takes tensors only."""
    for operand in operands:
        if not isinstance(operand, Tensor):
            raise _needs_tensor(name, "input", operand)


def unary(
    name: str,
    forward: Callable[..., Any] | str,
    vjp: Vjp | None = None,
    *,
    node: str = "",
    kind: str = "float",
    methods: bool = True,
    in_place: bool = True,
    refuses: str = "",
) -> Callable[..., Tensor]:
    """Register an elementwise op of one operand.

    Args:
        kind: ``"float"`` converts integers to the default dtype first, ``"same"`` keeps every dtype.
        refuses: kinds of dtype that it does not take, as for :class:`Op`.
    """
    op = Op(name, forward, None if vjp is None else (vjp,), node=node, inputs=1, refuses=refuses)
    ufunc = getattr(np, forward) if isinstance(forward, str) else functools.partial(op.forward, np)
    exact = kind == "same" and forward != "square"
    node_class = op.node
    plan = None if vjp is None else op.plan((0,))
    saves_input = plan is not None and plan.tensors == (0,)
    saves_output = plan is not None and plan.tensors == (1,)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return write_out(out, function(input), exact)
        if not isinstance(input, Tensor):
            raise _needs_tensor(name, "input", input)
        a = input._array
        if a.__class__ is not _ndarray or a.dtype.kind != "f":
            return elementwise(op, (input,), kind)
        edge = input._edge
        if edge is VIEW:
            edge = input._view.edge(input)  # type: ignore[union-attr]
        result = ufunc(a)
        if result.__class__ is not _ndarray:
            result = np.asarray(result)
        tensor = _new(Tensor)
        tensor._array = result
        tensor._cell = cell = [0]
        tensor._view = tensor._extra = None
        if edge is None or plan is None or not modes.grad:
            if inferring:
                tensor._cell = new_cell()
            tensor._edge = None
            return tensor
        tensor._edge = node = node_class()
        node.plan = plan
        node.edges = (edge,)
        node.seq = next_sequence()
        node.hooks = None
        node.shape = result.shape
        node.dtype = result.dtype
        node.saved = plan.pick((a, result))
        if saves_output:
            node.cells = (cell,)
            node.versions = (0,)
        elif saves_input:
            node.cells = (input._cell,)
            node.versions = (input._cell[0],)
        elif plan.tensors:
            node.cells = (input._cell, cell)
            node.versions = (input._cell[0], 0)
        else:
            node.cells = node.versions = ()
        if plan.shapes:
            node.saved += (a.shape,)
        if modes.traced:
            trace(node)
        return tensor

    return _named(function, name, methods, methods and in_place)


def _named(function: Callable[..., Tensor], name: str, methods: bool, in_place: bool) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.from_registry = True  # type: ignore[attr-defined]
    REGISTRY[name].function = function
    function.__doc__ = f"PyTorch's ``{name}``, element by element."
    if methods:
        setattr(Tensor, name, function)
    if in_place:
        inplace(function)
    return function


def one_dim(dim: int, ndim: int) -> int:
    """A dimension as a non-negative index, or PyTorch's error."""
    size = ndim or 1
    if not -size <= dim < size:
        raise dim_error(dim, ndim)
    return dim % size


def many_dims(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """An optional dimension or several as non-negative indices; ``None`` (or an empty list) is all of them."""
    if dim is None:
        return None
    if isinstance(dim, int):
        return (one_dim(dim, ndim),) if ndim else _no_dims(dim)
    if not isinstance(dim, (tuple, list)):
        return many_dims(index(dim), ndim)
    dims = tuple([one_dim(index(d), ndim) for d in dim])
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    return (dims or None) if ndim else None


def numpy_names(function: F) -> F:
    """Let a function take ``axis`` and ``keepdims``, NumPy's names for ``dim`` and ``keepdim``, as PyTorch's do."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for name, theirs in (("dim", "axis"), ("keepdim", "keepdims")):
                if theirs in kwargs:
                    kwargs[name] = kwargs.pop(theirs)
        return function(*args, **kwargs)

    return cast(F, call)


def spread(ns: Any, g: Any, shape: tuple[int, ...], dims: Any, keepdim: bool) -> Any:
    """Give a reduction's gradient the rank of its input again, so that it broadcasts against it."""
    if not keepdim and dims is not None and shape:
        g = ns.reshape(g, tuple([1 if i in dims else n for i, n in enumerate(shape)]))
    return g


def _no_dims(dim: int) -> tuple[int, ...] | None:
    one_dim(dim, 0)
    return None


def public(namespace: dict[str, Any], internal: Sequence[str] = ()) -> list[str]:
    """The functions that a family of ops offers to users: those it defines or makes from registry entries.

    Args:
        namespace: the module's globals.
        internal: names that other modules of the engine use, but no user does.
    """
    return [
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and name not in internal
        and isinstance(value, FunctionType)
        and (value.__module__ == namespace["__name__"] or hasattr(value, "from_registry"))
    ]
