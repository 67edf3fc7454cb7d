"""From a registry entry to a function, a tensor method and its in-place form, with as little between as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from rlgrad.autograd.graph import FREED, VIEW, LeafNode, Node, next_sequence
from rlgrad.autograd.modes import inference_write_error, inferring, modes, new_cell
from rlgrad.autograd.registry import REGISTRY, Op, Vjp, array_module, edge_of, trace
from rlgrad.autograd.tensor import Tensor, dim_error, wrap
from rlgrad.backend import dtypes

F = TypeVar("F", bound=Callable[..., Any])

_ndarray = np.ndarray
_new = object.__new__


def method(function: F) -> F:
    """Make a function of a tensor a method of tensors too."""
    setattr(Tensor, function.__name__, function)
    return function


def inplace(function: Callable[..., Any], name: str | None = None) -> Callable[..., Tensor]:
    """Give tensors the form of ``function`` that writes its result into the first argument."""

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_inplace(self)
        return assign(self, function(self, *args, **kwargs))

    call.__name__ = name or function.__name__ + "_"
    call.__doc__ = f"In-place form of :func:`{function.__name__}`."
    setattr(Tensor, call.__name__, call)
    return call


def check_inplace(tensor: Tensor) -> None:
    """Refuse to overwrite what the graph needs as it is."""
    if tensor._cell.__class__ is not list and not modes.inference:
        raise inference_write_error()
    if not modes.grad:
        return
    view = tensor._view
    if isinstance(edge_of(tensor), LeafNode):
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Wrap the operation in "
            "torch.no_grad() if it is an update that gradients should not see, or work on a .clone()."
        )
    if view is not None:
        if isinstance(view.base._edge, LeafNode):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. Wrap the operation in "
                "torch.no_grad(), or take the view of a .clone()."
            )
        if view.base._edge is not None:
            if not view.tracked:
                raise RuntimeError(
                    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Create the "
                    "view where it is modified, or detach() it."
                )
            if any(output is not None for _, _, output in view.chain):
                raise RuntimeError(
                    "Output of a function that returns multiple views is a view and is being modified inplace. Such a "
                    "view cannot be modified inplace; use indexing or narrow() instead, or clone() it."
                )


def assign(target: Tensor, result: Tensor) -> Tensor:
    """Write ``result`` into ``target``'s memory and give ``target`` its history."""
    array, value = target._array, result._array
    if value.shape != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(value.shape)}; an in-place "
            "operation cannot change a tensor's shape"
        )
    if value.dtype is not array.dtype:
        if not dtypes.can_cast(result.dtype, target.dtype):
            raise RuntimeError(
                f"result type {result.dtype!r} can't be cast to the desired output type {target.dtype!r}; convert the "
                "target first or compute out of place"
            )
        result = result.to(target.dtype)
    if modes.grad:
        edge = edge_of(result)
        view = target._view
        if edge is not None or view is not None:
            _move_history(target, result, edge)
            return target
        target._edge = None
    _store(array, result._array)
    target._cell[0] += 1
    return target


def _store(array: Any, value: Any) -> None:
    if array.__class__ is _ndarray:
        if not array.flags.writeable:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )
        np.copyto(array, value, casting="unsafe")
    else:
        array[...] = value


def _move_history(target: Tensor, result: Tensor, edge: Node | None) -> None:
    array = target._array
    node = None if edge is None else edge
    saved_output = []
    if node is not None and node.plan is not None and node.saved is not FREED:
        saved, cells = list(node.saved), list(node.cells)
        for position in range(len(node.plan.tensors)):
            if saved[position] is result._array:  # the output: it lives in the target's memory from now on
                saved[position], cells[position] = array, target._cell
                saved_output.append(position)
            elif saved[position] is array:  # the input as it was
                saved[position], cells[position] = array.copy(), [0]
        node.saved, node.cells = tuple(saved), tuple(cells)
    if modes.traced and node is not None:
        from rlgrad.autograd.saved import protect

        protect(node, array)
    _store(array, result._array)
    target._cell[0] += 1
    if node is not None:
        node.versions = tuple([cell[0] for cell in node.cells])
    view = target._view
    if view is None:
        target._edge = edge
    elif view.base._edge is not None or edge is not None:
        _rebase(target, edge)


