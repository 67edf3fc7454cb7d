"""The two ways to compute a convolution agree with each other, are adjoint in both operands, and with torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.backend.kernels import im2col, winograd
from rlgrad.backend.kernels.im2col import Geometry
from rlgrad.nn import functional as F

CASES = {
    "two taps, stride 2": ((3, 64, 12, 8), (64, 64, 4, 4), (2, 2), (1, 1), (1, 1)),
    "two taps, stride 1, odd extents": ((2, 128, 6, 8), (128, 128, 2, 2), (1, 1), (0, 0), (0, 0)),
    "two taps, unequal strides": ((2, 32, 13, 9), (128, 32, 4, 6), (2, 3), (1, 2), (0, 1)),
    "two taps, rows that no window covers": ((2, 64, 11, 9), (64, 64, 4, 4), (2, 2), (0, 0), (0, 0)),
    "three taps": ((2, 128, 7, 9), (128, 128, 3, 3), (1, 1), (1, 1), (1, 1)),
    "three taps, 'same' of one kind": ((2, 128, 6, 6), (130, 128, 3, 3), (1, 1), (1, 0), (1, 2)),
    "three taps, stride 2": ((2, 32, 12, 14), (128, 32, 6, 6), (2, 2), (2, 2), (2, 1)),
    "several chunks": ((70, 64, 12, 12), (64, 64, 4, 4), (2, 2), (1, 1), (1, 1)),
    "empty batch": ((0, 128, 7, 9), (128, 128, 3, 3), (1, 1), (1, 1), (1, 1)),
}


def prepared(case: Any) -> tuple[Any, ...]:
    shape, kernel, stride, low, high = case
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shape), rng.standard_normal(kernel) / math.sqrt(math.prod(kernel[1:]))
    out = im2col.out_extents(shape[2:], kernel[2:], stride, low, high, (1, 1))
    geometry = Geometry(out, kernel[2:], stride, low, (1, 1), 1)
    plan = winograd.plan(geometry, kernel)
    assert plan is not None
    return plan, geometry, x, w, rng.standard_normal((shape[0], kernel[0], *out))


@pytest.mark.parametrize("name", CASES)
def test_minimal_filtering_is_the_direct_convolution(name):
    plan, geometry, x, w, g = prepared(CASES[name])
    direct = im2col.forward(np, geometry, x, w)
    np.testing.assert_allclose(winograd.forward(plan, x, w), direct, rtol=1e-12, atol=1e-12)
    direct = im2col.input_gradient(np, geometry, g, w, x.shape[2:])
    np.testing.assert_allclose(winograd.input_gradient(plan, g, w, x.shape[2:]), direct, rtol=1e-12, atol=1e-12)
    direct = im2col.weight_gradient(np, geometry, g, x)
    np.testing.assert_allclose(winograd.weight_gradient(plan, g, x, w.shape), direct, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in CASES if name != "empty batch"])
def test_gradients_are_the_adjoints(name):
    _, geometry, x, w, g = prepared(CASES[name])
    want = np.vdot(im2col.forward(np, geometry, x, w), g)
    assert np.vdot(x, im2col.input_gradient(np, geometry, g, w, x.shape[2:])) == pytest.approx(want, rel=1e-11)
    assert np.vdot(w, im2col.weight_gradient(np, geometry, g, x)) == pytest.approx(want, rel=1e-11)


def test_rounding_in_float32_stays_that_of_the_direct_sum():
    plan, geometry, x, w, _ = prepared(CASES["several chunks"])
    exact = im2col.forward(np, geometry, x, w)
    single = [a.astype(np.float32) for a in (x, w)]
    direct = np.abs(im2col.forward(np, geometry, *single) - exact).max()
    assert np.abs(winograd.forward(plan, *single) - exact).max() < 4 * direct


@pytest.mark.parametrize(
    ("kernel", "stride", "out", "dilation", "groups"),
    [
        ((128, 128, 3, 3), (2, 2), (4, 4), (1, 1), 1),
        ((128, 128, 3, 3), (1, 1), (4, 4), (2, 2), 1),
        ((128, 64, 3, 3), (1, 1), (4, 4), (1, 1), 2),
        ((128, 128, 5, 5), (1, 1), (4, 4), (1, 1), 1),
        ((128, 128, 3, 3), (1, 1), (1, 4), (1, 1), 1),
        ((8, 8, 3, 3), (1, 1), (4, 4), (1, 1), 1),
        ((128, 128, 3), (1,), (4,), (1,), 1),
    ],
)
def test_other_convolutions_have_no_plan(kernel, stride, out, dilation, groups):
    geometry = Geometry(out, kernel[2:], stride, (0,) * len(out), dilation, groups)
    assert winograd.plan(geometry, kernel) is None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("taps", "stride"), [(4, 2), (3, 1)])
def test_wide_layers_have_torchs_values_and_derivatives(transposed, taps, stride):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    data = [rng.standard_normal(shape) for shape in ((2, 128, 6, 5), (128, 128, taps, taps), (128,))]
    found = []
    for library, functional in ((rlgrad, F), (torch, torch.nn.functional)):
        leaves = [library.from_numpy(a.copy()).requires_grad_() for a in data]
        call = functional.conv_transpose2d if transposed else functional.conv2d
        y = call(*leaves, stride, 1)
        first = library.autograd.grad((y * y).sum(), leaves, create_graph=True)
        second = library.autograd.grad(sum((g * g).sum() for g in first), leaves)
        found.append([t.detach().numpy() for t in (y, *first, *second)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_half_precision_and_integers_are_summed_directly():
    geometry = Geometry((4, 4), (3, 3), (1, 1), (0, 0), (1, 1), 1)
    assert winograd.plan(geometry, (128, 128, 3, 3), np.float64) is not None
    assert winograd.plan(geometry, (128, 128, 3, 3), np.float16) is None
    assert winograd.plan(geometry, (128, 128, 3, 3), np.int64) is None


def test_an_empty_batch_has_empty_images_and_a_gradient_of_zero():
    for channels in (2, 128):
        x, w = rlgrad.ones(0, channels, 6, 6, requires_grad=True), rlgrad.ones(128, channels, 3, 3, requires_grad=True)
        y = F.conv2d(x, w)
        y.sum().backward()
        assert (y.shape, x.grad.shape) == ((0, 128, 4, 4), x.shape)
        assert not w.grad.any()


@pytest.mark.parametrize(
    ("kernel", "low", "dilation", "groups"),
    [
        ((4, 6, 3, 3), (1, 1), (1, 1), 1),
        ((4, 3, 3, 2), (0, 1), (1, 2), 2),
        ((4, 6, 2, 4), (1, 3), (2, 1), 1),
        ((4, 6, 3, 3), (0, 0), (1, 1), 1),  # more points than windows: added window by window
        ((4, 6, 3, 3), (3, 4), (1, 1), 1),  # more padding than the kernel reaches: likewise
        ((8, 6, 3, 3), (1, 1), (1, 1), 1),  # more filters than channels: likewise
    ],
)
def test_the_adjoint_of_a_convolution_of_stride_one(kernel, low, dilation, groups):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 6, 7, 9)), rng.standard_normal(kernel)
    out = im2col.out_extents(x.shape[2:], kernel[2:], (1, 1), low, low, dilation)
    geometry = Geometry(out, kernel[2:], (1, 1), low, dilation, groups)
    g = rng.standard_normal((2, kernel[0], *out))
    want = np.vdot(im2col.forward(np, geometry, x, w), g)
    dx = im2col.input_gradient(np, geometry, g, w, x.shape[2:])
    assert dx.shape == x.shape
    assert np.vdot(dx, x) == pytest.approx(want, rel=1e-12)
    bump = rng.standard_normal(x.shape)
    assert np.vdot(dx, bump) == pytest.approx(np.vdot(im2col.forward(np, geometry, bump, w), g), rel=1e-10)


@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize(
    ("extents", "taps", "stride", "low", "dilation"),
    [
        ((22, 19), (4, 4), (2, 2), (1, 1), (1, 1)),
        ((20, 33), (3, 2), (1, 3), (2, 0), (2, 1)),  # a stride that leaves the last columns out
        ((97,), (5,), (1,), (2,), (1,)),
        ((9, 8, 7), (3, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1)),
    ],
)
def test_the_adjoint_into_few_channels(channels, extents, taps, stride, low, dilation):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, channels, *extents)), rng.standard_normal((6, channels, *taps))
    geometry = Geometry(im2col.out_extents(extents, taps, stride, low, low, dilation), taps, stride, low, dilation, 1)
    assert geometry.points >= 64
    g = rng.standard_normal((3, 6, *geometry.out))
    dx = im2col.input_gradient(np, geometry, g, w, extents)
    assert dx.shape == x.shape
    for places in np.ndindex(extents):
        if sum(places) % 7 == 0:  # a sample of them
            bump = np.zeros_like(x)
            bump[1, channels - 1, *places] = 1.0
            moved = np.vdot(im2col.forward(np, geometry, bump, w), g)
            assert dx[1, channels - 1, *places] == pytest.approx(moved, rel=1e-10, abs=1e-12)
