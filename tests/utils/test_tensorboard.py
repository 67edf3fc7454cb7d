"""The writer under PyTorch's name: what a program of PyTorch's writes comes back out of the event files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rlgrad
from rlgrad.utils.tensorboard import SummaryWriter


def events(folder: Path) -> list[object]:
    """Every event in a folder's files: each is framed by its length with a checksum, and a checksum of its own."""
    proto = pytest.importorskip("tensorboardX.proto.event_pb2")
    found = []
    for path in sorted(folder.glob("events*")):
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            found.append(proto.Event.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def test_tensors_are_written_as_numbers(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", rlgrad.tensor(0.5, requires_grad=True), 3, new_style=True)
        writer.add_scalar("plain", 2.0, global_step=4)
        writer.add_histogram("weights", rlgrad.arange(10.0), 3)
        writer.add_image("picture", rlgrad.rand(3, 4, 4), 3)
        writer.add_text("note", "hello")
        writer.flush()
    values = {v.tag: (e.step, v) for e in events(tmp_path) for v in e.summary.value}
    assert values["loss"][0] == 3
    assert values["loss"][1].simple_value == 0.5
    assert values["plain"][1].simple_value == 2.0
    assert values["weights"][1].histo.num == 10
    assert values["picture"][1].image.height == 4


def test_a_modules_graph_is_written(tmp_path: Path) -> None:
    writer = SummaryWriter(log_dir=str(tmp_path))
    writer.add_graph(rlgrad.nn.Linear(2, 1), rlgrad.ones(1, 2))
    writer.close()
    assert any(event.graph_def for event in events(tmp_path))
    with pytest.raises(AttributeError):
        _ = writer.add_nothing


def test_nested_tensors_become_arrays(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("both", {"a": rlgrad.tensor(1.0), "b": np.float32(2.0)}, 1)
    assert any(tmp_path.iterdir())
