"""Modules, layers, initialisation and gradient clipping against torch."""

import copy

import numpy as np
import pytest

import rlgrad
from rlgrad import nn

torch = pytest.importorskip("torch")


def build(nn):
    return nn.Sequential(
        nn.Linear(4, 3),
        nn.ReLU(),
        nn.Sequential(nn.Linear(3, 3, bias=False), nn.LeakyReLU(0.2)),
        nn.Flatten(),
        nn.Tanh(),
    )


def test_nested_repr_and_keys_are_torchs():
    assert repr(build(nn)) == repr(build(torch.nn))
    assert list(build(nn).state_dict()) == list(build(torch.nn).state_dict())
    assert [n for n, _ in build(nn).named_modules()] == [n for n, _ in build(torch.nn).named_modules()]


def test_weights_from_torch_give_torchs_outputs_and_gradients():
    theirs, ours = build(torch.nn), build(nn)
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    a, b = ours(rlgrad.from_numpy(x)), theirs(torch.from_numpy(x))
    a.sum().backward()
    b.sum().backward()
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-6)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), atol=1e-5)


def test_strict_loading_lists_every_wrong_key():
    state = build(nn).state_dict()
    state["stray"] = state.pop("0.bias")
    state["2.0.weight"] = rlgrad.zeros(1, 1)
    with pytest.raises(RuntimeError) as caught:
        build(nn).load_state_dict(state)
    assert all(key in str(caught.value) for key in ("stray", "0.bias", "2.0.weight"))


def test_loose_loading_reports_what_did_not_match():
    result = nn.Linear(2, 1).load_state_dict({"weight": np.zeros((1, 2)), "other": np.zeros(1)}, strict=False)
    assert (result.missing_keys, result.unexpected_keys) == (["bias"], ["other"])


def test_buffers_are_state_unless_transient():
    module = nn.Module()
    module.register_buffer("kept", rlgrad.ones(2))
    module.register_buffer("dropped", rlgrad.ones(2), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert [n for n, _ in module.named_buffers()] == ["kept", "dropped"]
    assert list(module.parameters()) == []


def test_train_and_eval_reach_every_child():
    module = build(nn).eval()
    assert not any(m.training for m in module.modules())
    assert all(m.training for m in module.train().modules())


def test_hooks_see_and_replace_inputs_and_outputs():
    layer, seen = nn.Linear(2, 2), []
    before = layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    after = layer.register_forward_hook(lambda m, args, out: seen.append(args[0].sum().item()) or out + 1)
    out = layer(rlgrad.ones(1, 2))
    assert seen == [0.0]
    np.testing.assert_allclose(out.detach().numpy()[0], layer.bias.detach().numpy() + 1)
    before.remove()
    after.remove()
    assert layer(rlgrad.ones(1, 2)).tolist() != out.tolist()
    assert seen == [0.0]


def test_deepcopy_is_independent_and_keeps_gradients():
    module = nn.Linear(2, 1)
    module(rlgrad.ones(1, 2)).sum().backward()
    twin = copy.deepcopy(module)
    assert twin.weight.grad.tolist() == module.weight.grad.tolist()
    assert isinstance(twin.weight, nn.Parameter)
    with rlgrad.no_grad():
        twin.weight.zero_()
    assert module.weight.tolist() != twin.weight.tolist()


def test_a_missing_attribute_names_the_nearest():
    with pytest.raises(AttributeError, match="'weight'"):
        _ = nn.Linear(2, 1).wieght


def test_wrong_input_shape_names_both_shapes():
    with pytest.raises(RuntimeError, match=r"\[1, 3\].*\[1, 2\]"):
        nn.Linear(2, 1)(rlgrad.ones(1, 3))


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
def test_orthogonal_rows_or_columns(shape):
    w = nn.init.orthogonal_(rlgrad.empty(*shape), gain=2.0).numpy()
    product = w @ w.T if shape[0] <= shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(min(shape)), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "bound"),
    [
        ("kaiming_uniform_", {"nonlinearity": "relu"}, (6 / 30) ** 0.5),
        ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}, (6 / 50) ** 0.5),
        ("kaiming_uniform_", {"a": 5**0.5}, (1 / 30) ** 0.5),
        ("xavier_uniform_", {}, (6 / 80) ** 0.5),
    ],
)
def test_uniform_initialisation_fills_its_bounds(name, options, bound):
    w = getattr(nn.init, name)(rlgrad.empty(50, 30), **options).numpy()
    assert 0.95 * bound < np.abs(w).max() <= bound


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_clipping_is_torchs(norm, limit):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s) for s in ((3, 2), (4,))]
    results = []
    for library in (rlgrad, torch):
        params = [library.zeros(*v.shape, dtype=library.float64).requires_grad_() for v in values]
        for p, v in zip(params, values, strict=True):
            p.grad = library.from_numpy(v.copy())
        total = library.nn.utils.clip_grad_norm_(params, limit, norm_type=norm)
        results.append([float(total), *[p.grad.numpy() for p in params]])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
