"""What programs set and ask before they compute: backends, compilation."""

from __future__ import annotations

import pytest

import rlgrad
from rlgrad.backends import cudnn


def test_switches_hold_what_they_are_set_to() -> None:
    for name, value in (("benchmark", True), ("deterministic", True), ("enabled", False), ("allow_tf32", False)):
        before = getattr(rlgrad.backends.cudnn, name)
        setattr(rlgrad.backends.cudnn, name, value)
        assert getattr(cudnn, name) is value
        setattr(rlgrad.backends.cudnn, name, before)
    rlgrad.backends.cuda.matmul.allow_tf32 = True
    assert rlgrad.backends.cuda.matmul.allow_tf32
    rlgrad.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError):
        rlgrad.backends.cuda.matmul.alow_tf32 = True


def test_what_is_not_used_is_not_available() -> None:
    for name in ("cudnn", "mps", "mkl", "mkldnn", "openmp"):
        assert getattr(rlgrad.backends, name).is_available() is False
    assert rlgrad.backends.mps.is_built() is False
    assert cudnn.version() is None


def test_flags_are_put_back_after_an_error() -> None:
    inside = []

    def fail() -> None:
        with cudnn.flags(enabled=False, benchmark=True):
            inside.append((cudnn.enabled, cudnn.benchmark))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert inside == [(False, True)]
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    with pytest.raises(TypeError, match="bench"):
        cudnn.set_flags(bench=True)


def test_compile_gives_back_what_it_gets() -> None:
    layer = rlgrad.nn.Linear(2, 2)
    assert rlgrad.compile(layer) is layer
    assert rlgrad.compile(layer, mode="max-autotune", fullgraph=True, dynamic=False, backend="eager") is layer

    @rlgrad.compile(fullgraph=True)
    def double(x: float) -> float:
        return 2 * x

    @rlgrad.compiler.disable
    def triple(x: float) -> float:
        return 3 * x

    assert (double(2), triple(2)) == (4, 6)
    assert not rlgrad.compiler.is_compiling()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"mode": "fastest"}, RuntimeError),
        ({"mode": "default", "options": {"a": 1}}, RuntimeError),
        ({"model": 3}, AssertionError),
    ],
)
def test_compile_refuses_what_torch_refuses(arguments: dict[str, object], error: type[Exception]) -> None:
    torch = pytest.importorskip("torch")
    for library in (rlgrad, torch):
        with pytest.raises(error):
            library.compile(**{"model": len, **arguments})