def _rebase(target: Tensor, edge: Node | None) -> None:
    """Let the base of a view that was written to know where its new elements came from (PyTorch's CopySlices)."""
    from rlgrad.autograd.ops.shape import view_scatter

    view = target._view
    assert view is not None
    base = view.base
    base_edge = edge_of(base)
    node = _new(view_scatter.node)
    node.plan = view_scatter.plan(tuple(i for i, e in enumerate((base_edge, edge)) if e is not None))
    node.edges = (base_edge, edge)
    node.seq, node.hooks = next_sequence(), None
    node.shape, node.dtype = base._array.shape, base._array.dtype
    node.saved = node.plan.pick((base._array, target._array, view.chain, None))
    node.saved += tuple([(base, target)[i]._array.shape for i in node.plan.shapes])
    node.cells = node.versions = ()
    base._edge = node


def maybe_inplace(target: Tensor, result: Tensor, wanted: bool) -> Tensor:
    """Serve an ``inplace=`` argument: write the result into ``target`` if wanted."""
    if not wanted:
        return result
    check_inplace(target)
    return assign(target, result)


def write_out(out: Tensor, result: Tensor) -> Tensor:
    """Serve an ``out=`` argument: write into it, resizing an empty one."""
    if out.requires_grad or result.requires_grad:
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
    if out._array.shape != result._array.shape:
        out._array = out._array.__class__(result._array.shape, out._array.dtype)
    return assign(out, result)


def cast_to(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array in another dtype; itself when it has it."""
    return array if array.dtype is dtype else array.astype(dtype)


def finish(op: Op, tensors: Sequence[Any], arrays: Sequence[Any], edges: tuple[Any, ...], out: Any) -> Tensor:
    """Wrap and record an elementwise result whose operands may be Python numbers."""
    result = wrap(out)
    if modes.grad and any(edge is not None for edge in edges) and op.differentiable and out.dtype.kind == "f":
        numbers = tuple([i for i, t in enumerate(tensors) if not isinstance(t, Tensor)])
        plan = op.plan(tuple([i for i, edge in enumerate(edges) if edge is not None]), numbers)
        node = _new(op.node)
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


def _unsupported(name: str, dtype: dtypes.dtype) -> RuntimeError:
    if name == "neg":
        return RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )
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
) -> Callable[..., Tensor]:
    """Register an elementwise op of two operands; the returned function has a fast path for float tensors of one dtype.

    Args:
        kind: ``"same"`` computes in the promoted dtype, ``"float"`` in a floating one.
        numbers: which operand may be a Python number: ``"either"``, the ``"second"`` or ``"none"``.
        methods: also make ``Tensor.<name>`` and, for ops that keep the dtype, ``Tensor.<name>_``.
    """
    op = Op(name, forward, vjps, node=node, inputs=2)
    ufunc = getattr(np, forward) if isinstance(forward, str) else lambda a, b: op.forward(np, a, b)
    node_class, differentiable = op.node, op.differentiable
    first = second = both = number = None
    if differentiable:
        first, second, both, number = op.plan((0,)), op.plan((1,)), op.plan((0, 1)), op.plan((0,), (1,))

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return write_out(out, function(input, other))
        if not isinstance(input, Tensor):
            if numbers != "either" or not isinstance(other, Tensor):
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
        tensor._edge = node = _new(node_class)
        node.plan = plan
        node.edges = (edge, other_edge)
        node.seq = next_sequence()
        node.hooks = None
        node.shape = result.shape
        node.dtype = result.dtype
        node.saved = plan.pick((a, b, result))  # type: ignore[union-attr]
        if plan.shapes:  # type: ignore[union-attr]
            node.saved += tuple([(a, b)[i].shape for i in plan.shapes])  # type: ignore[union-attr]
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


def unary(
    name: str,
    forward: Callable[..., Any] | str,
    vjp: Vjp | None = None,
    *,
    node: str = "",
    kind: str = "float",
    methods: bool = True,
    in_place: bool = True,
) -> Callable[..., Tensor]:
    """Register an elementwise op of one operand.

    Args:
        kind: ``"float"`` converts integers to the default dtype first, ``"same"`` keeps every dtype.
    """
    op = Op(name, forward, None if vjp is None else (vjp,), node=node, inputs=1)
    ufunc = getattr(np, forward) if isinstance(forward, str) else lambda a: op.forward(np, a)
    node_class = op.node
    plan = None if vjp is None else op.plan((0,))
    saves_input = plan is not None and plan.tensors == (0,)
    saves_output = plan is not None and plan.tensors == (1,)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return write_out(out, function(input))
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
        tensor._edge = node = _new(node_class)
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
    dims = tuple([one_dim(int(d), ndim) for d in dim])
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    return (dims or None) if ndim else None


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
