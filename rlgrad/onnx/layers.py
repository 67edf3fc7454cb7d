"""What the operations that layers are made of are in ONNX."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.onnx.graph import ExportError, Step, Translation
from rlgrad.onnx.shapes import variance


def _linear(s: Step) -> str:
    if s.rank == 2 and s.has(2):
        return s.add("Gemm", s[0], s[1], s[2], transB=1)
    product = s.add("MatMul", s[0], s.add("Transpose", s[1], perm=[1, 0]))
    return s.add("Add", product, s[2]) if s.has(2) else product


def _convolution(s: Step) -> str:
    inputs = [s[i] for i in range(3) if s.has(i)]
    return s.add(
        "Conv",
        *inputs,
        strides=list(s.attribute("stride")),
        pads=[*s.attribute("low"), *s.attribute("high")],
        dilations=list(s.attribute("dilation")),
        group=s.attribute("groups"),
    )


def _transposed_convolution(s: Step) -> str:
    """The gradient of a convolution towards its input; sizes that no window reaches are its output padding."""
    spatial, stride, low, high, dilation = (
        s.attribute(name) for name in ("spatial", "stride", "low", "high", "dilation")
    )
    reached = [
        (n - 1) * step + d * (k - 1) + 1 - a - b
        for n, step, d, k, a, b in zip(s.shape()[2:], stride, dilation, s.shape(1)[2:], low, high, strict=True)
    ]
    return s.add(
        "ConvTranspose",
        *[s[i] for i in range(3) if s.has(i)],
        strides=list(stride),
        pads=[*low, *high],
        dilations=list(dilation),
        group=s.attribute("groups"),
        output_padding=[n - m for n, m in zip(spatial, reached, strict=True)],
    )


def _pads(s: Step, dilation: Sequence[int]) -> list[int]:
    """Padding before and after each dimension, such that there are just the windows that there were."""
    kernel, stride, pad, windows = (s.attribute(name) for name in ("kernel", "stride", "pad", "windows"))
    sizes = s.shape()[-len(kernel) :]
    after = [
        max(0, (count - 1) * step + d * (k - 1) + 1 - n - p)
        for count, step, d, k, n, p in zip(windows, stride, dilation, kernel, sizes, pad, strict=True)
    ]
    return [*pad, *after]


def _pooled(s: Step, kind: str, **attributes: Any) -> str:
    """A node over the windows, which always has a batch."""
    kernel, first = list(s.attribute("kernel")), s.integers([0])
    single = s.rank == len(kernel) + 1
    x = s.add("Unsqueeze", s[0], first) if single else s[0]
    y = s.add(kind, x, kernel_shape=kernel, strides=list(s.attribute("stride")), **attributes)
    return str(s.add("Squeeze", y, first) if single else y)


def _max_pool(s: Step) -> list[str]:
    dilation = list(s.attribute("dilation"))
    return [_pooled(s, "MaxPool", dilations=dilation, pads=_pads(s, dilation))]


def _avg_pool(s: Step) -> str:
    kernel, scale = s.attribute("kernel"), s.attribute("scale")
    if isinstance(scale, tuple):  # of each dimension's windows
        scale = functools.reduce(np.multiply.outer, [np.asarray(part) for part in scale])
    mean = _pooled(s, "AveragePool", pads=_pads(s, (1,) * len(kernel)), count_include_pad=1)
    factor = np.asarray(scale, np.float64) * math.prod(kernel)
    return mean if np.allclose(factor, 1, rtol=1e-6) else s.add("Mul", mean, s.constant(factor))


def _adaptive_max_pool(s: Step) -> str:
    """Windows of uneven sizes, one dimension after the other."""
    index = s.call.inputs[1]
    maker = s.graph.made_by.get(id(index))
    if maker is None or not maker.op.startswith("adaptive_max_pool"):
        raise ExportError("picking elements by computed places has no translation to ONNX")
    x, rank = s[0], s.attribute("rank")
    for dim in range(s.rank - rank, s.rank):
        n, m = s.shape()[dim], index.shape[dim]
        parts = []
        for i in range(m):
            start, stop = i * n // m, -(-(i + 1) * n // m)
            part = s.add("Slice", x, s.integers([start]), s.integers([stop]), s.integers([dim]))
            parts.append(s.add("ReduceMax", part, s.integers([dim]), keepdims=1))
        x = s.add("Concat", *parts, axis=dim)
    return x


def _layout(shape: Sequence[int], groups: int) -> tuple[list[int], list[int], list[int]]:
    """Shape, axes and shape of the factors that a normalization of rows, channels or groups of channels computes with."""
    if len(shape) == 2:
        return list(shape), [1], [1, shape[1]]
    batch, channels, points = shape
    if groups:
        return [batch, groups, channels // groups, points], [2, 3], [1, groups, channels // groups, 1]
    return [batch, channels, points], [0, 2], [1, channels, 1]


def _normalization(s: Step) -> list[str]:
    """Zero mean and unit variance, then a factor and an offset."""
    groups, eps = s.attribute("groups"), float(s.attribute("eps"))
    (inner, axes, affine), (other, _, _) = (_layout(c.attributes["shape"], groups) for c in (s.call, s.other))
    if len(s.call.attributes["shape"]) == 2 and s.has(1):
        weight = s.call.inputs[1]
        return [s.add("LayerNormalization", *[s[i] for i in range(3) if s.has(i)], axis=-weight.ndim, epsilon=eps)]
    counts = [math.prod(sizes[a] for a in axes) for sizes in (inner, other)]
    if counts[0] != counts[1]:
        raise ExportError("statistics of a batch have no translation to ONNX: keep running ones")
    x = s.to_shape(s[0], inner, other)
    mean = s.add("ReduceMean", x, s.integers(axes), keepdims=1)
    spread = s.add("Add", variance(s, x, axes, counts[0], 0, keepdim=True), s.constant(eps))
    y = s.add("Div", s.add("Sub", x, mean), s.add("Sqrt", spread))
    for index, kind in ((1, "Mul"), (2, "Add")):
        if s.has(index):
            y = s.add(kind, y, s.to_shape(s[index], affine, affine))
    return [s.reshaped(y)]


def _rms_norm(s: Step) -> str:
    mean = s.add("ReduceMean", s.add("Mul", s[0], s[0]), s.integers(s.attribute("axes")), keepdims=1)
    return s.add("Div", s[0], s.add("Sqrt", s.add("Add", mean, s.constant(s.attribute("eps")))))


ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
"""Where ONNX's gates are among PyTorch's: input, output, forget, cell; update, reset, hidden."""


def _gates(s: Step, name: str, kind: str) -> str:
    """Weights or biases of all gates in ONNX's order."""
    order = ORDERS[kind]
    if len(order) == 1:
        return name
    parts = s.add("Split", name, count=len(order), axis=0, num_outputs=len(order))
    return str(s.add("Concat", *[parts[i] for i in order], axis=0))


