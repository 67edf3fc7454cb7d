"""A Sequential of plain layers runs as one operation, and nothing but speed may tell."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.autograd.ops.mlp import relu
from rlgrad.nn.fusion import fused_forward

ACTIVATIONS = [nn.ReLU, nn.Tanh, nn.Sigmoid, lambda: nn.LeakyReLU(0.2)]


def network(activation, last=None):
    with rlgrad.random.fork_rng(seed=3):
        layers = [nn.Linear(3, 5), activation(), nn.Linear(5, 4), activation(), nn.Linear(4, 2)]
        return nn.Sequential(*layers, *([last()] if last else [])).double()


def one_by_one(net, x):
    for module in net:
        x = module(x)
    return x


def batch(requires_grad=True):
    """Numbers that, as another network's output would, require grad without being a leaf."""
    return rlgrad.randn(6, 3, dtype=rlgrad.float64, requires_grad=requires_grad) * 1


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("last", [None, *ACTIVATIONS])
def test_output_and_gradients_are_those_of_the_layers_one_by_one(activation, last):
    net, x = network(activation, last), batch()
    assert fused_forward(net._modules, x) is not None
    fused = rlgrad.autograd.grad(net(x).square().sum(), [x, *net.parameters()])
    plain = rlgrad.autograd.grad(one_by_one(net, x).square().sum(), [x, *net.parameters()])
    np.testing.assert_allclose(net(x).detach().numpy(), one_by_one(net, x).detach().numpy(), rtol=1e-12)
    for a, b in zip(fused, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.Sigmoid])
def test_second_derivatives_are_right(activation):
    net, x = network(activation), batch().detach().requires_grad_()
    assert rlgrad.autograd.gradcheck(lambda x: net(x * 1), (x,))
    assert rlgrad.autograd.gradgradcheck(lambda x: net(x * 1), (x,))


def test_a_gradient_penalty_reaches_every_parameter_as_it_does_one_by_one():
    net, x = network(nn.ReLU), batch()
    results = []
    for forward in (net, lambda x: one_by_one(net, x)):
        net.zero_grad()
        (slope,) = rlgrad.autograd.grad(forward(x).sum(), x, create_graph=True)
        slope.square().sum().backward()
        results.append([None if p.grad is None else p.grad.numpy().copy() for p in net.parameters()])
    for a, b in zip(*results, strict=True):
        assert (a is None or not a.any()) == (b is None or not b.any())
        if a is not None and b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dead", [0, 30, 200, 256])
def test_units_that_pass_no_gradient_are_left_out_and_get_zeros(dead):
    with rlgrad.random.fork_rng(seed=4):
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 256), nn.ReLU(), nn.Linear(256, 2)).double()
        x = rlgrad.randn(64, 3, dtype=rlgrad.float64, requires_grad=True) * 1
    chosen = rlgrad.randperm(256)[:dead]
    with rlgrad.no_grad():
        net[2].bias.fill_(1.0)[chosen] = -1000.0
    passing = relu.passing(net[:4](x).detach().numpy())
    assert (passing is None) if dead < 64 else not set(passing) & set(chosen.tolist())
    fused = rlgrad.autograd.grad(net(x).square().sum(), [x, *net.parameters()])
    plain = rlgrad.autograd.grad(one_by_one(net, x).square().sum(), [x, *net.parameters()])
    assert not fused[3][chosen].any()
    for a, b in zip(fused, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_a_layer_used_twice_gets_both_gradients():
    layer = nn.Linear(3, 3).double()
    net, x = nn.Sequential(layer, nn.Tanh(), layer), batch()
    fused = rlgrad.autograd.grad(net(x).sum(), list(layer.parameters()))
    plain = rlgrad.autograd.grad(one_by_one(net, x).sum(), list(layer.parameters()))
    for a, b in zip(fused, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())
    x = x.detach().requires_grad_()
    assert rlgrad.autograd.gradgradcheck(lambda x: net(x * 1), (x,))


def test_frozen_layers_get_no_gradient_and_need_no_weights_kept():
    net, x = network(nn.ReLU), batch(requires_grad=False)
    net[0].requires_grad_(False)
    output = net(x)
    with rlgrad.no_grad():
        net[0].weight.add_(1)  # serves no gradient, so the graph does not mind
    output.sum().backward()
    assert net[0].weight.grad is None
    assert net[2].weight.grad is not None


def test_a_weight_changed_before_backward_is_reported_by_name():
    net = network(nn.ReLU)
    loss = net(batch()).sum()
    with rlgrad.no_grad():
        net[2].weight.mul_(0.5)
    with pytest.raises(RuntimeError, match=r"inplace operation.*parameter 'weight'.*version"):
        loss.backward()


def test_a_second_backward_needs_the_graph_kept():
    loss = network(nn.ReLU)(batch()).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_hooks_other_layers_and_other_inputs_run_layer_by_layer():
    seen = []
    net = network(nn.ReLU)
    net[1].register_forward_hook(lambda module, args, output: seen.append(output.shape))
    net(batch())
    assert seen == [(6, 5)]
    assert fused_forward(network(nn.ReLU)._modules, batch()[0]) is None
    assert fused_forward(network(nn.ReLU)._modules, batch().detach().requires_grad_()) is None
    assert fused_forward(nn.Sequential(nn.Linear(3, 2), nn.Softplus(), nn.Linear(2, 1))._modules, batch()) is None
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        network(nn.ReLU)(rlgrad.randn(4, 7, dtype=rlgrad.float64))
