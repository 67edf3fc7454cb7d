import errno
import io
import json
import pickle
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from rlgrad.training import CheckpointError, load_checkpoint, save_checkpoint

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("$array")
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.sampled_from(["$array", "$dict", "$tuple"]), inner, max_size=3)
    ),
    max_leaves=10,
)


def test_arrays_keep_their_values_dtype_and_shape_and_can_be_written(tmp_path):
    arrays = {
        "float32": np.arange(6, dtype=np.float32).reshape(2, 3),
        "float64": np.array(1.5),
        "int64": np.array([-(2**62)]),
        "uint8": np.arange(4, dtype=np.uint8),
        "bool": np.array([True, False]),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "strided": np.arange(12.0).reshape(3, 4).T[::2],
        "big endian": np.array([1, 2], dtype=">i4"),
    }
    save_checkpoint(tmp_path / "a", {"nested": [arrays]})
    loaded = load_checkpoint(tmp_path / "a")["nested"][0]
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].shape == array.shape, name
        assert loaded[name].dtype == array.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(loaded[name], array)
        loaded[name][...] = 0


@settings(deadline=None)
@given(tree=st.dictionaries(st.text(), TREES, max_size=3))
def test_any_tree_of_plain_values_comes_back_as_it_was(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("tree") / "c.safetensors"
    save_checkpoint(path, tree)
    assert repr(load_checkpoint(path)) == repr(tree)


def test_the_128_bit_state_of_a_generator_round_trips(tmp_path):
    generator = np.random.Generator(np.random.PCG64(7))
    save_checkpoint(tmp_path / "c", {"state": generator.bit_generator.state})
    expected = generator.random(5)
    state = load_checkpoint(tmp_path / "c")["state"]
    assert state["state"]["state"] > 2**64
    other = np.random.Generator(np.random.PCG64(0))
    other.bit_generator.state = state
    np.testing.assert_array_equal(other.random(5), expected)


@pytest.mark.parametrize("start", [b"PK", b"\x80\x02"])
def test_a_header_whose_length_looks_like_another_format_is_read(tmp_path, start):
    path = tmp_path / "c"
    save_checkpoint(path, {"note": ""})
    length = int.from_bytes(path.read_bytes()[:8], "little")
    wanted = int.from_bytes(start, "little")
    save_checkpoint(path, {"note": "x" * (wanted - length)})
    assert path.read_bytes()[:2] == start
    assert load_checkpoint(path)["note"].strip("x") == ""


def test_integer_keys_and_arrays_with_one_name_stay_apart(tmp_path):
    state = {"a": {0: np.zeros(1), "0": np.ones(1)}, "a/0": np.full(1, 2.0)}
    save_checkpoint(tmp_path / "c", state)
    loaded = load_checkpoint(tmp_path / "c")
    assert [loaded["a"][0][0], loaded["a"]["0"][0], loaded["a/0"][0]] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "object"),
        (np.array(["text"]), "dtype <U4"),
        (np.array([object()]), "dtype object"),
        ({1.5: 0}, r"keys are strings or integers, got 1\.5"),
    ],
)
def test_a_value_it_cannot_hold_is_named_by_its_place(tmp_path, value, words):
    with pytest.raises(CheckpointError, match=words) as caught:
        save_checkpoint(tmp_path / "c", {"agent": [0, value]})
    assert "agent/1" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"no checkpoint at .*absent"):
        load_checkpoint(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="is a folder"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("kept", [0, 4, 8, 9, 100, -1])
def test_a_truncated_file_is_refused(tmp_path, kept):
    path = tmp_path / "c"
    save_checkpoint(path, {"weight": np.zeros(1000), "step": 3})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"cut short|damaged"):
        load_checkpoint(path)


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (Path(self.path),))


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_and_never_run(tmp_path, protocol):
    path = tmp_path / "c"
    path.write_bytes(pickle.dumps(Bomb(str(tmp_path / "exploded")), protocol=protocol))
    with pytest.raises(CheckpointError, match="pickle" if protocol else "not a checkpoint"):
        load_checkpoint(path)
    assert not (tmp_path / "exploded").exists()


def test_other_formats_are_refused_each_with_its_own_words(tmp_path):
    archive = io.BytesIO()
    np.savez(archive, a=np.zeros(2))
    path = tmp_path / "c"
    path.write_bytes(archive.getvalue())
    with pytest.raises(CheckpointError, match="zip archive"):
        load_checkpoint(path)
    path.write_text("just some text that is long enough")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        load_checkpoint(path)
    save_file({"a": np.zeros(2)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint that rlgrad wrote"):
        load_checkpoint(path)
    save_file({"a": np.zeros(2)}, path, {"format": "rlgrad-checkpoint", "version": "99", "tree": "{}"})
    with pytest.raises(CheckpointError, match="version 99"):
        load_checkpoint(path)


def test_a_tree_that_does_not_fit_its_arrays_is_refused(tmp_path):
    tree = json.dumps({"weight": {"$array": "weight"}})
    save_file({"other": np.zeros(2)}, tmp_path / "c", {"format": "rlgrad-checkpoint", "version": "1", "tree": tree})
    with pytest.raises(CheckpointError, match="does not fit its arrays"):
        load_checkpoint(tmp_path / "c")


def test_a_full_disk_keeps_the_old_file_and_leaves_no_other(tmp_path):
    path = tmp_path / "c"
    save_checkpoint(path, {"step": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(OSError, match=r"Could not write the checkpoint|too large"):
            save_checkpoint(path, {"step": 2, "weight": np.ones(1_000_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert load_checkpoint(path) == {"step": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fills_while_syncing_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "c"
    save_checkpoint(path, {"step": 1})

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"step": 2})
    assert load_checkpoint(path) == {"step": 1}
    assert list(tmp_path.iterdir()) == [path]


SAVE_FOR_EVER = """
import itertools, sys
import numpy as np
from rlgrad.training import save_checkpoint
for step in itertools.count():
    save_checkpoint(sys.argv[1], {"step": step, "weight": np.full(200_000, step)})
    if step == 0:
        print("ready", flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "c.safetensors"
    rng = np.random.default_rng(0)
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        process.wait()
        process.stdout.close()
        loaded = load_checkpoint(path)
        np.testing.assert_array_equal(loaded["weight"], np.full(200_000, loaded["step"]))
