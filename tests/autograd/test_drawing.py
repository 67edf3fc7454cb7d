"""The graph as a picture and in TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rlgrad
from rlgrad.autograd import add_graph, visualize


@pytest.fixture
def net() -> Any:
    return rlgrad.nn.Sequential(rlgrad.nn.Linear(3, 2), rlgrad.nn.Tanh(), rlgrad.nn.Linear(2, 1))


def test_the_dot_file_names_operations_and_parameters(net: Any, tmp_path: Path) -> None:
    x = rlgrad.ones(4, 3, requires_grad=True)
    loss = ((x @ net[0].weight.t()).tanh() ** 2).sum()
    path = visualize(loss, tmp_path / "graph.dot", params=dict(net.named_parameters()))
    text = path.read_text()
    assert text.startswith("digraph")
    for name in ("SumBackward0", "PowBackward0", "TanhBackward0", "0.weight\\n[2, 3]", "leaf\\n[4, 3]"):
        assert name in text
    assert text.count("->") == 7


def test_a_picture_is_drawn_where_graphviz_is_installed(net: Any, tmp_path: Path, monkeypatch: Any) -> None:
    calls = []
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/dot")
    monkeypatch.setattr("subprocess.run", lambda command, check: calls.append(command))
    path = visualize(net(rlgrad.ones(1, 3)).sum(), tmp_path / "graph.svg")
    assert path == tmp_path / "graph.svg"
    assert calls == [["/usr/bin/dot", "-Tsvg", "-o", str(path), str(tmp_path / "graph.dot")]]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert visualize(net(rlgrad.ones(1, 3)).sum(), tmp_path / "graph.svg") == tmp_path / "graph.dot"


def test_tensorboard_reads_the_graph_back(net: Any, tmp_path: Path) -> None:
    tensorboardX = pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        add_graph(writer, net, rlgrad.ones(4, 3))
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    nodes = {node.name: node for node in events.Graph().node}
    assert {"parameters/0/weight", "parameters/2/bias"} <= set(nodes)
    assert [dim.size for dim in nodes["parameters/0/weight"].attr["_output_shapes"].list.shape[0].dim] == [2, 3]
    assert all(source in nodes for node in nodes.values() for source in node.input)
    assert any(node.op.endswith("Backward0") for node in nodes.values())
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer, pytest.raises(ValueError, match="requires grad"):
        add_graph(writer, lambda x: x, rlgrad.ones(1))
