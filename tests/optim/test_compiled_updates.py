"""Compiled updates of large parameters are torch's, and those in NumPy."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim
from rlgrad.backend.kernels import jit
from rlgrad.optim import adam

torch = pytest.importorskip("torch")

OPTIONS = [
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.0, "betas": (0.5, 0.6), "eps": 1e-3}),
    ("AdamW", {"weight_decay": 0.2, "amsgrad": True}),
]
IDS = [f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})" for name, options in OPTIONS]


@pytest.fixture(params=["compiled", "plain"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(jit, "compiled", lambda: None)
    elif jit.compiled() is None:
        pytest.skip("Numba is not installed")


def leaves(library, dtype=np.float64, turned=False):
    rng = np.random.default_rng(0)
    params = [library.from_numpy(rng.standard_normal(shape).astype(dtype)) for shape in ((60, 70), (70,), (), (9, 50))]
    if turned:
        params[0] = params[0].t()
    return [p.clone().requires_grad_() if not turned else p.requires_grad_() for p in params]


def walk(library, params, optimizer, missing):
    for step in range(12):
        rng = np.random.default_rng(step)
        for index, p in enumerate(params):
            grad = np.array(rng.standard_normal(tuple(p.shape)), np.float64)
            p.grad = None if missing and (step + index) % 4 == 0 else library.from_numpy(grad).to(p.dtype)
        optimizer.step()
    return [p.detach().numpy() for p in params]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("together", [0, 1 << 16], ids=["one by one", "together"])
@pytest.mark.parametrize("missing", [False, True], ids=["every gradient", "some missing"])
@pytest.mark.parametrize("turned", [False, True], ids=["contiguous", "turned"])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_steps_are_torchs(name, options, turned, missing, together, monkeypatch):
    monkeypatch.setattr(adam, "TOGETHER", together)
    found, states = [], []
    for library in (rlgrad, torch):
        params = leaves(library, turned=turned)
        optimizer = getattr(library.optim, name)(params, **{"lr": 0.05, **options})
        found.append(walk(library, params, optimizer, missing))
        states.append(optimizer.state_dict()["state"])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)
    for number, state in states[1].items():
        for key, value in state.items():
            np.testing.assert_allclose(states[0][number][key].numpy(), value.numpy(), rtol=1e-8, atol=1e-14)


def test_single_precision_agrees_with_numpy(monkeypatch):
    if jit.compiled() is None:
        pytest.skip("Numba is not installed")
    found = []
    for compiled in (jit.compiled, lambda: None):
        monkeypatch.setattr(jit, "compiled", compiled)
        params = leaves(rlgrad, np.float32)
        found.append(walk(rlgrad, params, optim.Adam(params, lr=0.05, amsgrad=True), missing=False))
    for a, b in zip(*found, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@pytest.mark.usefixtures("way")
def test_what_is_not_a_number_stays():
    params = leaves(rlgrad)
    optimizer = optim.Adam(params, amsgrad=True)
    for gradient in (np.nan, 1.0, 1.0):
        for p in params:
            p.grad = rlgrad.full_like(p, gradient)
        optimizer.step()
    assert all(bool(p.isnan().all()) for p in params)
    assert all(bool(s["max_exp_avg_sq"].isnan().all()) for s in optimizer.state.values())


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shared", [False, True], ids=["next to each other", "held elsewhere"])
def test_targets_go_their_share_of_the_way(shared):
    source, target = (nn.Sequential(nn.Linear(60, 70), nn.Linear(70, 9)) for _ in range(2))
    held = [p.detach() for p in target.parameters()] if shared else []
    before = [p.detach().numpy().copy() for p in target.parameters()]
    versions = [p._version for p in target.parameters()]
    for _ in range(2):
        optim.polyak_update(source, target, 0.3)
    for p, q, old in zip(source.parameters(), target.parameters(), before, strict=True):
        wanted = p.detach().numpy() + 0.49 * (old - p.detach().numpy())
        np.testing.assert_allclose(q.detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert [p._version for p in target.parameters()] == [v + 2 for v in versions]
    assert [a.tolist() for a in held] == [p.tolist() for p in target.parameters()][: len(held)]
