"""State dicts go to safetensors files and back, and to and from torch."""

import io
import os
import pickle

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim
from rlgrad.training import CheckpointError

DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool", "uint16"]


def network(library):
    return library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Tanh(), library.nn.Linear(4, 2))


def assert_equal(mine, other):
    assert type(mine) is type(other)
    if isinstance(other, dict):
        assert list(mine) == list(other)
        for key in other:
            assert_equal(mine[key], other[key])
    elif isinstance(other, (list, tuple)):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            assert_equal(a, b)
    elif isinstance(other, rlgrad.Tensor):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        assert mine.tolist() == other.tolist()
    else:
        assert mine == other


def test_a_nested_state_comes_back_as_it_was(tmp_path):
    net = network(rlgrad)
    adam = optim.Adam(net.parameters(), lr=0.1)
    net(rlgrad.ones(2, 3)).sum().backward()
    adam.step()
    state = {
        "net": net.state_dict(),
        "optimizer": adam.state_dict(),
        "step": 2**70,
        "name": "last",
        "best": None,
        "shapes": [(1, 2), (3,)],
        "each dtype": {name: rlgrad.ones(2, dtype=getattr(rlgrad, name)) for name in DTYPES},
        "none": rlgrad.zeros(0, 3),
        "one": rlgrad.tensor(1.5),
    }
    rlgrad.save(state, tmp_path / "folder" / "run.safetensors")
    assert_equal(rlgrad.load(tmp_path / "folder" / "run.safetensors"), {**state, "net": dict(state["net"])})


def test_a_run_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    def step(net, adam):
        adam.zero_grad()
        (net(rlgrad.arange(6.0).view(2, 3)) ** 2).mean().backward()
        adam.step()

    net, other = network(rlgrad), network(rlgrad)
    adam, again = (optim.Adam(n.parameters(), lr=0.1, amsgrad=True) for n in (net, other))
    for _ in range(3):
        step(net, adam)
    rlgrad.save({"net": net.state_dict(), "adam": adam.state_dict()}, tmp_path / "c")
    state = rlgrad.load(tmp_path / "c")
    other.load_state_dict(state["net"])
    again.load_state_dict(state["adam"])
    for _ in range(3):
        step(net, adam)
        step(other, again)
    assert_equal(other.state_dict(), net.state_dict())


def test_what_is_not_contiguous_or_shared_is_written_by_value(tmp_path):
    base = rlgrad.arange(12.0).view(3, 4)
    state = {
        "transposed": base.t(),
        "strided": base[:, ::2],
        "same": base,
        "alias": base,
        "expanded": base[0].expand(2, 4),
    }
    rlgrad.save(state, tmp_path / "c")
    loaded = rlgrad.load(tmp_path / "c")
    assert_equal(loaded, state)
    loaded["same"].fill_(0)
    assert loaded["alias"].any()


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "c"
    rlgrad.save({"step": 1}, path)

    def fail(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="gone"):
        rlgrad.save({"step": 2}, path)
    assert rlgrad.load(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["c"]


def test_modules_objects_and_streams_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"state_dict\(\)"):
        rlgrad.save(nn.Linear(2, 1), tmp_path / "c")
    with pytest.raises(CheckpointError, match="hook"):
        rlgrad.save({"hook": print}, tmp_path / "c")
    with pytest.raises(TypeError, match="path"):
        rlgrad.save({}, open)
    with pytest.raises(TypeError, match="path"):
        rlgrad.load(open)
    assert os.listdir(tmp_path) == []


def test_pytorchs_arguments_are_taken(tmp_path):
    rlgrad.save({"a": rlgrad.ones(2)}, tmp_path / "c")
    assert rlgrad.load(tmp_path / "c", map_location="cpu", weights_only=True)["a"].device == rlgrad.device("cpu")
    with pytest.raises(ValueError, match="never runs code"):
        rlgrad.load(tmp_path / "c", weights_only=False)
    with pytest.raises(ValueError, match="give one"):
        rlgrad.load(tmp_path / "c", "cpu", map_location="cpu")


def test_pickles_and_torchs_archives_are_refused(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match="pickle"):
        rlgrad.load(tmp_path / "p")
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.zeros(1)}, tmp_path / "t")
    with pytest.raises(CheckpointError, match="zip archive"):
        rlgrad.load(tmp_path / "t")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        rlgrad.load(tmp_path / "absent")


def test_a_state_dict_goes_to_torch(tmp_path):
    pytest.importorskip("torch")
    import torch
    from safetensors.torch import load_file

    mine, other = network(rlgrad), network(torch)
    rlgrad.save(mine.state_dict(), tmp_path / "net.safetensors")
    other.load_state_dict(load_file(tmp_path / "net.safetensors"))
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    np.testing.assert_allclose(
        mine(rlgrad.from_numpy(x)).detach().numpy(), other(torch.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_a_state_dict_comes_from_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    mine, other = network(rlgrad), network(torch)
    save_file(other.state_dict(), tmp_path / "net.safetensors", metadata={"format": "pt"})
    mine.load_state_dict(rlgrad.load(tmp_path / "net.safetensors"))
    for name, value in mine.state_dict().items():
        assert value.tolist() == other.state_dict()[name].tolist()


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_every_dtype_of_torch_is_read(tmp_path, dtype):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    values = (torch.arange(6).view(2, 3) * 3 // 2).to(getattr(torch, dtype))
    save_file({"x": values, "y": torch.ones(1)}, tmp_path / "c")
    found = rlgrad.load(tmp_path / "c")["x"]
    assert found.tolist() == values.tolist()
    assert str(found.dtype) == ("torch.float32" if dtype == "bfloat16" else f"torch.{dtype}")


def test_bfloat16_numbers_of_every_size_are_exact(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    values = torch.randn(100, generator=torch.Generator().manual_seed(0)).exp().pow(20).bfloat16()
    values[:3] = torch.tensor([float("inf"), float("-inf"), 0.0])
    save_file({"a": torch.ones(3), "x": values, "z": torch.ones(2)}, tmp_path / "c")
    assert rlgrad.load(tmp_path / "c")["x"].tolist() == values.float().tolist()


def test_numbers_that_tensors_have_not_are_named(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"narrow": torch.ones(2).to(torch.float8_e4m3fn)}, tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"'narrow' as F8_E4M3"):
        rlgrad.load(tmp_path / "c")


def test_names_of_shared_tensors_that_torch_leaves_out_are_there_again(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_model

    def tied(library):
        net = library.nn.Sequential(library.nn.Linear(3, 3), library.nn.Linear(3, 3))
        net[1].weight = net[0].weight
        return net

    other, mine = tied(torch), tied(rlgrad)
    save_model(other, str(tmp_path / "net"))
    mine.load_state_dict(rlgrad.load(tmp_path / "net"))
    assert mine[1].weight.tolist() == other[1].weight.tolist()


def test_an_open_binary_file_takes_and_gives_a_state_dict():
    net = network(rlgrad)
    memory = io.BytesIO()
    rlgrad.save({"net": net.state_dict(), "epoch": 3}, memory)
    memory.seek(0)
    found = rlgrad.load(memory, map_location="cpu")
    assert found["epoch"] == 3
    assert_equal(found["net"], dict(net.state_dict()))


def test_a_missing_file_is_the_error_that_open_raises_too(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        rlgrad.load(tmp_path / "absent")
    assert isinstance(caught.value, CheckpointError)
