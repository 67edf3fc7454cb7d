"""Averaged weights and their schedule are torch's."""

import numpy as np
import pytest

import rlgrad
from rlgrad import optim
from rlgrad.optim import swa_utils

torch = pytest.importorskip("torch")

AVERAGES = {
    "equal": lambda u: {},
    "equal, with buffers": lambda u: {"use_buffers": True},
    "equal, all at once": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "equal, one by one": lambda u: {"avg_fn": u.get_swa_avg_fn(), "use_buffers": True},
    "exponential": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "exponential, one by one": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "of one's own": lambda u: {"avg_fn": lambda average, current, n: 0.5 * average + 0.25 * current * n},
}


def network(library):
    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = library.nn.Linear(3, 2)
            self.register_buffer("mean", library.zeros(2))
            self.register_buffer("seen", library.zeros((), dtype=library.int64))

        def forward(self, x):
            return self.layer(x) - self.mean

    return Net()


def change(library, net, step):
    rng = np.random.default_rng(step)
    with library.no_grad():
        for tensor in [*net.parameters(), net.mean]:
            tensor.copy_(library.from_numpy(rng.standard_normal(tuple(tensor.shape), np.float32)))
        net.seen += 3


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_and_their_states_are_torchs(name):
    results = []
    for library, utils in ((rlgrad, swa_utils), (torch, torch.optim.swa_utils)):
        net = network(library)
        change(library, net, 0)
        average = utils.AveragedModel(net, **AVERAGES[name](utils))
        for step in range(1, 6):
            change(library, net, step)
            average.update_parameters(net)
        state = average.state_dict()
        output = average(library.ones(1, 3)).detach().numpy()
        results.append(({k: v.numpy() for k, v in state.items()}, output))
    (mine, ours), (other, theirs) = results
    assert list(mine) == list(other)
    assert mine["n_averaged"] == 5
    for key in other:
        assert mine[key].dtype == other[key].dtype
        np.testing.assert_allclose(mine[key], other[key], rtol=1e-5, atol=1e-6, err_msg=key)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_the_average_leaves_the_network_alone():
    net = network(rlgrad)
    average = swa_utils.AveragedModel(net)
    before = net.layer.weight.tolist()
    for _ in range(2):
        average.update_parameters(net)
    average.module.layer.weight.detach().fill_(7)
    assert net.layer.weight.tolist() == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_the_schedule_is_torchs(strategy, epochs):
    rates = []
    for library, utils in ((rlgrad, swa_utils), (torch, torch.optim.swa_utils)):
        params = [library.zeros(1).requires_grad_() for _ in range(2)]
        optimizer = library.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.5)
        schedule = utils.SWALR(optimizer, [0.05, 0.1], anneal_epochs=epochs, anneal_strategy=strategy)
        seen = []
        for _ in range(8):
            optimizer.step()
            schedule.step()
            seen.append(schedule.get_last_lr())
        rates.append(seen)
    np.testing.assert_allclose(*rates, rtol=1e-12)


def test_batch_statistics_are_those_of_one_pass():
    batches = [np.random.default_rng(i).standard_normal((8, 3)).astype(np.float32) * (i + 1) for i in range(3)]
    found = []
    for library, utils in ((rlgrad, swa_utils), (torch, torch.optim.swa_utils)):
        net = library.nn.Sequential(library.nn.BatchNorm1d(3), library.nn.ReLU())
        net.eval()
        utils.update_bn([(library.from_numpy(b), None) for b in batches], net)
        assert not net.training
        assert net[0].momentum == 0.1
        found.append([net[0].running_mean.numpy(), net[0].running_var.numpy()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


def test_mistakes_are_named():
    optimizer = optim.SGD([rlgrad.zeros(1).requires_grad_()], lr=0.1)
    with pytest.raises(ValueError, match="decay"):
        swa_utils.get_ema_multi_avg_fn(1.5)
    with pytest.raises(AssertionError, match="Only one"):
        swa_utils.AveragedModel(network(rlgrad), avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=print)
    with pytest.raises(ValueError, match="'cos' or 'linear'"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="square")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
