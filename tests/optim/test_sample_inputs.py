"""Every optimizer with PyTorch's own sample inputs: the same path, the same state, the same refusals."""

import re
import warnings

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
common_optimizers = pytest.importorskip("torch.testing._internal.common_optimizers")

INFOS = {
    info.optim_cls.__name__: info for info in common_optimizers.optim_db if hasattr(optim, info.optim_cls.__name__)
}
SAMPLES = [
    pytest.param(name, sample, id=f"{name}-{number}-{sample.desc}".replace(" ", "_"))
    for name, info in INFOS.items()
    for number, sample in enumerate(info.optim_inputs_func("cpu"))
]
REFUSALS = [
    pytest.param(name, refusal, id=f"{name}-{number}")
    for name, info in INFOS.items()
    for number, refusal in enumerate(info.optim_error_inputs_func("cpu", torch.float64))
]
SHAPES = [(3, 2), (), (4,), (2, 2)]


def test_the_table_covers_every_optimizer_that_both_have():
    assert set(INFOS) == {name for name in dir(optim) if hasattr(torch.optim, name) and name[0].isupper()} - {
        "Optimizer"
    }


def ours(value, memo=None):
    """The same value with rlgrad's tensors; what was one object stays one."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.nn.Parameter):
        return memo.setdefault(id(value), nn.Parameter(rlgrad.from_numpy(value.detach().numpy().copy())))
    if isinstance(value, torch.Tensor):
        return rlgrad.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, (list, tuple)):
        return type(value)([ours(item, memo) for item in value])
    if isinstance(value, dict):
        return {key: ours(item, memo) for key, item in value.items()}
    return value


def theirs(value):
    if isinstance(value, rlgrad.Tensor):
        return torch.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, (list, tuple)):
        return type(value)([theirs(item) for item in value])
    if isinstance(value, dict):
        return {key: theirs(item) for key, item in value.items()}
    return value


class Run:
    """One library's optimizer on a smooth function of three parameters."""

    def __init__(self, library, name, options, values=None):
        rng = np.random.default_rng(0)
        values = values or [rng.standard_normal(shape) for shape in SHAPES]
        self.params = [library.from_numpy(v.copy()).requires_grad_() for v in values]
        self.optimizer = getattr(library.optim, name)(self.params, **options)

    def walk(self, steps):
        def closure():
            self.optimizer.zero_grad()
            loss = sum(
                ((p - 0.3 * (i + 1)) ** 2).sum() + (p**4).sum() * 0.1 * (-1 if self.ascends else 1)
                for i, p in enumerate(self.params)
            )
            loss.backward()
            return loss

        for _ in range(steps):
            self.optimizer.step(closure)

    @property
    def ascends(self):
        return self.optimizer.param_groups[0].get("maximize", False)

    def values(self):
        return [np.array(p.detach().numpy()) for p in self.params]


def assert_same_path(mine, other):
    for a, b in zip(mine.values(), other.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)


