"""Optimizers walk torch's path to the last digits, and exchange their state with torch's."""

import numpy as np
import pytest

import rlgrad
from rlgrad import optim

torch = pytest.importorskip("torch")

OPTIONS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "maximize": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "maximize": True}),
]
IDS = [f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})" for name, options in OPTIONS]
SHAPES = [(3, 2), (), (4,), (1, 2, 2)]


def parameters(library):
    rng = np.random.default_rng(0)
    return [library.from_numpy(np.array(rng.standard_normal(s))).requires_grad_() for s in SHAPES]


def groups(params):
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.02}]


def walk(optimizer, params, library, steps, first=0, missing=True):
    for step in range(first, first + steps):
        rng = np.random.default_rng(100 + step)
        for index, p in enumerate(params):
            gradient = np.array(rng.standard_normal(tuple(p.shape)))
            p.grad = None if missing and (step + index) % 5 == 0 and index else library.from_numpy(gradient)
        optimizer.step()


def assert_close(mine, other):
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("missing", [False, True], ids=["every gradient", "some gradients missing"])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_thirty_steps_are_torchs(name, options, missing):
    mine, other = parameters(rlgrad), parameters(torch)
    walk(getattr(optim, name)(groups(mine), **options), mine, rlgrad, 30, missing=missing)
    walk(getattr(torch.optim, name)(groups(other), **options), other, torch, 30, missing=missing)
    assert_close(mine, other)


def converted(value, library):
    if isinstance(value, dict):
        return {k: converted(v, library) for k, v in value.items()}
    if isinstance(value, list):
        return [converted(v, library) for v in value]
    return library.from_numpy(np.array(value.detach().numpy())) if hasattr(value, "numpy") else value


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_state_goes_from_torch_to_rlgrad_and_back(name, options):
    mine, other = parameters(rlgrad), parameters(torch)
    ours = getattr(optim, name)(groups(mine), **options)
    theirs = getattr(torch.optim, name)(groups(other), **options)
    walk(theirs, other, torch, 7)
    with rlgrad.no_grad():
        for a, b in zip(mine, other, strict=True):
            a.copy_(rlgrad.from_numpy(np.array(b.detach().numpy())))
    ours.load_state_dict(converted(theirs.state_dict(), rlgrad))
    state, wanted = ours.state_dict(), theirs.state_dict()
    assert {k: set(v) for k, v in state["state"].items()} == {k: set(v) for k, v in wanted["state"].items()}
    assert [set(g) for g in state["param_groups"]] == [set(g) for g in wanted["param_groups"]]
    walk(ours, mine, rlgrad, 5, first=7)
    walk(theirs, other, torch, 5, first=7)
    assert_close(mine, other)
    fresh = parameters(torch)
    with torch.no_grad():
        for a, b in zip(fresh, mine, strict=True):
            a.copy_(torch.from_numpy(np.array(b.detach().numpy())))
    again = getattr(torch.optim, name)(groups(fresh), **options)
    again.load_state_dict(converted(ours.state_dict(), torch))
    walk(ours, mine, rlgrad, 5, first=12)
    walk(again, fresh, torch, 5, first=12)
    assert_close(mine, fresh)


def test_step_returns_the_closures_loss_and_bumps_versions():
    (p, *_) = parameters(rlgrad)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    version = p._version
    first = optimizer.step(closure).item()
    assert p._version == version + 1
    assert optimizer.step(closure).item() < first


@pytest.mark.parametrize(
    ("kind", "options"),
    [("SGD", {"lr": -1}), ("SGD", {"nesterov": True}), ("Adam", {"betas": (1.0, 0.9)}), ("RMSprop", {"eps": -1.0})],
)
def test_options_out_of_range_are_refused_as_by_torch(kind, options):
    for library, module in ((rlgrad, optim), (torch, torch.optim)):
        with pytest.raises(ValueError):  # noqa: PT011 - torch words some of these differently
            getattr(module, kind)(parameters(library), **options)


def test_make_names_the_nearest_optimizer_and_option():
    with pytest.raises(ValueError, match="'adam'"):
        optim.make("adm", parameters(rlgrad))
    with pytest.raises(TypeError, match="'weight_decay'"):
        optim.make("adam", parameters(rlgrad), wieght_decay=0.1)
    assert isinstance(optim.make("rmsprop", parameters(rlgrad), lr=0.1), optim.RMSprop)


def test_state_with_other_groups_is_refused():
    state = optim.Adam(parameters(rlgrad)).state_dict()
    with pytest.raises(ValueError, match="groups"):
        optim.Adam(groups(parameters(rlgrad))).load_state_dict(state)
    with pytest.raises(ValueError, match="size"):
        optim.Adam(parameters(rlgrad)[:2]).load_state_dict(state)
