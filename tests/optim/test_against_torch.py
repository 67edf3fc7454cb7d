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
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.4, 1.5), "step_sizes": (1e-3, 0.03), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.05, "alpha": 0.5, "t0": 3, "weight_decay": 0.1, "maximize": True}),
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


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1, "betas": (0.7, 0.8)}, {"maximize": True}])
def test_lion_follows_its_paper(options):
    mine = parameters(rlgrad)
    wanted = [np.array(p.detach().numpy()) for p in mine]
    means = [np.zeros_like(w) for w in wanted]
    walk(optim.Lion(mine, lr=0.01, **options), mine, rlgrad, 30, missing=False)
    beta1, beta2 = options.get("betas", (0.9, 0.99))
    for step in range(30):
        rng = np.random.default_rng(100 + step)
        for i, value in enumerate(wanted):
            gradient = rng.standard_normal(value.shape) * (-1 if options.get("maximize") else 1)
            direction = np.sign(beta1 * means[i] + (1 - beta1) * gradient)
            wanted[i] = value - 0.01 * (direction + options.get("weight_decay", 0) * value)
            means[i] = beta2 * means[i] + (1 - beta2) * gradient
    for a, b in zip(mine, wanted, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-8, atol=1e-10)


def test_groups_and_schedules_list_their_settings_in_torchs_order():
    def listed(t):
        group = {"weight_decay": 0.1, "params": [t.nn.Parameter(t.ones(1))], "lr": 0.5}
        optimizer = t.optim.SGD([group], lr=0.1)
        schedule = t.optim.lr_scheduler.StepLR(optimizer, 2)
        return list(optimizer.param_groups[0]), list(schedule.state_dict())

    assert listed(rlgrad) == listed(torch)
