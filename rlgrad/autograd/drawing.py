"""Pictures of the recorded graph: DOT and SVG files, and TensorBoard's Graphs tab."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlgrad.autograd.graph import LeafNode, Node, OutputOf
from rlgrad.autograd.saved import nodes
from rlgrad.autograd.tensor import Tensor

if TYPE_CHECKING:
    from pathlib import Path


def dot_source(roots: Tensor | list[Tensor], params: Mapping[str, Tensor] | None = None) -> str:
    """The graph that tensors came from in Graphviz's language; gradients flow along the arrows' reverse.

    Args:
        roots: a tensor, such as a loss, or several.
        params: names of leaves, as ``dict(module.named_parameters())`` gives them.
    """
    names = _leaf_names(params)
    order = list(nodes(roots))
    labels = {node: f"n{number}" for number, node in enumerate(order)}
    lines = ["digraph graph_of_gradients {", '  rankdir="TB"; node [fontname="monospace", fontsize=10];']
    for node in order:
        if isinstance(node, LeafNode):
            text = f"{names.get(node, 'leaf')}\\n{list(node.shape)}"
            style = 'shape=box, style=filled, fillcolor="lightblue"'
        else:
            text, style = f"{node.name()}\\n{list(node.shape)}", "shape=ellipse"
        lines.append(f'  {labels[node]} [label="{_escaped(text)}", {style}];')
    for node in order:
        for source in _sources(node):
            lines.append(f"  {labels[source]} -> {labels[node]};")
    for number, root in enumerate([roots] if isinstance(roots, Tensor) else roots):
        top = root.grad_fn
        if top is not None:
            lines.append(f'  out{number} [label="{list(root.shape)}", shape=box, style=filled, fillcolor="palegreen"];')
            lines.append(f"  {labels[top]} -> out{number};")
    return "\n".join([*lines, "}", ""])


def visualize(
    loss: Tensor | list[Tensor], path: str | os.PathLike[str], params: Mapping[str, Tensor] | None = None
) -> Path:
    """Draw the graph that a tensor came from.

    Args:
        loss: the tensor, or several.
        path: where to; ``.dot`` writes the source alone, any other ending the picture of that format beside it.
        params: names of leaves, as ``dict(module.named_parameters())`` gives them.

    Returns:
        The picture, or the DOT file where Graphviz's ``dot`` is not installed.
    """
    import shutil  # these three take longer to import than most of this package
    import subprocess
    from pathlib import Path

    target = Path(path)
    source = target.with_suffix(".dot")
    source.write_text(dot_source(loss, params))
    program = shutil.which("dot")
    if target.suffix == ".dot" or program is None:
        return source
    picture = target if target.suffix else target.with_suffix(".svg")
    subprocess.run([program, f"-T{picture.suffix[1:]}", "-o", str(picture), str(source)], check=True)
    return picture


def graph_def(roots: Tensor | list[Tensor], params: Mapping[str, Tensor] | None = None) -> Any:
    """The graph as TensorBoard's ``GraphDef``; parameters are grouped by the parts of their dotted names."""
    proto = _proto("graph_pb2")
    shapes, types, values = _proto("tensor_shape_pb2"), _proto("types_pb2"), _proto("attr_value_pb2")
    kinds = {"float16": types.DT_HALF, "float32": types.DT_FLOAT, "float64": types.DT_DOUBLE}
    names = _leaf_names(params)
    order = list(nodes(roots))
    labels: dict[Node, str] = {}
    for number, node in enumerate(reversed(order)):
        if isinstance(node, LeafNode):
            labels[node] = "parameters/" + names[node].replace(".", "/") if node in names else f"inputs/{number}"
        else:
            labels[node] = f"operations/{number}_{node.name()}"
    graph = proto.GraphDef()
    graph.versions.producer = 22
    for node in reversed(order):
        shape = shapes.TensorShapeProto(dim=[shapes.TensorShapeProto.Dim(size=n) for n in node.shape])
        entry = graph.node.add(name=labels[node], op="Parameter" if isinstance(node, LeafNode) else node.name())
        entry.input.extend(labels[source] for source in _sources(node))
        entry.attr["_output_shapes"].CopyFrom(
            values.AttrValue(list=values.AttrValue.ListValue(shape=[shape])),
        )
        kind = kinds.get(str(node.dtype))
        if kind is not None:
            entry.attr["T"].CopyFrom(values.AttrValue(type=kind))
    return graph


def add_graph(writer: Any, module: Any, example: Any) -> None:
    """Show what a module records in the Graphs tab of TensorBoard.

    Args:
        writer: a ``tensorboardX.SummaryWriter``.
        module: called with the example; its outputs' graph is shown.
        example: one input, or a tuple of several.
    """
    arguments = example if isinstance(example, tuple) else (example,)
    output = module(*arguments)
    outputs = [y for y in (output if isinstance(output, (tuple, list)) else [output]) if isinstance(y, Tensor)]
    params = dict(module.named_parameters()) if hasattr(module, "named_parameters") else None
    roots = [y for y in outputs if y.requires_grad]
    if not roots:
        raise ValueError("add_graph: no output of the module requires grad, so that nothing was recorded to show")
    event = _proto("event_pb2").Event(graph_def=graph_def(roots, params).SerializeToString())
    writer._get_file_writer().add_event(event)


def _leaf_names(params: Mapping[str, Tensor] | None) -> dict[Node, str]:
    return {tensor._edge: name for name, tensor in (params or {}).items() if isinstance(tensor._edge, LeafNode)}


def _sources(node: Node) -> list[Node]:
    """Where a node's inputs came from, past the stand-ins of single outputs."""
    edges = [edge.edges[0] if isinstance(edge, OutputOf) else edge for edge in node.edges]
    return [edge for edge in edges if edge is not None]


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def _proto(name: str) -> Any:
    return importlib.import_module(f"tensorboardX.proto.{name}")
