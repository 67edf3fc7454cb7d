"""On a GPU optimizers, clipping and target networks do what they do on the CPU."""

import numpy as np
import pytest

import rlgrad
from rlgrad import data, nn, optim

pytestmark = pytest.mark.gpu

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"maximize": True},
    "Adamax": {},
    "NAdam": {"weight_decay": 0.1},
    "RAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adagrad": {"lr_decay": 0.1},
    "Adadelta": {},
    "Rprop": {},
    "ASGD": {"t0": 3},
    "Lion": {"weight_decay": 0.1},
    "LBFGS": {"line_search_fn": "strong_wolfe", "max_iter": 5},
}


def network(device):
    rlgrad.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).double().to(device)


def walk(net, optimizer, steps):
    x = rlgrad.arange(12.0, dtype=rlgrad.float64).view(4, 3).to(next(net.parameters()).device) / 12

    def closure():
        optimizer.zero_grad()
        loss = ((net(x) - 1) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        return loss

    for _ in range(steps):
        optimizer.step(closure)


def values(net):
    return np.concatenate([p.detach().cpu().numpy().ravel() for p in net.parameters()])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_paths_are_those_of_the_cpu_also_after_a_move(name, tmp_path):
    nets = {device: network(device) for device in ("cpu", "cuda")}
    optimizers = {d: getattr(optim, name)(n.parameters(), **OPTIMIZERS[name]) for d, n in nets.items()}
    for device, net in nets.items():
        walk(net, optimizers[device], 5)
    np.testing.assert_allclose(values(nets["cuda"]), values(nets["cpu"]), rtol=1e-8, atol=1e-10)
    rlgrad.save({"net": nets["cpu"].state_dict(), "optimizer": optimizers["cpu"].state_dict()}, tmp_path / "c")
    moved = network("cuda")
    resumed = getattr(optim, name)(moved.parameters(), **OPTIMIZERS[name])
    state = rlgrad.load(tmp_path / "c", device="cuda")
    assert state["net"]["0.weight"].is_cuda
    moved.load_state_dict(state["net"])
    resumed.load_state_dict(state["optimizer"])
    walk(moved, resumed, 3)
    walk(nets["cpu"], optimizers["cpu"], 3)
    np.testing.assert_allclose(values(moved), values(nets["cpu"]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_norms_are_those_of_the_cpu(norm_type):
    norms = []
    for device in ("cpu", "cuda"):
        params = [
            rlgrad.ones(3, device=device, requires_grad=True),
            rlgrad.ones(2, 2, device=device, requires_grad=True),
        ]
        for p in params:
            p.grad = rlgrad.full_like(p, 3.0)
        total = nn.utils.clip_grad_norm_(params, 1.0, norm_type)
        norms.append((float(total), [p.grad.cpu().tolist() for p in params]))
    assert norms[0][0] == pytest.approx(norms[1][0], rel=1e-6)
    np.testing.assert_allclose(norms[0][1][1], norms[1][1][1], rtol=1e-5)


def test_targets_and_averages_follow():
    source, target = network("cuda"), network("cuda")
    with rlgrad.no_grad():
        for p in source.parameters():
            p.add_(1.0)
    before = values(target)
    for _ in range(2):
        optim.polyak_update(source, target, 0.5)
    np.testing.assert_allclose(values(target), before + 0.75)
    average = optim.swa_utils.AveragedModel(source)
    for _ in range(2):
        average.update_parameters(source)
    np.testing.assert_allclose(values(average.module), values(source))


def test_batches_stay_where_the_data_is():
    x = rlgrad.arange(10.0).view(5, 2).cuda()
    (batch,) = next(iter(data.DataLoader(data.TensorDataset(x), 3)))
    assert batch.is_cuda
    assert batch.cpu().tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
