"""Schedules give torch's rates at every step, also after they were saved and loaded."""

import copy
import warnings

import numpy as np
import pytest

import rlgrad
from rlgrad import optim
from rlgrad.optim import lr_scheduler

torch = pytest.importorskip("torch")

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 0.9**t),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda t: 0.9**t, lambda t: 1 / (t + 1)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda t: 0.9 + 0.01 * t),
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.25, 0.75, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "one cycle": lambda s, o: s.OneCycleLR(o, 1.0, 16),
    "one cycle, linear, three phases": lambda s, o: s.OneCycleLR(
        o, [1.0, 2.0], epochs=4, steps_per_epoch=5, anneal_strategy="linear", three_phase=True, pct_start=0.2
    ),
    "one cycle without momentum": lambda s, o: s.OneCycleLR(o, 1.0, 16, cycle_momentum=False),
    "triangular": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3),
    "triangular2": lambda s, o: s.CyclicLR(o, 0.1, [1.0, 2.0], 3, 2, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9),
    "custom cycle": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 20), s.LinearLR(o, 0.5, 1.0, 4), s.ExponentialLR(o, 0.9)], [3, 7]
    ),
    "sequential with restarts": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingWarmRestarts(o, 3)], [4]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
}


def optimizer(library, module, name):
    rng = np.random.default_rng(0)
    params = [library.from_numpy(rng.standard_normal(3)).requires_grad_() for _ in range(2)]
    for p in params:
        p.grad = library.zeros(3, dtype=library.float64)
    options = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(module, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.5, **options)


