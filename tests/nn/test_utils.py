"""Folding batch normalisation, calls with other parameters, vectors of parameters."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn

from .records import attempt, plain

torch = pytest.importorskip("torch")
functional_call = nn.utils.stateless.functional_call

LAYERS = [
    ("Conv1d", (3, 4, 2), "BatchNorm1d", (2, 3, 6)),
    ("Conv2d", (3, 4, 2), "BatchNorm2d", (2, 3, 6, 6)),
    ("Conv3d", (3, 4, 2), "BatchNorm3d", (2, 3, 4, 4, 4)),
    ("ConvTranspose1d", (3, 4, 2), "BatchNorm1d", (2, 3, 6)),
    ("ConvTranspose2d", (3, 4, 2), "BatchNorm2d", (2, 3, 4, 4)),
    ("Linear", (3, 4), "BatchNorm1d", (5, 3)),
]


@pytest.mark.parametrize(("name", "args", "norm", "shape"), LAYERS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_folded_layers_compute_the_same(name, args, norm, shape, bias, affine):
    layer = getattr(nn, name)(*args, bias=bias, dtype=rlgrad.float64)
    batch_norm = getattr(nn, norm)(4, affine=affine, dtype=rlgrad.float64)
    x = rlgrad.randn(*shape, dtype=rlgrad.float64)
    stack = nn.Sequential(layer, batch_norm)
    for _ in range(3):
        stack(x + rlgrad.randn_like(x))
    if affine:
        nn.init.uniform_(batch_norm.weight, 0.5, 2.0)
        nn.init.normal_(batch_norm.bias)
    fuse = nn.utils.fuse_linear_bn_eval if name == "Linear" else nn.utils.fuse_conv_bn_eval
    with pytest.raises(AssertionError, match="eval"):
        fuse(layer, batch_norm)
    stack.eval()
    options = {"transpose": True} if name.startswith("ConvTranspose") else {}
    fused = fuse(layer, batch_norm, **options)
    assert type(fused) is type(layer)
    np.testing.assert_allclose(fused(x).detach().numpy(), stack(x).detach().numpy(), atol=1e-12)


def test_folding_needs_running_statistics_of_the_right_size():
    layer = nn.Linear(3, 4).eval()
    with pytest.raises(AssertionError, match="num_features"):
        nn.utils.fuse_linear_bn_eval(layer, nn.BatchNorm1d(3).eval())
    with pytest.raises(AssertionError, match="running_mean"):
        nn.utils.fuse_linear_bn_eval(layer, nn.BatchNorm1d(4, track_running_stats=False).eval())


def call_with_other_tensors(lib, call):
    class Tied(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = lib.nn.Linear(2, 2, bias=False)
            self.second = lib.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight
            self.norm = lib.nn.BatchNorm1d(2, momentum=1.0)
            self.plain = lib.ones(2)

        def forward(self, x, scale=1.0):
            return self.norm(self.second(self.first(x))) * scale * self.plain

    net = Tied()
    x = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
    weight = lib.tensor([[1.0, 0.5], [0.2, 2.0]], requires_grad=True)
    mean = lib.zeros(2)
    given = {"first.weight": weight, "norm.running_mean": mean, "norm.num_batches_tracked": lib.tensor(0)}
    before = {k: v.tolist() for k, v in net.state_dict().items()}
    log = []
    out = call(net, given, (x,), {"scale": 2.0})
    (out**3).sum().backward()
    log += [out, weight.grad, given["norm.running_mean"], given["norm.num_batches_tracked"]]
    after = {k: v.tolist() for k, v in net.state_dict().items()}
    changed = [k for k in before if before[k] != after[k]]
    log += [changed, list(net.state_dict())]
    log.append(attempt(call, net, {"first.weight": weight, "second.weight": weight * 2}, x))
    net.eval()
    net.norm.reset_running_stats()
    log.append(call(net, {"first.weight": weight, "second.weight": weight * 2}, x, tie_weights=False))
    log.append(call(net, {"plain": lib.zeros(2)}, x))
    log.append(attempt(call, net, {"first.weight": weight}, x, strict=True))
    log.append(attempt(call, net, {**net.state_dict(keep_vars=True), "more": weight}, x, strict=True))
    log.append(attempt(call, net, {"nothing.at.all": weight}, x))
    return log


def test_calls_with_other_tensors_leave_the_same_record():
    records = [
        plain(call_with_other_tensors(rlgrad, functional_call)),
        plain(call_with_other_tensors(torch, torch.func.functional_call)),
    ]
    assert records[0] == records[1]


def test_calls_accept_several_dictionaries_and_survive_errors():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    out = functional_call(layer, [{"weight": rlgrad.ones(1, 2)}, {"bias": rlgrad.ones(1)}], rlgrad.ones(2))
    assert out.tolist() == [3.0]
    with pytest.raises(RuntimeError):
        functional_call(layer, {"weight": rlgrad.ones(1, 3)}, rlgrad.ones(2))
    assert layer.weight is weight
    with pytest.raises(ValueError, match="more than one"):
        functional_call(layer, [{"bias": rlgrad.ones(1)}, {"bias": rlgrad.ones(1)}], rlgrad.ones(2))


def test_calls_reach_into_a_fused_stack():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    weights = {name: rlgrad.ones(*p.shape, requires_grad=True) for name, p in net.named_parameters()}
    out = functional_call(net, weights, rlgrad.ones(1, 2))
    assert out.tolist() == [[10.0]]
    out.sum().backward()
    assert all(w.grad is not None for w in weights.values())
    assert all(p.grad is None for p in net.parameters())


def test_parameters_survive_the_way_through_a_vector():
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (8,)
    assert vector.requires_grad
    nn.utils.vector_to_parameters(vector, other.parameters())
    assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in net.parameters()]
    with pytest.raises(TypeError, match=r"torch\.Tensor"):
        nn.utils.vector_to_parameters([1.0], other.parameters())


def test_what_is_imported_late_is_there():
    for name in nn.utils.__all__:
        assert getattr(nn.utils, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = nn.utils.nothing
