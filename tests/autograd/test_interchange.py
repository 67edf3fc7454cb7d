"""Tensors among NumPy's arrays and scalars, DLPack, copies, pickles and what tells them apart."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "np.float32 * t": lambda L: np.float32(2) * L.ones(2),
    "np.float64 * t": lambda L: np.float64(2) * L.ones(2),
    "t * np.float64": lambda L: L.ones(2) * np.float64(2),
    "np.int64 + t": lambda L: np.int64(2) + L.tensor([1, 2]),
    "t + array": lambda L: L.ones(2) + np.ones(2),
    "array == t": lambda L: np.ones(2) == L.ones(2),
    "array / t": lambda L: np.ones(2) / L.ones(2),
    "t - array": lambda L: L.ones(2) - np.ones(2),
    "t == array": lambda L: L.ones(2) == np.ones(2),
    "np.sin(t)": lambda L: np.sin(L.ones(2)),
    "np.add(t, 1)": lambda L: np.add(L.ones(2), 1),
    "np.exp of 0-d": lambda L: np.exp(L.tensor(1.0)),
    "np.concatenate": lambda L: np.concatenate([L.ones(2), L.zeros(1)]),
    "np.asarray(t, dtype)": lambda L: np.asarray(L.ones(2), dtype=np.float64),
    "np.array of tensors": lambda L: np.array([L.tensor(1.0), L.tensor(2.0)]),
    "array[t]": lambda L: np.arange(5)[L.tensor([1, 2])],
    "is_tensor": lambda L: [L.is_tensor(L.ones(1)), L.is_tensor(np.ones(1))],
    "is_floating_point": lambda L: [L.is_floating_point(L.ones(1)), L.is_complex(L.ones(1)), L.numel(L.ones(2, 2))],
    "is_nonzero": lambda L: [L.is_nonzero(L.ones(1)), L.is_nonzero(L.tensor(0))],
    "can_cast": lambda L: [L.can_cast(L.float32, L.int64), L.can_cast(L.int64, L.int8)],
    "finfo": lambda L: [repr(L.finfo(getattr(L, n))) for n in ("float16", "float32", "float64")],
    "iinfo": lambda L: [repr(L.iinfo(getattr(L, n))) for n in ("int8", "uint8", "int32", "int64")],
    "Size": lambda L: [repr(s) for s in (L.Size([2]) + (3,), L.Size([2]) * 2, L.Size([2, 3])[1:])],  # noqa: RUF005
    "Size.numel": lambda L: [L.Size([2, 3]).numel(), type((1,) + L.Size([2])).__name__],  # noqa: RUF005
    "dtype": lambda L: [L.float32.itemsize, L.int8.is_signed, L.uint8.is_signed, L.float16.is_floating_point],
    "default device": lambda L: repr(L.get_default_device()),
    "from_dlpack": lambda L: L.from_dlpack(np.ones(2)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_result_is_what_it_is_under_torch(name: str) -> None:
    ours, theirs = EXPRESSIONS[name](rlgrad), EXPRESSIONS[name](torch)
    assert type(ours).__name__ == type(theirs).__name__
    assert repr(ours) == repr(theirs)


def test_memory_is_shared_with_torch_both_ways() -> None:
    x = rlgrad.zeros(3)
    torch.from_dlpack(x)[0] = 5
    assert x.tolist() == [5.0, 0.0, 0.0]
    y = torch.zeros(2)
    rlgrad.from_dlpack(y)[1] = 7
    assert y.tolist() == [0.0, 7.0]
    capsule = rlgrad.utils.dlpack.to_dlpack(x)
    assert torch.utils.dlpack.from_dlpack(capsule)[0] == 5
    with pytest.raises(BufferError):
        torch.from_dlpack(rlgrad.ones(1, requires_grad=True))


@pytest.mark.parametrize("library", ["jax", "cupy"])
def test_memory_is_read_by_other_libraries_where_they_are_installed(library: str) -> None:
    module = pytest.importorskip(library)
    if library == "cupy":
        if not rlgrad.cuda.is_available():
            pytest.skip("no GPU")
        assert rlgrad.from_dlpack(module.ones(2)).is_cuda
    else:
        assert np.asarray(module.dlpack.from_dlpack(rlgrad.ones(2))).tolist() == [1.0, 1.0]
        assert rlgrad.from_dlpack(module.numpy.ones(2)).tolist() == [1.0, 1.0]


def test_tensors_sizes_and_generators_survive_pickling_and_copying() -> None:
    x = rlgrad.ones(2, dtype=rlgrad.float64, requires_grad=True)
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert other.requires_grad
        assert other.dtype is rlgrad.float64
        assert other.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x.shape)) == x.shape
    g = rlgrad.Generator().manual_seed(1)
    rlgrad.rand(3, generator=g)
    twin, copied = g.clone_state(), copy.deepcopy(g)
    expected = rlgrad.rand(2, generator=g).tolist()
    assert rlgrad.rand(2, generator=twin).tolist() == expected
    assert rlgrad.rand(2, generator=copied).tolist() == expected


def test_the_default_device_is_chosen_for_good_or_for_a_block() -> None:
    with rlgrad.device("cpu"):
        assert rlgrad.get_default_device() == rlgrad.device("cpu")
    rlgrad.set_default_device("cpu")
    assert not rlgrad.ones(1).is_cuda
    if not rlgrad.cuda.is_available():
        with pytest.raises(RuntimeError, match="cuda"):
            rlgrad.set_default_device("cuda")
        assert rlgrad.cuda.memory_allocated() == rlgrad.cuda.max_memory_allocated() == 0
        assert rlgrad.cuda.device_count() == 0
