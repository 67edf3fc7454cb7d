"""What operations that overwrite part of a tensor share: a copying form, a form in place, and how both are recorded."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.graph import VIEW, Node, OutputOf
from rlgrad.autograd.modes import modes
from rlgrad.autograd.ops.inplace import check_inplace, check_memory, check_overlap, overlap_fault, rebase, repeats
from rlgrad.autograd.ops.places import broadcast, flat_places
from rlgrad.autograd.registry import Op, Vjp, apply, edge_of, record
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.determinism import are_deterministic_algorithms_enabled
from rlgrad.backend.devices import module_of, to_host

_WRITERS: dict[str, Callable[..., None]] = {}


def writing(
    name: str, write: Callable[..., None], vjps: Sequence[Vjp | None], *, node: str = "", inputs: int = 1
) -> Op:
    """Register an op whose result is its first input with some elements overwritten by ``write(xp, a, ...)``.

    Its derivatives may save neither that input nor the output, which allows to write in place without a copy.
    """
    op = Op(name, write, vjps, node=node, inputs=inputs)

    def forward(xp: Any, a: Any, *rest: Any) -> Any:
        out = xp.asarray(a).copy()
        write(xp, out, *rest)
        return out

    op.forward = forward
    _WRITERS[name] = write
    return op


def write_in_place(op: Op, target: Tensor, others: Sequence[Tensor], attributes: tuple[Any, ...]) -> Tensor:
    """Run a :func:`writing` op on the memory of ``target`` and record it there."""
    check_inplace(target)
    array = target._array
    if isinstance(array, np.ndarray) and not (op.name == "index_put" and _repeats_with_a_warning(array)):
        check_memory(array)
    for other in others:
        if other is target and op.name != "masked_scatter":
            raise overlap_fault()
        check_overlap(array, other._array, False)
    edges = (edge_of(target), *[edge_of(other) for other in others])
    xp = module_of(array)
    arrays = [o._array.copy() if xp.may_share_memory(o._array, array) else o._array for o in others]
    _WRITERS[op.name](xp, array, *arrays, *attributes)
    target._cell[0] += 1
    if not modes.grad:
        return target
    edge = None
    if any(e is not None for e in edges):
        plan = op.plan(tuple([i for i, e in enumerate(edges) if e is not None]))
        tensors = (target, *others)
        edge = record(op, plan, tensors, (array, *arrays), edges, [t._cell for t in tensors], attributes, array)._edge
    view = target._view
    if view is None:
        target._edge = edge
    elif view.base._edge is not None or edge is not None:
        rebase(target, edge)
    return target


def _repeats_with_a_warning(array: np.ndarray) -> bool:
    """Whether elements lie on top of one another, which PyTorch lets pass where they are written by index."""
    if not array.flags.writeable or not repeats(array):
        return False
    warnings.warn("Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor first.", stacklevel=4)
    return True


def reshaped_in_place(target: Tensor, op: Op, attributes: tuple[Any, ...], name: str) -> Tensor:
    """Turn a tensor into a view of itself, PyTorch's ``unsqueeze_`` and the like, recorded as ``name``."""
    check_inplace(target)
    result = apply(op, (target,), attributes)
    view = result._view
    node = view.node if view is not None else result._edge
    if node is not None:
        node.__class__ = named_node(name)
    target._array = result._array
    target._cell[0] += 1
    if view is None:
        target._edge = result._edge
    elif target._view is None:
        target._edge = view.node
    else:
        target._view, target._edge = view, VIEW
        view.version = target._cell[0]
    return target


@functools.cache
def named_node(name: str) -> type[Node]:
    """The class of nodes that go by this name."""
    return type(name, (Node,), {"__slots__": (), "__module__": Node.__module__})


def renamed(tensor: Tensor, name: str) -> Tensor:
    """A new tensor whose node goes by the name that PyTorch gives the whole operation."""
    edge: Any = edge_of(tensor)
    if edge is not None:
        if edge.__class__ is OutputOf:
            edge = edge.edges[0]
        kind = named_node(name)
        if edge.plan is None:
            from rlgrad.autograd.saved import packed_like

            kind = packed_like(edge, kind)
        edge.__class__ = kind
    return tensor


def recorded_as(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that always computes something new record its results under one name, as PyTorch's does."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            for part in (result,) if isinstance(result, Tensor) else result:
                renamed(part, name)
            return result

        return call

    return decorate


def combine_at(xp: Any, ufunc: str, out: Any, index: Any, values: Any) -> None:
    """``ufunc.at``, on a GPU by way of main memory where CuPy lacks it or where its order of summation may not vary.

    CuPy lacks it for products and for dtypes without atomic operations.
    """
    if xp is np:
        getattr(np, ufunc).at(out, index, values)
        return
    if not are_deterministic_algorithms_enabled():
        try:
            getattr(xp, ufunc).at(out, index, values)
            return
        except (NotImplementedError, TypeError):
            pass
    host = to_host(out)
    places = tuple([i if isinstance(i, slice) else to_host(i) for i in index])
    getattr(np, ufunc).at(host, places, values if np.isscalar(values) else to_host(values))
    out[...] = xp.asarray(host)


def weigh_by_index(xp: Any, index: Any, weights: Any, size: int) -> Any:
    """``bincount`` with weights: for each of ``size`` numbers the sum of the weights that ``index`` gives to it."""
    if xp is np or not are_deterministic_algorithms_enabled():
        return xp.bincount(index, weights, minlength=size)
    return xp.asarray(np.bincount(to_host(index), to_host(weights), minlength=size))


def add_at(xp: Any, out: Any, index: tuple[Any, ...], values: Any) -> None:
    """``out[index] += values`` in which repeated indices add up; ``index`` holds full slices and non-negative arrays.

    ``np.add.at`` is fast for flat positions only (two to five times as fast as for rows, measured over 8 to 100,000
    rows of 1 to 128; sorting with ``reduceat`` and products with one-hot matrices are slower), so positions are made
    flat.
    """
    places = [k for k, i in enumerate(index) if i.__class__ is not slice]
    first, last = places[0], places[-1]
    if xp is not np or not out.flags.c_contiguous or len(places) != last - first + 1:
        combine_at(xp, "add", out, index, values)
        return
    shape = out.shape
    flat = index[first]
    for k in places[1:]:
        flat = flat * shape[k] + index[k]
    outer, inner = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    if outer == inner == 1:
        positions = flat
    else:
        blocks = (outer, math.prod(shape[first : last + 1]), inner)
        rows = broadcast(flat.reshape(1, -1, 1), (outer, flat.size, inner))
        positions = flat_places(rows, blocks, 1)
    whole = (*shape[:first], *flat.shape, *shape[last + 1 :])
    values = np.asarray(values, out.dtype)
    if values.shape != whole:
        values = broadcast(values, whole)
    np.add.at(out.reshape(-1), positions.reshape(-1), values.reshape(-1))
