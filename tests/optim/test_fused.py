"""The kernels that GPUs run, compiled here as C: what they compute is what NumPy computes."""

import contextlib
import types

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim
from rlgrad.backend.kernels import recording
from rlgrad.optim import flat, targets

from ..compiled_for_cpu import COMPILER, CompiledForCPU

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"momentum": 0.5, "dampening": 0.2}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}, {"lr": 0.0}],
    "AdamW": [{"weight_decay": 0.2, "amsgrad": True}],
    "Adamax": [{"weight_decay": 0.1}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1}],
    "Adagrad": [{"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3}],
    "Adadelta": [{"weight_decay": 0.1}],
    "Rprop": [{}, {"step_sizes": (1e-3, 0.02)}],
    "ASGD": [{}, {"t0": 3, "weight_decay": 0.1}],
    "Lion": [{"weight_decay": 0.1, "maximize": True}],
}
CASES = [
    pytest.param(name, options, id=f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})")
    for name, some in OPTIONS.items()
    for options in some
]


@pytest.fixture
def like_a_gpu(monkeypatch):
    """Arrays belong to a library that is not NumPy, and its kernels are compiled by the C compiler."""
    if COMPILER is None:
        pytest.skip("no C compiler")
    monkeypatch.setattr(CompiledForCPU, "calls", 0)
    library = types.SimpleNamespace(**vars(np), ElementwiseKernel=CompiledForCPU)
    recording._kernel.cache_clear()

    @contextlib.contextmanager
    def switched():
        with monkeypatch.context() as patch:
            patch.setattr(recording, "cupy", lambda: library)
            for module in (flat, targets):
                patch.setattr(module, "module_of", lambda array: library)
            yield

    yield switched
    recording._kernel.cache_clear()


def leaves(dtype, device, apart):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype(dtype) for shape in ((3, 4), (5,), (), (2, 3))]
    params = [rlgrad.tensor(value, device=device) for value in values]
    if apart:  # views stay where they are
        params[0] = params[0].t()
    return [p.requires_grad_() for p in params]


def walk(name, options, dtype=np.float64, device="cpu", apart=False, missing=False, steps=8):
    params = leaves(dtype, device, apart)
    optimizer = getattr(optim, name)(params, **options)
    for step in range(steps):
        rng = np.random.default_rng(step)
        for index, p in enumerate(params):
            gradient = rlgrad.tensor(np.array(rng.standard_normal(tuple(p.shape)), dtype), device=device)
            p.grad = None if missing and (step + index) % 3 == 0 else gradient
        optimizer.step()
    state = [value for entry in optimizer.state.values() for value in entry.values()]
    return [p.detach().cpu().numpy() for p in params + state], [p._version for p in params]


ways = pytest.mark.parametrize("how", [{}, {"apart": True, "missing": True}], ids=["together", "apart, some missing"])


@pytest.mark.parametrize(("name", "options"), CASES)
@ways
def test_kernels_compute_what_numpy_computes(name, options, how, like_a_gpu):
    wanted, versions = walk(name, options, **how)
    with like_a_gpu():
        found, counted = walk(name, options, **how)
    assert CompiledForCPU.calls == (sum(versions) if how else 8)  # one kernel for a step of all that lie side by side
    assert counted == versions
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "options"), CASES)
@ways
def test_a_gpu_computes_what_numpy_computes(name, options, how):
    wanted, versions = walk(name, options, **how)
    found, counted = walk(name, options, device="cuda", **how)
    assert counted == versions
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_numbers_are_no_part_of_the_kernel(like_a_gpu):
    with like_a_gpu():
        walk("Adam", {"lr": 0.1}, np.float32)
        walk("Adam", {"lr": 0.2, "betas": (0.5, 0.6)}, np.float64)
    assert recording._kernel.cache_info().currsize == 1


@pytest.mark.parametrize("name", ["Adam", "Adamax", "Lion", "Rprop"])
def test_what_is_not_a_number_stays_as_with_numpy(name, like_a_gpu):
    def run():
        p = rlgrad.zeros(3, requires_grad=True)
        optimizer = getattr(optim, name)([p])
        for gradient in ([np.nan, 1.0, np.inf], [1.0, np.nan, 2.0]):
            p.grad = rlgrad.tensor(gradient)
            optimizer.step()
        return p.tolist()

    wanted = run()
    with like_a_gpu():
        np.testing.assert_array_equal(run(), wanted)
    assert CompiledForCPU.calls == 2


@pytest.mark.parametrize("tau", [0.3, 1.0])
@pytest.mark.parametrize("shared", [False, True], ids=["together", "apart"])
def test_targets_move_by_one_kernel(tau, shared, like_a_gpu):
    source, target = nn.Linear(3, 4), nn.Linear(3, 4)
    held = [p.detach() for p in target.parameters()] if shared else []
    wanted = [
        tau * p.detach() + (1 - tau) * q.detach() for p, q in zip(source.parameters(), target.parameters(), strict=True)
    ]
    versions = [q._version for q in target.parameters()]
    with like_a_gpu():
        optim.polyak_update(source, target, tau)
    assert CompiledForCPU.calls == (len(held) or 1)
    assert [q._version for q in target.parameters()] == [version + 1 for version in versions]
    for q, value in zip(target.parameters(), wanted, strict=True):
        np.testing.assert_allclose(q.detach().numpy(), value.numpy(), rtol=1e-6)


class LargestFirst(optim.Optimizer):
    """Divides by the largest gradient, which no kernel over single elements knows."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    def update(self, xp, group, step, values, grad, scratch, *state):
        grad /= xp.max(grad)
        grad *= group["lr"]


def test_other_updates_run_as_array_calls(like_a_gpu):
    with like_a_gpu():
        p = rlgrad.zeros(2, requires_grad=True)
        p.grad = rlgrad.tensor([1.0, 2.0])
        LargestFirst([p]).step()
    assert CompiledForCPU.calls == 0
    np.testing.assert_allclose(p.tolist(), [-0.05, -0.1], rtol=1e-6)


def test_a_recording_does_not_choose_by_its_elements():
    xp = recording.Recording()
    x = xp.variable("x")
    with pytest.raises(recording.NotElementwise, match="elements"):
        assert x > 0
    with pytest.raises(recording.NotElementwise, match="ndarray"):
        x + np.zeros(2)
    with pytest.raises(recording.NotElementwise, match="cumsum"):
        xp.cumsum(x)
