"""Hooks around steps and states, and optimizers that users write."""

import copy
import importlib
import pickle

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim

LIBRARIES = ["rlgrad", "torch"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return rlgrad if request.param == "rlgrad" else pytest.importorskip("torch")


def parameter(library):
    p = library.nn.Parameter(library.ones(3))
    p.grad = library.ones(3)
    return p


def test_step_hooks_run_in_order_and_may_replace_the_arguments(library):
    calls = []
    optimizer = library.optim.SGD([parameter(library)], lr=0.1)
    home = optim if library is rlgrad else importlib.import_module("torch.optim.optimizer")
    handles = [
        home.register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("everywhere")),
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("before", o is optimizer, len(args)))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("after")),
    ]
    optimizer.step()
    assert calls == ["everywhere", ("before", True, 1), "after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 3
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7.0), {}))
    assert optimizer.step() == 7.0
    optimizer.register_step_pre_hook(lambda o, args, kwargs: "nonsense")
    with pytest.raises(RuntimeError):
        optimizer.step()


def test_hooks_see_and_replace_states(library):
    optimizer = library.optim.Adam([parameter(library)])
    optimizer.step()
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre"))
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, s: {k: v for k, v in s.items() if k != "extra"})
    optimizer.register_load_state_dict_pre_hook(lambda o, s: calls.append("extra" in s), prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert calls == ["pre", True, "loaded"]


def heavy_ball(library):
    class HeavyBall(library.optim.Optimizer):
        """An optimizer as users write them for PyTorch: it walks the parameters and keeps their state by hand."""

        def __init__(self, params, lr=0.1, momentum=0.9):
            super().__init__(params, {"lr": lr, "momentum": momentum})

        @library.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "velocity" not in state:
                        state["velocity"] = library.zeros_like(p)
                    state["velocity"].mul_(group["momentum"]).add_(p.grad)
                    p.add_(state["velocity"], alpha=-group["lr"])

    return HeavyBall


def test_an_optimizer_written_for_pytorch_runs_and_resumes(library):
    kind, p, other = heavy_ball(library), parameter(library), parameter(library)
    optimizer, resumed = kind([p]), kind([other])
    calls = []
    optimizer.register_step_post_hook(lambda *args: calls.append(1))
    for _ in range(3):
        optimizer.step()
    assert calls == [1, 1, 1]
    with library.no_grad():
        other.copy_(p)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()
    resumed.step()
    velocity = 1 + 0.9 + 0.81 + 0.729
    np.testing.assert_allclose(optimizer.state[p]["velocity"].numpy(), velocity, rtol=1e-6)
    assert p.tolist() == other.tolist()


def test_state_of_a_parameter_without_a_step_is_empty():
    p = nn.Parameter(rlgrad.zeros(2))
    assert optim.Adam([p]).state[p] == {}


@pytest.mark.parametrize("names", [("weight", "bias")])
def test_names_of_parameters_are_kept_with_their_group(library, names):
    params = [(name, parameter(library)) for name in names]
    optimizer = library.optim.SGD(params, lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == list(names)
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [parameter(library)]})


def through_bytes(value):
    """What another process is handed."""
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.deepcopy, through_bytes], ids=["copied", "pickled"])
@pytest.mark.parametrize("name", ["Adam", "SGD", "NAdam", "Adagrad", "LBFGS"])
def test_a_deep_copy_goes_on_by_itself(library, name, copied):
    """A network and its optimizer, copied together in the middle of a run."""
    if name == "LBFGS" and library is not rlgrad:
        pytest.skip("torch's LBFGS cannot be copied")
    library.manual_seed(0)
    net = library.nn.Linear(3, 2)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(library.optim, name)(net.parameters(), lr=0.1, **options)

    def walk(net, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = (net(library.ones(1, 3)) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            optimizer.step(closure)
        return net.weight.tolist()

    walk(net, optimizer, 2)
    twin, other = copied((net, optimizer))
    assert other.param_groups[0]["params"][0] is twin.weight
    before = twin.weight.tolist()
    assert walk(net, optimizer, 2) != before
    assert twin.weight.tolist() == before
    assert walk(twin, other, 2) == net.weight.tolist()