def assert_same_state(mine, other):
    """Equal keys, shapes, dtypes and numbers, all the way down."""
    if isinstance(other, dict):
        assert list(map(str, sorted(mine, key=str))) == list(map(str, sorted(other, key=str)))
        for key in other:
            assert_same_state(mine[key], other[key])
    elif isinstance(other, (list, tuple)):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            assert_same_state(a, b)
    elif isinstance(other, torch.Tensor) and isinstance(mine, rlgrad.Tensor):
        assert (str(mine.dtype), tuple(mine.shape)) == (str(other.dtype), tuple(other.shape))
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-7, atol=1e-12)
    elif isinstance(other, (bool, str, type(None))):
        assert mine == other
    else:
        np.testing.assert_allclose(float(mine), float(other), rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_thirty_steps_and_the_state_are_torchs(name, sample):
    mine, other = Run(rlgrad, name, ours(sample.kwargs)), Run(torch, name, sample.kwargs)
    for run in (mine, other):
        run.walk(30)
    assert_same_path(mine, other)
    assert_same_state(mine.optimizer.state_dict(), other.optimizer.state_dict())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_state_changes_hands_mid_run_both_ways(name, sample):
    mine, other = Run(rlgrad, name, ours(sample.kwargs)), Run(torch, name, sample.kwargs)
    other.walk(6)
    taken = Run(rlgrad, name, ours(sample.kwargs), other.values())
    taken.optimizer.load_state_dict(ours(other.optimizer.state_dict()))
    mine.walk(6)
    given = Run(torch, name, sample.kwargs, mine.values())
    given.optimizer.load_state_dict(theirs(mine.optimizer.state_dict()))
    for run in (mine, other, taken, given):
        run.walk(6)
    assert_same_path(taken, other)
    assert_same_path(mine, given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flag", ["foreach", "fused", "capturable"])
@pytest.mark.parametrize("name", sorted(INFOS))
def test_flags_that_choose_an_implementation_change_nothing(name, flag):
    plain = Run(rlgrad, name, {})
    plain.walk(5)
    if flag not in plain.optimizer.defaults:
        with pytest.raises(TypeError, match=flag):
            Run(rlgrad, name, {flag: True})
        return
    flagged = Run(rlgrad, name, {flag: True})
    flagged.walk(5)
    for a, b in zip(plain.values(), flagged.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    assert flagged.optimizer.state_dict()["param_groups"][0][flag] is True


@pytest.mark.parametrize(("name", "refusal"), REFUSALS)
def test_what_torch_refuses_is_refused_with_the_same_class(name, refusal):
    given = refusal.optimizer_error_input
    params = [nn.Parameter(rlgrad.zeros(2, 2))] if given.params is None else ours(given.params)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(refusal.error_type) as caught:
            getattr(optim, name)(params, **ours(given.kwargs))
    assert re.search(refusal.error_regex, str(caught.value))


def grouped(library, name, options):
    """An optimizer that gets its second group, of another dtype and layout, in the middle of the run."""
    rng = np.random.default_rng(1)

    def leaf(shape, dtype=np.float64):
        return library.from_numpy(rng.standard_normal(shape).astype(dtype))

    first = [leaf((2, 3)).requires_grad_(), leaf(4).requires_grad_()]
    frozen = leaf(2)
    late = [leaf((3, 2)).t().requires_grad_(), leaf(3, np.float32).requires_grad_()]
    run = Run.__new__(Run)
    run.params = first
    run.optimizer = getattr(library.optim, name)([*first, frozen], **options)
    run.walk(4)
    run.optimizer.add_param_group({"params": late, "lr": 0.02, "label": "late"})
    run.params = [*first, *late]
    run.walk(4)
    run.optimizer.param_groups[0]["lr"] *= 0.5
    run.walk(4)
    return run


@pytest.mark.parametrize("name", sorted(set(INFOS) - {"LBFGS"}))
def test_groups_added_and_changed_mid_run(name):
    mine, other = grouped(rlgrad, name, {}), grouped(torch, name, {})
    for a, b in zip(mine.values(), other.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8 if a.dtype == np.float64 else 1e-5, atol=1e-12)
    states = [run.optimizer.state_dict() for run in (mine, other)]
    assert_same_state(states[0]["param_groups"], states[1]["param_groups"])
    assert set(states[0]["state"]) == set(states[1]["state"])
    assert repr(mine.optimizer) == repr(other.optimizer)


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_gradients_are_forgotten_or_cleared(library):
    run = Run(library, "SGD", {"lr": 0.1})
    for p in run.params:
        p.grad = library.ones_like(p)
    held = run.params[0].grad
    run.optimizer.zero_grad(set_to_none=False)
    assert run.params[0].grad is held
    assert not held.any()
    run.optimizer.zero_grad()
    assert all(p.grad is None for p in run.params)


def test_steps_that_gradients_should_see_are_refused():
    with pytest.raises(NotImplementedError, match="differentiable"):
        Run(rlgrad, "Adam", {"differentiable": True})
