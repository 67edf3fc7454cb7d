"""Compiled kernels give what NumPy gives, in one thread and in several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rlgrad.backend import threads
from rlgrad.backend.kernels import im2col, jit, winograd
from rlgrad.backend.kernels.im2col import Geometry

pytest.importorskip("numba")

WINDOWS = {
    "stride 2": ((5, 3, 9, 8), (4, 3, 4, 4), (2, 2), (1, 1), (1, 1)),
    "dilation": ((3, 2, 9, 10), (4, 2, 3, 2), (1, 2), (2, 0), (2, 3)),
    "uncovered rows": ((2, 4, 11, 9), (3, 4, 3, 3), (3, 2), (0, 0), (1, 1)),
    "one window": ((7, 6, 4, 4), (1, 6, 4, 4), (1, 1), (0, 0), (1, 1)),
    "empty batch": ((0, 3, 9, 8), (4, 3, 4, 4), (2, 2), (1, 1), (1, 1)),
}
TILES = {
    "two taps": ((5, 16, 12, 8), (32, 16, 4, 4), (2, 2), (1, 1)),
    "three taps, odd extents": ((3, 32, 7, 9), (33, 32, 3, 3), (1, 1), (1, 1)),
    "uncovered rows": ((2, 16, 11, 9), (32, 16, 4, 4), (2, 2), (0, 0)),
    "stride 4": ((2, 4, 20, 16), (32, 4, 8, 8), (4, 4), (2, 2)),
}


def check(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], list[np.ndarray]]) -> None:
    compiled = compute()
    with monkeypatch.context() as patch:
        patch.setattr(threads, "get_num_threads", lambda: 3)
        patch.setattr(jit, "_WORTHWHILE", 1)
        shared = compute()
        patch.setattr(jit, "compiled", lambda: None)
        plain = compute()
    for a, b, c in zip(compiled, shared, plain, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == c.dtype
        tolerance = 1e-12 if a.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(a, c, rtol=tolerance, atol=tolerance * max(np.abs(c).max(initial=0), 1))


def test_the_switch_and_other_dtypes_leave_numpy(monkeypatch):
    assert jit.suits(np.ones(2), np.ones(3))
    assert not jit.suits(np.ones(2), np.ones(2, np.float32))
    assert not jit.suits(np.ones(2, np.float16))
    monkeypatch.setenv("RLGRAD_JIT", "0")
    jit.compiled.cache_clear()
    try:
        assert not jit.suits(np.ones(2))
    finally:
        jit.compiled.cache_clear()


def operands(shape: Any, kernel: Any, out: Any, dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(dtype) for s in (shape, kernel, (shape[0], kernel[0], *out))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(monkeypatch, name, dtype):
    shape, kernel, stride, low, dilation = WINDOWS[name]
    out = im2col.out_extents(shape[2:], kernel[2:], stride, low, low, dilation)
    geometry = Geometry(out, kernel[2:], stride, low, dilation, 1)
    x, w, g = operands(shape, kernel, out, dtype)
    check(
        monkeypatch,
        lambda: [
            im2col.forward(np, geometry, x, w),
            im2col.input_gradient(np, geometry, g, w, shape[2:]),
            im2col.weight_gradient(np, geometry, g, x),
        ],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TILES)
def test_tiles(monkeypatch, name, dtype):
    shape, kernel, stride, low = TILES[name]
    out = im2col.out_extents(shape[2:], kernel[2:], stride, low, low, (1, 1))
    plan = winograd.plan(Geometry(out, kernel[2:], stride, low, (1, 1), 1), kernel)
    assert plan is not None
    x, w, g = operands(shape, kernel, out, dtype)
    check(
        monkeypatch,
        lambda: [
            winograd.forward(plan, x, w),
            winograd.input_gradient(plan, g, w, shape[2:]),
            winograd.weight_gradient(plan, g, x, kernel),
        ],
    )
