"""Results that go into a tensor that exists: in-place forms, and ``out=``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.graph import FREED, LeafNode, Node, next_sequence
from rlgrad.autograd.modes import inference_write_error, modes
from rlgrad.autograd.registry import edge_of
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of

_ndarray = np.ndarray


def inplace(function: Callable[..., Any], name: str | None = None) -> Callable[..., Tensor]:
    """Give tensors the form of ``function`` that writes its result into the first argument."""

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_inplace(self)
        for other in args:
            if other.__class__ is Tensor:
                check_overlap(self._array, other._array)
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


def check_overlap(target: Any, other: Any, elementwise: bool = True) -> None:
    """Refuse to read what is being written, as PyTorch does where both lie in memory without gaps.

    Args:
        elementwise: each element is read just before it is written, so that both may be the same.
    """
    if (other is target and elementwise) or target.__class__ is not _ndarray or other.__class__ is not _ndarray:
        return
    ours, theirs = target.base, other.base
    if (target if ours is None else ours) is not (other if theirs is None else theirs):
        return
    if not (target.flags.forc and other.flags.forc):
        return
    here, there = target.__array_interface__["data"][0], other.__array_interface__["data"][0]
    if (
        not (elementwise and same_memory(target, other))
        and here < there + other.nbytes
        and there < here + target.nbytes
    ):
        raise overlap_fault()


def overlap_fault() -> RuntimeError:
    """What is read and what is written lie on top of one another."""
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def same_memory(a: Any, b: Any) -> bool:
    """Whether two of NumPy's arrays are the same elements in the same order."""
    return b is a or (
        a.__class__ is _ndarray
        and b.__class__ is _ndarray
        and a.dtype is b.dtype
        and a.shape == b.shape
        and a.strides == b.strides
        and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    )


def assign(target: Tensor, result: Tensor, everywhere: bool = False) -> Tensor:
    """Write ``result`` into ``target``'s memory and give ``target`` its history.

    Args:
        everywhere: one value for all elements, or those that they have, for which it is no matter if they lie on top of
            one another.
    """
    array, value = target._array, result._array
    if array.__class__ is _ndarray and not everywhere:
        check_memory(array)
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
        edge = edge_of(result) if array.dtype.kind == "f" else None  # whole numbers are constants
        view = target._view
        if edge is not None or view is not None:
            _move_history(target, result, edge)
            return target
        target._edge = None
    store(array, result._array)
    target._cell[0] += 1
    return target


def store(array: Any, value: Any) -> None:
    """Write ``value``, converted, into the memory of an array of NumPy's or CuPy's."""
    if array.__class__ is _ndarray:
        np.copyto(array, value, casting="unsafe")
    else:
        array[...] = value


def check_memory(array: np.ndarray) -> None:
    """Refuse to write where elements lie on top of one another, as in an expanded tensor."""
    if not array.flags.writeable or (0 in array.strides and repeats(array)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def repeats(array: np.ndarray) -> bool:
    """Whether elements lie on top of one another, as in an expanded tensor."""
    return array.size > 0 and any(step == 0 and n > 1 for n, step in zip(array.shape, array.strides, strict=True))


def _move_history(target: Tensor, result: Tensor, edge: Node | None) -> None:
    array, cell = target._array, target._cell
    node = None if edge is None else edge
    if node is not None and node.plan is not None and node.saved is not FREED:
        saved, cells, versions = list(node.saved), list(node.cells), list(node.versions)
        for position, source in enumerate(node.plan.tensors):
            if saved[position] is result._array:  # the output: it lives in the target's memory from now on
                saved[position], cells[position], versions[position] = array, cell, cell[0] + 1
            elif saved[position] is array and source == 0:  # the input as it was
                saved[position], cells[position], versions[position] = array.copy(), [0], 0
        node.saved, node.cells, node.versions = tuple(saved), tuple(cells), tuple(versions)
    if modes.traced and node is not None:
        from rlgrad.autograd.saved import protect

        protect(node, array)
    store(array, result._array)
    cell[0] += 1
    view = target._view
    if view is None:
        old = target._edge
        target._edge = edge
        if old is not None and old.hooks is not None and old.hooks.retain is not None and edge is not None:
            edge.hooked().retain, old.hooks.retain = old.hooks.retain, None  # ``.grad`` is that of the new value
    elif view.base._edge is not None or edge is not None:
        rebase(target, edge)


def rebase(target: Tensor, edge: Node | None) -> None:
    """Let the base of a view that was written to know where its new elements came from (PyTorch's CopySlices)."""
    from rlgrad.autograd.ops.shape import view_scatter

    view = target._view
    assert view is not None
    base = view.base
    base_edge = edge_of(base)
    node = view_scatter.node()
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


def write_out(out: Tensor, result: Tensor, exact: bool = False, warn: bool = True) -> Tensor:
    """Serve an ``out=`` argument: write into it, resizing one of another shape.

    Args:
        exact: ``out`` must have the result's dtype; otherwise one that the result can be cast to will do.
        warn: tell of resizing one that has elements, as all but the functions that create do.

    Raises:
        TypeError: if ``out`` is no tensor.
        RuntimeError: for a dtype or device that does not fit, or where a gradient is wanted.
    """
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if modes.grad and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
            "grad; compute without out=, or under no_grad()"
        )
    array, value = out._array, result._array
    if array.__class__ is not value.__class__:
        raise RuntimeError(f"Expected out tensor to be on {result.device}, but it is on {out.device}")
    if exact and array.dtype != value.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype!r}, but got {out.dtype!r} instead")
    if not dtypes.can_cast(result.dtype, out.dtype):
        raise RuntimeError(f"result type {result.dtype!r} can't be cast to the desired output type {out.dtype!r}")
    if array.shape != value.shape:
        _resize(out, value.shape, warn)
    return assign(out, result)


def _resize(out: Tensor, shape: tuple[int, ...], warn: bool) -> None:
    array = out._array
    if warn and array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(array.shape)}, which does not match "
            f"the required output shape {list(shape)}. Give a tensor of that shape, or an empty one, to reuse its memory.",
            UserWarning,
            stacklevel=4,
        )
    out._array = module_of(array).empty(shape, array.dtype)
    if out._view is not None:  # memory of its own from now on
        out._view, out._edge, out._cell = None, None, [0]


def write_outs(outs: Sequence[Tensor], results: Sequence[Tensor], exact: bool = True) -> Any:
    """:func:`write_out` for a function that returns several tensors; gives them back as it would return them."""
    if not isinstance(outs, (tuple, list)) or len(outs) != len(results):
        given = f"{len(outs)} of them" if isinstance(outs, (tuple, list)) else type(outs).__name__
        raise TypeError(f"argument 'out' must be tuple of {len(results)} Tensors, not {given}")
    written = [write_out(out, result, exact) for out, result in zip(outs, results, strict=True)]
    return type(results)(*written) if hasattr(results, "_fields") else tuple(written)


def with_out(cast: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function take ``out=``: a tensor, or as many as it returns, that its result is written into.

    A call through it costs some tenths of a microsecond, so that what small programs call most spells ``out`` out.

    Args:
        cast: ``out`` may have any dtype that the result can be cast to, otherwise only the result's.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if out is None:
                return result
            write = write_out if isinstance(result, Tensor) else write_outs
            return write(out, result, not cast)

        return call

    return decorate
