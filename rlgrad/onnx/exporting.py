"""Exporting: trace, translate, check, write."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.files import whole_file
from rlgrad.nn.module import Module
from rlgrad.onnx import elementwise, layers, shapes
from rlgrad.onnx.graph import ExportError, Graph, onnx_type
from rlgrad.onnx.tracing import Trace

OPSET = 18
IR_VERSION = 9
"""Of ONNX 1.14 (2023): runtimes since then read it."""

TABLE = {**elementwise.TABLE, **shapes.TABLE, **layers.TABLE}
"""What each operation of the engine becomes."""


def export(
    module: Module,
    example: Tensor | Sequence[Tensor],
    path: str | os.PathLike[str],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    batch_dim: int | None = 0,
    verify: bool = True,
) -> Path:
    """Write a module as an ONNX model.

    The module runs in evaluation mode on the example and on a second one with a larger batch and other values. The
    operations that ran become the graph, so any ``forward`` can be exported whose steps do not depend on values; what
    differs between the two runs is either a size that follows the batch or an error. Needs the extra ``onnx``.

    Args:
        module: on the CPU.
        example: its input, or several.
        path: the file to write, whole or not at all.
        input_names: of the graph's inputs, ``input_0`` and so on unless given.
        output_names: of its outputs, ``output_0`` and so on unless given. Outputs in tuples, lists and dicts come in
            order.
        batch_dim: the dimension of every input that may have any size in the exported model; ``None`` fixes all sizes.
        verify: run the model on both examples, with onnxruntime if it is installed and ONNX's own evaluator otherwise,
            and compare.

    Returns:
        The path.

    Raises:
        ImportError: the package ``onnx`` is not installed.
        ExportError: the module does what cannot be exported; the message names operation and module.

    Example:
        >>> import tempfile
        >>> import rlgrad
        >>> net = rlgrad.nn.Sequential(rlgrad.nn.Linear(4, 8), rlgrad.nn.Tanh(), rlgrad.nn.Linear(8, 2))
        >>> path = rlgrad.onnx.export(net, rlgrad.randn(1, 4), tempfile.mkdtemp() + "/net.onnx")
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "exporting needs the package onnx, which is not installed: pip install 'rlgrad[onnx]'"
        ) from None
    inputs = (example,) if isinstance(example, Tensor) else tuple(example)
    _check_inputs(module, inputs, batch_dim)
    names = list(input_names or [f"input_{i}" for i in range(len(inputs))])
    if len(names) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs have {len(names)} names: {names}")
    other = inputs if batch_dim is None else tuple(_larger(t, batch_dim) for t in inputs)
    if batch_dim is None:
        other = tuple(_changed(t) for t in inputs)
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        traces = Trace(module, inputs), Trace(module, other)
    finally:
        for part, training in modes:
            part.training = training
    if traces[0].reads:
        warnings.warn(
            f"values that follow from the example are looked at in {traces[0].reads[0]}: what the program did then is fixed "
            "in the exported model, for every input",
            stacklevel=2,
        )
    owned = {n: t._array for n, t in (*module.named_parameters(), *module.named_buffers())}
    graph = Graph(traces, owned, names, batch_dim)
    graph.translate(TABLE)
    model = _model(onnx, graph, names, output_names, type(module).__name__)
    onnx.checker.check_model(model, full_check=True)
    if verify:
        for trace in traces:
            _compare(onnx, model, dict(zip(names, trace.inputs, strict=True)), trace.outputs)
    target = Path(path)
    with whole_file(target) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return target


def _check_inputs(module: Module, inputs: tuple[Tensor, ...], batch_dim: int | None) -> None:
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"example {index} is a {type(tensor).__name__}, expected a Tensor")
        if batch_dim is not None and not 0 <= batch_dim < tensor.ndim:
            raise ValueError(
                f"example {index} has shape {list(tensor.shape)}, which has no dimension {batch_dim} for the batch: give "
                "another batch_dim, or None"
            )
        if batch_dim is not None and tensor.shape[batch_dim] == 0:
            raise ValueError(f"example {index} has an empty batch")
    if not inputs:
        raise ValueError("a module without inputs cannot be exported")
    if any(t.is_cuda for t in (*module.parameters(), *module.buffers(), *inputs)):
        raise ValueError("export takes a module and examples on the CPU: move them with .to('cpu')")


def _changed(tensor: Tensor) -> Tensor:
    """Other values of the same kind: turned round, and for floats a little smaller."""
    array = np.flip(tensor._array)
    return wrap(np.array(array * array.dtype.type(0.9) if array.dtype.kind == "f" else array, order="C"))


def _larger(tensor: Tensor, dim: int) -> Tensor:
    array = _changed(tensor)._array
    return wrap(np.concatenate([array, array.take([0], axis=dim)], axis=dim))


def _model(onnx: Any, graph: Graph, names: Sequence[str], output_names: Sequence[str] | None, title: str) -> Any:
    first, second = graph.traces
    found = [graph.value(a, b) for a, b in zip(first.outputs, second.outputs, strict=True)]
    if not found:
        raise ExportError(f"the module gives a {type(first.structure).__name__}, but a graph gives tensors")
    wanted = list(output_names or [f"output_{i}" for i in range(len(found))])
    if len(wanted) != len(found):
        raise ValueError(f"{len(found)} outputs have {len(wanted)} names: {wanted}")
    final = [
        onnx.helper.make_node("Identity", [a], [b], name=f"output_{b}") for a, b in zip(found, wanted, strict=True)
    ]
    nodes, constants = graph.needed(found)
    kinds = [
        [_described(onnx, n, a, b) for n, a, b in zip(labels, mine, other, strict=True)]
        for labels, mine, other in ((names, first.inputs, second.inputs), (wanted, first.outputs, second.outputs))
    ]
    body = onnx.helper.make_graph(
        [*nodes, *final],
        title,
        *kinds,
        [onnx.numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), n) for n, a in constants.items()],
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    return onnx.helper.make_model(body, opset_imports=[opset], ir_version=IR_VERSION, producer_name="rlgrad")


def _described(onnx: Any, name: str, array: Any, other: Any) -> Any:
    sizes = ["batch" if a != b else a for a, b in zip(array.shape, other.shape, strict=True)]
    return onnx.helper.make_tensor_value_info(name, onnx_type(array.dtype), sizes)


def _compare(onnx: Any, model: Any, feeds: dict[str, Any], wanted: Sequence[Any]) -> None:
    found = _run(onnx, model, feeds)
    if found is None:
        return
    for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
        exact = b.dtype.kind != "f"
        if a.shape != b.shape or not (
            np.array_equal(a, b) if exact else np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
        ):
            difference = f"shape {list(a.shape)}" if a.shape != b.shape else f"a difference of {abs(a - b).max():.2g}"
            raise ExportError(
                f"the exported model does not give what the module gives: output {index} has {difference}. The module does "
                "something on the way that the trace does not see, such as computing with NumPy arrays"
            )


def _run(onnx: Any, model: Any, feeds: dict[str, Any]) -> list[Any] | None:
    """The model's outputs; ``None`` where there is nothing that can run it."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        try:
            return list(ReferenceEvaluator(model).run(None, feeds))
        except (NotImplementedError, RuntimeError):
            return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))
