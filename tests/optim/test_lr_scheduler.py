"""Schedules give torch's rates at every step, also after they were saved and loaded."""

import pickle

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
            saved = pickle.loads(pickle.dumps((mine.state_dict(), ours.state_dict())))
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
