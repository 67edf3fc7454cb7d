"""Compiled kernels give what NumPy gives, in one thread and in several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops import mlp
from rlgrad.backend import threads
from rlgrad.backend.kernels import im2col, jit, winograd
from rlgrad.backend.kernels.im2col import Geometry
from rlgrad.nn import functional as F
from rlgrad.nn.utils.rnn import pack_padded_sequence

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
        largest = np.abs(c[np.isfinite(c)]).max(initial=1)
        np.testing.assert_allclose(a, c, rtol=tolerance, atol=tolerance * largest)


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


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lengths", [None, [6, 4, 4, 1, 1]])
def test_lstm(monkeypatch, lengths, bias):
    rlgrad.manual_seed(0)
    net = rlgrad.nn.LSTM(3, 7, num_layers=2, bidirectional=True, bias=bias)
    x = rlgrad.randn(6, 5, 3, requires_grad=True)
    state = [rlgrad.randn(4, 5, 7, requires_grad=True) for _ in range(2)]

    def compute() -> list[np.ndarray]:
        leaves = [x, *state, *net.parameters()]
        inputs = x if lengths is None else pack_padded_sequence(x, lengths)
        out, last = net(inputs, tuple(state))
        flat = out if lengths is None else out.data
        total = (flat * flat).sum() + sum(t.sin().sum() for t in last)
        return [t.detach().numpy() for t in (flat, *last, *rlgrad.autograd.grad(total, leaves))]

    check(monkeypatch, compute)


def test_gates_saturate_and_keep_what_is_not_a_number():
    kernels = jit.compiled()
    hidden = 4
    scale = np.array([0.5] * 8 + [1.0] * 4 + [0.5] * 4, np.float32)
    values = np.array([-1e30, -20.0, 1e-20, np.nan], np.float32)
    gates = np.tile(values, 4).reshape(1, 1, 4 * hidden).copy()
    states, cells = np.zeros((2, 1, hidden), np.float32), np.zeros((2, 1, hidden), np.float32)
    squashed, weight = np.empty((1, 1, hidden), np.float32), np.zeros(4 * hidden * hidden, np.float32)
    kernels.lstm(gates, weight, scale, states, cells, squashed, np.array([1]), 0, 1)
    np.testing.assert_allclose(gates[0, 0, :4], [0, 2e-9, 0.5, np.nan], atol=2e-7)
    np.testing.assert_allclose(gates[0, 0, 8:12], [-1, -1, 1e-20, np.nan], rtol=1e-6)
    x = np.linspace(-10, 10, 4001, dtype=np.float32)
    gates = np.zeros((1, len(x), 4), np.float32)
    gates[0, :, 2] = x
    arrays = [np.zeros((2, len(x), 1), np.float32) for _ in range(2)]
    one_unit = np.array([0.5, 0.5, 1, 0.5], np.float32)
    sizes = np.array([len(x)])
    kernels.lstm(
        gates, np.zeros(4, np.float32), one_unit, *arrays, np.empty((1, len(x), 1), np.float32), sizes, 0, len(x)
    )
    exact = np.tanh(x.astype(np.float64))
    assert (np.abs(gates[0, :, 2] - exact) <= 5 * np.spacing(np.abs(exact).astype(np.float32))).all()


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 1, "padding": 1}, {"dilation": (2, 1)}, {"stride": 2, "padding": (1, 0), "ceil_mode": True}],
)
def test_max_pool(monkeypatch, options):
    x = np.random.default_rng(0).integers(0, 5, (2, 3, 7, 6)).astype(np.float32)  # with ties
    x[0, 0, 2, 3] = x[1, 2, 0, 0] = np.nan
    x[1, 1] = -np.inf

    def compute() -> list[np.ndarray]:
        leaf = rlgrad.from_numpy(x).requires_grad_()
        values, indices = F.max_pool2d(leaf, (3, 2), return_indices=True, **options)
        values.backward(rlgrad.arange(values.numel(), dtype=values.dtype).reshape(values.shape))
        return [values.detach().numpy(), indices.numpy(), leaf.grad.numpy()]

    check(monkeypatch, compute)
    torch = pytest.importorskip("torch")
    theirs = torch.nn.functional.max_pool2d(torch.from_numpy(x), (3, 2), return_indices=True, **options)
    for mine, other in zip(compute(), theirs, strict=False):
        np.testing.assert_array_equal(mine, other.numpy())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("activation", [mlp.relu, mlp.LeakyReLU(0.2)], ids=["relu", "leaky relu"])
def test_what_stands_between_linear_layers(monkeypatch, activation, dtype):
    monkeypatch.setattr(jit, "WORTH_LOADING", 0)
    h, bias, g = (
        np.random.default_rng(i).standard_normal(s).astype(dtype) for i, s in enumerate([(9, 7), (7,), (9, 7)])
    )
    h[0] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1]
    bias[:2] = 0

    def compute():
        out = h.copy()
        activation.apply(out, bias)
        return [out, activation.backward(g, out), activation.backward(np.asfortranarray(g), out)]

    check(monkeypatch, compute)
