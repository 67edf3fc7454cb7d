"""Normalisation by parts has torch's values and derivatives, compiled and not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.backend.kernels import jit, norms
from rlgrad.nn import functional as F

LAYERS: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "batch": (lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), (5, 6, 3, 4), (6,)),
    "batch, one long plane": (lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), (1, 2, 5000), (2,)),
    "group": (lambda f, x, w, b: f.group_norm(x, 3, w, b), (5, 6, 3, 4), (6,)),
    "instance": (lambda f, x, w, b: f.instance_norm(x, None, None, w, b), (5, 6, 12), (6,)),
    "layer": (lambda f, x, w, b: f.layer_norm(x, (3, 4), w, b), (70, 2, 3, 4), (3, 4)),
    "layer, one feature": (lambda f, x, w, b: f.layer_norm(x, (1,), w, b), (4, 1), (1,)),
}


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "plain":
        monkeypatch.setattr(jit, "compiled", lambda: None)
    elif jit.compiled() is None:
        pytest.skip("Numba is not installed")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_values_and_derivatives_are_torchs(name, affine):
    torch = pytest.importorskip("torch")
    call, shape, features = LAYERS[name]
    rng = np.random.default_rng(0)
    data = [rng.standard_normal(s) for s in (shape, features, features)][: 3 if affine else 1]
    g = rng.standard_normal(shape)
    found = []
    for library, functional in ((rlgrad, F), (torch, torch.nn.functional)):
        leaves = [library.from_numpy(a.copy()).requires_grad_() for a in data]
        y = call(functional, *leaves, *[None] * (3 - len(leaves)))
        (y * library.from_numpy(g)).sum().backward()
        plain = [leaf.grad for leaf in leaves]
        y = call(functional, *leaves, *[None] * (3 - len(leaves)))
        first = library.autograd.grad((y * y * library.from_numpy(g)).sum(), leaves, create_graph=True)
        second = library.autograd.grad(sum((d * d).sum() for d in first), leaves)
        found.append([t.detach().numpy() for t in (y, *plain, *first, *second)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * max(np.abs(theirs).max(), 1))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mean_far_from_zero_costs_no_precision(dtype):
    rng = np.random.default_rng(0)
    x = (1000 + rng.standard_normal((4, 3, 3000))).astype(dtype)
    out, mean, rstd = norms.planes(x, None, None, 0, 0.0)
    exact = x.astype(np.float64)
    assert out.dtype == mean.dtype == rstd.dtype == dtype
    np.testing.assert_allclose(mean, exact.mean((0, 2)), rtol=1e-6)
    np.testing.assert_allclose(rstd, 1 / exact.std((0, 2)), rtol=1e-4 if dtype == np.float32 else 1e-10)
    assert np.abs(out.mean((0, 2))).max() < (1e-3 if dtype == np.float32 else 1e-10)


@pytest.mark.usefixtures("way")
def test_the_hand_computed_row():
    out, mean, rstd = norms.rows(np.array([[1.0, 3.0]]), np.array([1.0, 2.0]), np.array([0.0, 5.0]), 0.0)
    assert (out.tolist(), mean.tolist(), rstd.tolist()) == ([[-1.0, 7.0]], [2.0], [1.0])
    dx, dw, db = norms.rows_adjoint(np.array([[1.0, 1.0]]), np.array([[1.0, 3.0]]), None, mean, rstd)
    np.testing.assert_allclose(dx, [[0.0, 0.0]], atol=1e-15)
    assert (dw.tolist(), db.tolist()) == ([-1.0, 1.0], [1.0, 1.0])
    assert math.isclose(norms.rows(np.array([[0.0, 0.0]]), None, None, 0.25)[2][0], 2.0)


@pytest.mark.usefixtures("way")
def test_not_a_number_stays_in_its_statistics():
    x = np.random.default_rng(0).standard_normal((2, 3, 16))
    x[0, 1, 3] = np.nan
    out = norms.planes(x, None, None, 0, 1e-5)[0]
    assert np.isnan(out[:, 1]).all()
    assert np.isfinite(out[:, [0, 2]]).all()