def shown(opt, schedule):
    momenta = [g.get("momentum", g.get("betas")) for g in opt.param_groups]
    return np.hstack([schedule.get_last_lr(), [g["lr"] for g in opt.param_groups], np.ravel(momenta)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_every_step_is_torchs_also_after_a_resume(name, kind):
    build = SCHEDULES[name]
    mine, other = optimizer(rlgrad, optim, kind), optimizer(torch, torch.optim, kind)
    ours, theirs = build(lr_scheduler, mine), build(torch.optim.lr_scheduler, other)
    for step in range(16):
        np.testing.assert_allclose(shown(mine, ours), shown(other, theirs), rtol=1e-12, atol=1e-14)
        if step == 6:
            saved = copy.deepcopy((mine.state_dict(), ours.state_dict()))
            mine = optimizer(rlgrad, optim, kind)
            ours = build(lr_scheduler, mine)
            mine.load_state_dict(saved[0])
            ours.load_state_dict(saved[1])
        for opt, schedule in ((mine, ours), (other, theirs)):
            opt.step()
            schedule.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["step", "milestones", "constant", "linear", "exponential", "polynomial", "cosine"])
def test_an_epoch_asked_for_uses_the_closed_form(name):
    mine, other = optimizer(rlgrad, optim, "SGD"), optimizer(torch, torch.optim, "SGD")
    ours, theirs = SCHEDULES[name](lr_scheduler, mine), SCHEDULES[name](torch.optim.lr_scheduler, other)
    for epoch in (4, 9, 2):
        ours.step(epoch)
        theirs.step(epoch)
        np.testing.assert_allclose(shown(mine, ours), shown(other, theirs), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_a_plateau_reduces_the_rate_when_torch_does(mode, threshold_mode):
    metrics = np.round(np.random.default_rng(1).standard_normal(60), 1)
    options = {"patience": 2, "cooldown": 1, "threshold": 0.1, "min_lr": [0.01, 0.05], "factor": 0.5}
    options |= {"mode": mode, "threshold_mode": threshold_mode}
    mine, other = optimizer(rlgrad, optim, "SGD"), optimizer(torch, torch.optim, "SGD")
    ours = lr_scheduler.ReduceLROnPlateau(mine, **options)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(other, **options)
    for metric in metrics:
        ours.step(metric)
        theirs.step(metric)
        assert ours.get_last_lr() == theirs.get_last_lr()
    assert mine.param_groups[0]["lr"] < 0.5


def test_mistakes_are_named():
    sgd = optim.SGD([rlgrad.zeros(2).requires_grad_()], lr=0.1)
    with pytest.raises(ValueError, match="total_steps"):
        lr_scheduler.OneCycleLR(sgd, 1.0)
    with pytest.raises(ValueError, match="2 values"):
        lr_scheduler.CyclicLR(sgd, [0.1, 0.2], 1.0)
    with pytest.raises(TypeError, match="not an Optimizer"):
        lr_scheduler.ExponentialLR("adam", 0.9)
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.ExponentialLR(optim.SGD([rlgrad.zeros(2).requires_grad_()], lr=0.1), 0.9, last_epoch=3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCHEDULES)
def test_states_are_torchs_key_for_key_and_change_hands(name):
    runs = []
    for library, module, schedules in ((rlgrad, optim, lr_scheduler), (torch, torch.optim, torch.optim.lr_scheduler)):
        opt = optimizer(library, module, "SGD")
        schedule = SCHEDULES[name](schedules, opt)
        for _ in range(5):
            opt.step()
            schedule.step()
        runs.append((opt, schedule, schedules))
    states = [copy.deepcopy(schedule.state_dict()) for _, schedule, _ in runs]
    assert set(states[0]) == set(states[1])
    # Each goes on from the other's state.
    for (opt, schedule, _), state in zip(runs, reversed(states), strict=True):
        schedule.load_state_dict(state)
        for _ in range(4):
            opt.step()
            schedule.step()
    np.testing.assert_allclose(shown(*runs[0][:2]), shown(*runs[1][:2]), rtol=1e-12, atol=1e-14)


MISTAKES = {
    "factor above one": lambda s, o: s.ConstantLR(o, factor=2),
    "no start": lambda s, o: s.LinearLR(o, start_factor=0),
    "end above one": lambda s, o: s.LinearLR(o, end_factor=2),
    "not a function": lambda s, o: s.LambdaLR(o, [1]),
    "too many functions": lambda s, o: s.LambdaLR(o, [lambda t: 1.0] * 2),
    "nothing in sequence": lambda s, o: s.SequentialLR(o, [], []),
    "too many milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "a plateau in sequence": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1), s.ReduceLROnPlateau(o)], [1]),
    "no schedule in sequence": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1), 3], [1]),
    "nothing chained": lambda s, o: s.ChainedScheduler([]),
    "a plateau chained": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "plateau: factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    "plateau: mode": lambda s, o: s.ReduceLROnPlateau(o, mode="least"),
    "plateau: rates": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1, 2]),
    "plateau: optimizer": lambda s, o: s.ReduceLROnPlateau("sgd"),
    "cycle: mode": lambda s, o: s.CyclicLR(o, 0.1, 1.0, mode="square"),
    "restarts: period": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts: factor": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    "restarts: epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
    "restarts: eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, eta_min="a"),
    "one cycle: steps": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=0),
    "one cycle: epochs": lambda s, o: s.OneCycleLR(o, 1.0, epochs=0, steps_per_epoch=1),
    "one cycle: share": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=5, pct_start=2),
    "one cycle: strategy": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="sine"),
    "no get_lr": lambda s, o: s.LRScheduler(o),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_raise_what_torch_raises(mistake):
    raised = []
    for library, module in ((rlgrad, optim), (torch, torch.optim)):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - torch says which
            mistake(module.lr_scheduler, module.SGD([library.zeros(2).requires_grad_()], lr=0.1))
        raised.append(caught.type)
    assert raised[0] is raised[1]


@pytest.mark.parametrize("library", ["rlgrad", "torch"])
def test_misuse_warns_as_in_torch(library):
    library, module = (rlgrad, optim) if library == "rlgrad" else (torch, torch.optim)
    opt = module.SGD([library.zeros(2).requires_grad_()], lr=0.1)
    schedule = module.lr_scheduler.ExponentialLR(opt, 0.5)
    with pytest.warns(UserWarning, match=r"before `optimizer\.step\(\)`"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
    assert schedule.get_last_lr() == [0.025]


@pytest.mark.parametrize("library", ["rlgrad", "torch"])
def test_a_rate_given_as_a_tensor_is_changed_in_place(library):
    library, module = (rlgrad, optim) if library == "rlgrad" else (torch, torch.optim)
    lr, p = library.tensor(0.5), library.zeros(2).requires_grad_()
    opt = module.SGD([p], lr=lr)
    schedule = module.lr_scheduler.StepLR(opt, 1, 0.5)
    p.grad = library.ones(2)
    for _ in range(2):
        opt.step()
        schedule.step()
    assert opt.param_groups[0]["lr"] is lr
    assert lr.item() == 0.125
    assert p.tolist() == [-0.75, -0.75]
