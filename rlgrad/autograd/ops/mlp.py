"""A stack of linear layers and activations as one recorded operation, written out by hand for NumPy.

Gradients, versions and higher derivatives are those of the layers one by one; only the graph has one node where it
would have many.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.graph import VIEW, LeafNode, Node, next_sequence
from rlgrad.autograd.modes import modes
from rlgrad.autograd.ops import activations, linear, pointwise
from rlgrad.autograd.registry import REGISTRY, apply, edge_of
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.kernels import jit
from rlgrad.backend.logistic import logistic

_ndarray = np.ndarray
_zero = {np.dtype(kind): np.zeros((), kind) for kind in (np.float32, np.float64)}
_one = {kind: np.ones((), kind) for kind in _zero}
_infinity = {kind: np.asarray(math.inf, kind) for kind in _zero}


@functools.lru_cache(32)
def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Zeros to compare with, shared between calls."""
    return np.zeros(shape, dtype)


_WORTH_A_LOOK = 16384
"""Outputs of a layer from which on it pays to look for units that pass no gradient."""


class Activation(ABC):
    """An activation whose slope follows from its output.

    Attributes:
        node: PyTorch's name of the node that ends in it.
    """

    node = ""

    def passing(self, out: np.ndarray) -> np.ndarray | None:
        """Which units pass a gradient for some sample of the batch; ``None`` where that is most or all of them."""
        return None

    @abstractmethod
    def apply(self, h: np.ndarray, bias: np.ndarray) -> None:
        """Overwrite ``h`` with the activation of ``h + bias``."""

    @abstractmethod
    def backward(self, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        """The gradient before the activation, as a new array."""

    @abstractmethod
    def recorded(self, x: Tensor) -> Tensor:
        """The activation as an operation of its own."""


def _compiled(h: np.ndarray, other: np.ndarray) -> bool:
    """Whether to run compiled kernels over these; they were compiled for arrays in one piece."""
    return h.size >= jit.WORTH_LOADING and jit.compiled() is not None and other.flags.c_contiguous


class _ReLU(Activation):
    node = "ReluBackward0"

    def passing(self, out: np.ndarray) -> np.ndarray | None:
        if out.size < _WORTH_A_LOOK:
            return None
        # No output is negative, so a sum of zero has no other terms; BLAS forms it faster than `any`.
        (units,) = linear.ones(len(out), out.dtype).dot(out).nonzero()
        return units if 4 * len(units) <= 3 * out.shape[1] else None

    def apply(self, h: np.ndarray, bias: np.ndarray) -> None:
        if _compiled(h, bias):
            jit.shared(jit.kernels().add_relu, len(h), h.size, h, bias)
            return
        h += bias
        # NumPy vectorises clip and the maximum of two arrays, but not the maximum against one number.
        if h.size > 16384:
            h.clip(_zero[h.dtype], _infinity[h.dtype], h)
        else:
            np.maximum(h, zeros(h.shape, h.dtype), out=h)

    def backward(self, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        if _compiled(out, g):
            slope = np.empty(g.shape, g.dtype)
            jit.shared(jit.kernels().relu_adjoint, len(g), g.size, g, out, slope)
            return slope
        slope = (out != _zero[out.dtype]).astype(g.dtype)
        slope *= g
        return slope

    def recorded(self, x: Tensor) -> Tensor:
        return pointwise.relu(x)


class _Tanh(Activation):
    node = "TanhBackward0"

    def apply(self, h: np.ndarray, bias: np.ndarray) -> None:
        h += bias
        np.tanh(h, h)

    def backward(self, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        slope = out * out
        np.subtract(_one[out.dtype], slope, slope)
        slope *= g
        return slope

    def recorded(self, x: Tensor) -> Tensor:
        return pointwise.tanh(x)


class _Sigmoid(Activation):
    node = "SigmoidBackward0"

    def apply(self, h: np.ndarray, bias: np.ndarray) -> None:
        h += bias
        h[...] = logistic(np, h)

    def backward(self, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        slope = _one[out.dtype] - out
        slope *= out
        slope *= g
        return slope

    def recorded(self, x: Tensor) -> Tensor:
        return pointwise.sigmoid(x)


class LeakyReLU(Activation):
    """Leaky ReLU with a slope in (0, 1]."""

    node = "LeakyReluBackward0"

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def apply(self, h: np.ndarray, bias: np.ndarray) -> None:
        if _compiled(h, bias):
            jit.shared(jit.kernels().add_leaky_relu, len(h), h.size, h, bias, np.full(1, self.slope, h.dtype))
            return
        h += bias
        np.maximum(h, h * self.slope, out=h)

    def backward(self, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        if _compiled(out, g):
            slope = np.empty(g.shape, g.dtype)
            factor = np.full(1, self.slope, g.dtype)
            jit.shared(jit.kernels().leaky_relu_adjoint, len(g), g.size, g, out, factor, slope)
            return slope
        slope = (out > _zero[out.dtype]).astype(g.dtype)
        slope *= 1 - self.slope
        slope += self.slope
        slope *= g
        return slope

    def recorded(self, x: Tensor) -> Tensor:
        return activations.leaky_relu(x, self.slope)


relu, tanh, sigmoid = _ReLU(), _Tanh(), _Sigmoid()


class MLPNode(Node):
    """The node of :func:`mlp`; its edges are the input's, then weight and bias of each layer."""

    __slots__ = ("activations",)
    fresh = True
    activations: Sequence[Activation | None]

    def kept(self, position: int) -> tuple[Any, Node | None]:
        x, parameters, outs = self.saved
        edges = self.edges
        versions: list[tuple[Any, Node | None]] = [(x, edges[0])] if edges[1] is not None else []
        flows = edges[0] is not None
        for place in range(0, len(parameters), 2):
            if flows:
                versions.append((parameters[place], edges[place + 1]))
            flows = flows or edges[place + 1] is not None or edges[place + 2] is not None
        return [*versions, (outs[-1], self)][position]

    def run(self, ns: Any, grad: Any, wanted: Sequence[bool]) -> Sequence[Any]:
        if ns.recorded:
            return self._recorded(grad, wanted)
        x, parameters, outs = self.saved
        results: list[Any] = [None] * len(wanted)
        first = wanted.index(True)
        ones = linear.ones(len(grad), grad.dtype)  # BLAS sums rows several times as fast as a reduction does
        g, place = grad, len(wanted) - 2
        for out, act in zip(reversed(outs), reversed(self.activations)):  # noqa: B905 - equal by construction
            units = None
            if act is not None:
                units = act.passing(out)
                g = act.backward(g, out) if units is None else act.backward(g.take(units, 1), out.take(units, 1))
            if wanted[place]:
                results[place] = _rows(g.T.dot(outs[place // 2 - 1] if place > 1 else x), units, out)
            if wanted[place + 1]:
                results[place + 1] = _rows(ones.dot(g), units, out)
            if first >= place:
                return results
            weight = parameters[place - 1]
            g = g.dot(weight if units is None else weight.take(units, 0))
            place -= 2
        results[0] = g
        return results

    def _recorded(self, grad: Tensor, wanted: Sequence[bool]) -> Sequence[Any]:
        """Differentiate the same computation made of single operations, so that the result can be differentiated."""
        from rlgrad.autograd.differentiate import grad as gradient

        x, parameters, _ = self.saved
        inputs = []
        for array, edge in zip((x, *parameters), self.edges, strict=True):
            tensor = wrap(array)
            tensor._edge = edge
            # A view of each, since one parameter may serve several layers and each use has its own gradient here.
            inputs.append(apply(REGISTRY["reshape"], (tensor,), (array.shape,)))
        h = inputs[0]
        for layer, act in enumerate(self.activations):
            h = linear.linear(h, inputs[2 * layer + 1], inputs[2 * layer + 2])
            if act is not None:
                h = act.recorded(h)
        chosen = [i for i, want in enumerate(wanted) if want]
        found = gradient(h, [inputs[i] for i in chosen], grad, create_graph=True, allow_unused=True)
        results: list[Any] = [None] * len(wanted)
        for i, value in zip(chosen, found, strict=True):
            results[i] = value
        return results


def _rows(gradient: np.ndarray, units: np.ndarray | None, out: Any) -> np.ndarray:
    """The gradient of all units' weights or biases, given that of some; the others' is zero."""
    if units is None:
        return gradient
    rows = np.zeros((out.shape[1], *gradient.shape[1:]), gradient.dtype)
    rows[units] = gradient
    return rows


_NODES: dict[str, type[MLPNode]] = {}


def _node_class(name: str) -> type[MLPNode]:
    known = _NODES.get(name)
    if known is None:
        known = _NODES[name] = type(name, (MLPNode,), {"__slots__": (), "__module__": Node.__module__})
    return known


def mlp(input: Tensor, parameters: Sequence[Tensor], activations: Sequence[Activation | None]) -> Tensor | None:
    """Linear layers one after the other, each followed by its activation if it has one.

    Args:
        input: ``(batch, features)``.
        parameters: weight and bias of each layer, in turn.
        activations: one entry for each layer.

    Returns:
        ``(batch, out_features)``; ``None`` where the layers are to be run one by one: on a GPU, for another rank, for
        mixed dtypes or shapes that do not fit, while anomalies or saved tensors are being watched, and for an input
        that is itself a leaf that wants a gradient: it is there for a penalty on that gradient more often than not,
        and what is differentiated twice had to be computed again layer by layer.
    """
    x = input._array
    dtype = x.dtype
    if x.__class__ is not _ndarray or x.ndim != 2 or dtype not in _zero or modes.traced:
        return None
    if input._edge.__class__ is LeafNode and modes.grad:
        return None
    arrays = []
    for parameter in parameters:
        array = parameter._array
        if array.dtype is not dtype or array.__class__ is not _ndarray:
            return None
        arrays.append(array)
    h = x
    outs = []
    place = 0
    for act in activations:
        weight = arrays[place]
        if weight.shape[1] != h.shape[1]:
            return None
        h = h.dot(weight.T)
        if act is None:
            h += arrays[place + 1]
        else:
            act.apply(h, arrays[place + 1])
        outs.append(h)
        place += 2
    result = wrap(h)
    if modes.grad:
        _record(input, parameters, activations, x, arrays, outs, result)
    return result


def _record(
    input: Tensor,
    parameters: Sequence[Tensor],
    activations: Sequence[Activation | None],
    x: np.ndarray,
    arrays: list[np.ndarray],
    outs: list[Any],
    result: Tensor,
) -> None:
    edge = edge_of(input)
    flows = edge is not None
    edges = [edge]
    cells = [input._cell]
    for place in range(0, len(parameters), 2):
        weight, bias = parameters[place], parameters[place + 1]
        edge, other = weight._edge, bias._edge
        if edge is VIEW or other is VIEW:
            edge, other = edge_of(weight), edge_of(bias)
        edges += (edge, other)
        if flows:  # the weight serves the gradient of what comes before it
            cells.append(weight._cell)
        elif edge is not None or other is not None:
            flows = True
    if not flows:
        return
    if edges[1] is None:  # and so the first weight's gradient is not asked for
        del cells[0]
    last = activations[-1]
    if last is None:
        outs[-1] = None  # not needed, and so not kept alive
    else:
        cells.append(result._cell)
    node = _node_class("AddmmBackward0" if last is None else last.node)()
    node.plan = node.hooks = None
    node.edges = tuple(edges)
    node.seq = next_sequence()
    node.shape, node.dtype = result._array.shape, result._array.dtype
    node.saved = (x, arrays, outs)
    node.cells = tuple(cells)
    node.versions = tuple([cell[0] for cell in cells])
    node.activations = activations
    result._edge = node