def _recurrent(kind: str, states: int, **attributes: Any) -> Translation:
    """One layer in one direction: ``x, h0[, c0], w_ih, w_hh, b_ih, b_hh[, w_hr]``."""

    def translate(s: Step) -> list[str]:
        if s.attribute("sizes") is not None:
            raise ExportError("packed sequences have no translation to ONNX: give padded ones")
        first = s.integers([0])
        projected = kind == "LSTM" and s.has(7)
        x, start, *weights = _unprojected(s) if projected else (s[0], s[1], s[1 + states], s[2 + states])
        inputs = [x, *(s.add("Unsqueeze", _gates(s, weight, kind), first) for weight in weights)]
        if s.has(3 + states):
            both = s.add("Concat", *[_gates(s, s[3 + states + i], kind) for i in range(2)], axis=0)
            inputs.append(s.add("Unsqueeze", both, first))
        else:
            inputs.append("")
        starts = [start and s.add("Unsqueeze", start, first)]
        starts += [s.add("Unsqueeze", s[2 + i], first) for i in range(states - 1)]
        options = dict(attributes)
        if kind == "RNN":
            options["activations"] = [{"tanh": "Tanh", "relu": "Relu"}[s.attribute("nonlinearity")]]
        direction = "reverse" if s.attribute("reverse") else "forward"
        hidden = s.shape(states)[-1]
        outputs = s.add(
            kind, *inputs, "", *starts, count=1 + states, hidden_size=hidden, direction=direction, **options
        )
        squeezed = [s.add("Squeeze", outputs[0], s.integers([1]))]
        squeezed += [s.add("Squeeze", name, first) for name in outputs[1:]]
        if projected:
            back = s.add("Transpose", s[7], perm=[1, 0])
            squeezed[:2] = [s.add("MatMul", name, back) for name in squeezed[:2]]
        return squeezed

    return translate


def _unprojected(s: Step) -> tuple[str, str, str, str]:
    """Input, no first state, and weights of an LSTM whose state is what one with a projection projects.

    That state ``u`` enters the gates as ``w_hh w_hr u``. The first one is given projected: it comes as more features of
    the first input, with weights ``w_hh``.
    """
    steps = s.shape()[0]
    if s.other.inputs[0].shape[0] != steps:
        raise ExportError("an LSTM with a projection (proj_size) needs a fixed number of steps: give another batch_dim")
    before = steps - 1 if s.attribute("reverse") else 0
    pads = s.integers([before, 0, 0, steps - 1 - before, 0, 0])
    h0 = s.add("Pad", s.add("Unsqueeze", s[1], s.integers([0])), pads)
    x = s.add("Concat", s[0], h0, axis=2)
    return x, "", s.add("Concat", s[3], s[4], axis=1), s.add("MatMul", s[4], s[7])


def _resample(s: Step) -> str:
    """A product with a constant matrix along one dimension, which is brought to the end for it."""
    dim, last = s.attribute("dim"), s.rank - 1
    factor = s.constant(s.attribute("bands").matrix.T, s.dtype)
    if dim == last:
        return s.add("MatMul", s[0], factor)
    order = [last if d == dim else dim if d == last else d for d in range(s.rank)]
    return s.add("Transpose", s.add("MatMul", s.add("Transpose", s[0], perm=order), factor), perm=order)


TABLE: dict[str, Translation] = {
    "linear": _linear,
    **dict.fromkeys(("mm", "bmm", "matmul", "mv", "dot"), lambda s: s.add("MatMul", s[0], s[1])),
    "outer": lambda s: s.add("Mul", s.add("Unsqueeze", s[0], s.integers([1])), s[1]),
    "resample": _resample,
    "softmax": lambda s: s.add("Softmax", s[0], axis=s.attribute("dim")),
    "log_softmax": lambda s: s.add("LogSoftmax", s[0], axis=s.attribute("dim")),
    "convolution": _convolution,
    "convolution_input": _transposed_convolution,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "plane_gather": _adaptive_max_pool,
    **dict.fromkeys(("layer_norm", "group_norm", "batch_norm"), _normalization),
    "rms_norm": _rms_norm,
    "lstm_layer": _recurrent("LSTM", 2),
    "gru_layer": _recurrent("GRU", 1, linear_before_reset=1),
    "rnn_layer": _recurrent("RNN", 1),
}
