"""Parametrized weights against torch."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn.utils import parametrizations, parametrize

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["spectral_norm", "weight_norm"])
def test_values_keys_and_gradients_are_torchs(name):
    theirs = getattr(torch.nn.utils.parametrizations, name)(torch.nn.Linear(4, 3, dtype=torch.float64))
    ours = getattr(parametrizations, name)(nn.Linear(4, 3, dtype=rlgrad.float64))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((5, 4))
    for _ in range(2):
        a, b = ours(rlgrad.tensor(x)), theirs(torch.tensor(x))
        (a**2).sum().backward()
        (b**2).sum().backward()
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-10)
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), atol=1e-9, err_msg=key)
    assert type(ours).__name__ == type(theirs).__name__


def test_a_parametrized_layer_keeps_its_norm_within_a_stack():
    layer = nn.Linear(4, 4)
    with rlgrad.no_grad():
        layer.weight.mul_(10)
    stack = nn.Sequential(parametrizations.spectral_norm(layer, n_power_iterations=50), nn.ReLU(), nn.Linear(4, 1))
    x = rlgrad.ones(2, 4)
    expected = stack[2](stack[1](stack[0](x)))
    np.testing.assert_allclose(stack(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    assert abs(np.linalg.norm(layer.weight.detach().numpy(), 2) - 1) < 1e-3


@pytest.mark.parametrize("leave", [True, False])
def test_removal_gives_back_a_plain_layer(leave):
    layer = parametrizations.spectral_norm(nn.Linear(3, 3)).eval()
    value = (layer.weight if leave else layer.parametrizations.weight.original).detach().numpy().copy()
    parametrize.remove_parametrizations(layer, "weight", leave)
    assert type(layer) is nn.Linear
    assert not parametrize.is_parametrized(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value)


def test_a_cached_weight_is_computed_once():
    layer = parametrizations.weight_norm(nn.Linear(3, 3))
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight
