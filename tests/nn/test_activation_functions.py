"""Activation functions in place, with random slopes, and at their kinks; what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import rlgrad
from rlgrad.nn import functional as F

torch = pytest.importorskip("torch")

IN_PLACE = {
    "celu": (0.7,),
    "elu": (0.7,),
    "hardtanh": (-0.4, 0.6),
    "leaky_relu": (0.3,),
    "relu": (),
    "rrelu": (0.1, 0.5),
    "selu": (),
    "threshold": (0.2, 3.0),
}
ARGUMENT_ONLY = {"hardsigmoid": (), "hardswish": (), "mish": (), "relu6": (), "silu": ()}
KINKS = [-6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("name", [*IN_PLACE, *ARGUMENT_ONLY])
def test_in_place_form_overwrites_the_input_and_keeps_the_gradient(name):
    args = (IN_PLACE | ARGUMENT_ONLY)[name]
    plain = getattr(F, name)
    forms = [lambda t: plain(t, *args, inplace=True)]
    if name in IN_PLACE:
        forms.append(lambda t: getattr(F, name + "_")(t, *args))
    for form in forms:
        x = rlgrad.linspace(-2, 2, 9, dtype=rlgrad.float64).requires_grad_()
        (wanted,) = rlgrad.autograd.grad(plain(x, *args).sum(), x)
        target = x * 1
        result = form(target)
        assert result is target
        assert target._version == 1
        (found,) = rlgrad.autograd.grad(result.sum(), x)
        np.testing.assert_array_equal(result.detach().numpy(), plain(x, *args).detach().numpy())
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())
        with pytest.raises(RuntimeError, match="leaf"):
            form(x)


@pytest.mark.parametrize(
    "name",
    ["celu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "mish", "relu6", "selu", "softshrink", "softsign"],
)
def test_values_and_slopes_at_kinks_and_infinities_are_torchs(name):
    found = []
    for library in (rlgrad, torch):
        x = library.tensor(KINKS[:11] if name != "relu6" else KINKS, requires_grad=True, dtype=library.float64)
        y = getattr(library.nn.functional, name)(x)
        y.sum().backward()
        at_nan = 10 if name == "hardsigmoid" else None  # 0 in torch, 1 here: either is a convention
        found.append((y.detach().numpy(), np.delete(x.grad.numpy(), at_nan) if at_nan else x.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_random_slopes_fill_their_interval_and_average_out():
    rlgrad.manual_seed(0)
    x = rlgrad.full((20_000,), -1.0, dtype=rlgrad.float64, requires_grad=True)
    y = F.rrelu(x, 0.2, 0.6, training=True)
    y.sum().backward()
    slopes = x.grad.numpy()
    np.testing.assert_allclose(y.detach().numpy(), -slopes)
    assert 0.2 <= slopes.min() < 0.201
    assert 0.599 < slopes.max() <= 0.6
    assert abs(slopes.mean() - 0.4) < 4 * 0.4 / (12 * 20_000) ** 0.5
    positive = rlgrad.rand(100) + 0.1
    np.testing.assert_array_equal(F.rrelu(positive, training=True).numpy(), positive.numpy())


def test_gumbel_softmax_draws_classes_with_softmax_probabilities():
    rlgrad.manual_seed(0)
    logits = rlgrad.tensor([0.1, 1.2, -0.7], dtype=rlgrad.float64)
    rows = logits.expand(20_000, 3).clone().requires_grad_()
    sample = F.gumbel_softmax(rows, tau=0.5, hard=True)
    np.testing.assert_allclose(sample.detach().numpy().sum(1), 1)
    assert set(np.unique(sample.detach().numpy().round(12))) == {0.0, 1.0}
    expected = logits.softmax(0).numpy()
    error = np.sqrt(expected * (1 - expected) / 20_000)
    np.testing.assert_array_less(np.abs(sample.detach().numpy().mean(0) - expected), 4 * error)
    (sample * rlgrad.tensor([1.0, 2.0, 3.0], dtype=rlgrad.float64)).sum().backward()
    assert np.abs(rows.grad.numpy()).sum() > 0


REFUSED = {
    "hardtanh bounds": lambda t, f: f.hardtanh(t.ones(2), 1.0, -1.0),
    "softshrink lambda": lambda t, f: f.softshrink(t.ones(2), -0.1),
    "celu alpha": lambda t, f: f.celu(t.ones(2), 0.0),
    "celu integers": lambda t, f: f.celu(t.ones(2, dtype=t.int64)),
    "glu odd": lambda t, f: f.glu(t.ones(3)),
    "glu scalar": lambda t, f: f.glu(t.tensor(1.0)),
    "prelu channels": lambda t, f: f.prelu(t.ones(2, 3), t.ones(2)),
    "prelu matrix": lambda t, f: f.prelu(t.ones(2, 3), t.ones(1, 3)),
    "prelu dtype": lambda t, f: f.prelu(t.ones(2, 3), t.ones(3, dtype=t.float64)),
    "rrelu bounds": lambda t, f: f.rrelu(t.ones(2), 0.5, 0.1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_raise_torchs_class_of_error(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        REFUSED[name](torch, torch.nn.functional)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        REFUSED[name](rlgrad, F)
    assert issubclass(theirs.type, ours.type)
