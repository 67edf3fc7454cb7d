"""Parameters that an optimizer lays out next to each other, and those it must leave alone."""

from __future__ import annotations

import numpy as np
import pytest

import rlgrad
from rlgrad import nn, optim
from rlgrad.optim.flat import lay_out, side_by_side


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def train(model: nn.Module, optimizer: optim.Optimizer, steps: int = 3) -> None:
    for step in range(steps):
        optimizer.zero_grad()
        (model(rlgrad.full((5, 3), 0.1 * (step + 1))) ** 2).sum().backward()
        optimizer.step()


def arrays(model: nn.Module) -> list[np.ndarray]:
    return [p._array for p in model.parameters()]


def test_an_optimizer_lays_out_what_only_the_module_holds() -> None:
    model = net()
    before = [p.detach().clone() for p in model.parameters()]
    optim.Adam(model.parameters())
    joined = side_by_side(arrays(model))
    assert joined is not None
    assert joined.size == sum(p.numel() for p in model.parameters())
    for p, value in zip(model.parameters(), before, strict=True):
        assert rlgrad.equal(p, value)
        assert np.shares_memory(p._array, joined)


@pytest.mark.parametrize(
    "alias", [lambda p: p.detach(), lambda p: p.numpy(force=True), lambda p: p[0], lambda p: p.data]
)
def test_memory_that_somebody_else_sees_stays_where_it_is(alias) -> None:
    model = net()
    seen = alias(model[0].weight)
    train(model, optimizer := optim.SGD(model.parameters(), lr=0.1))
    assert side_by_side(arrays(model)) is None
    now = model[0].weight.detach()
    now = now[0] if seen.ndim == 1 else now
    np.testing.assert_array_equal(np.asarray(seen.detach() if isinstance(seen, rlgrad.Tensor) else seen), now.numpy())
    assert optimizer.state_dict()["param_groups"][0]["lr"] == 0.1


def test_an_alias_taken_later_follows_the_updates() -> None:
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    alias = model[2].bias.detach()
    train(model, optimizer)
    assert rlgrad.equal(alias, model[2].bias)


def test_laid_out_or_not_the_trajectory_is_the_same() -> None:
    first, second = net(), net()
    second.load_state_dict(first.state_dict())
    held = [p.detach() for p in second.parameters()]
    train(first, optim.AdamW(first.parameters(), lr=1e-2))
    train(second, optim.AdamW(second.parameters(), lr=1e-2))
    assert side_by_side(arrays(second)) is None
    for a, b, alias in zip(first.parameters(), second.parameters(), held, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert rlgrad.equal(alias, b)


def test_parameters_replaced_after_the_first_step_are_found() -> None:
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer)
    model[0].weight.data = rlgrad.zeros(4, 3)
    train(model, optimizer)
    assert float(model[0].weight.abs().sum()) > 0
    model.double()
    optimizer.zero_grad()
    model(rlgrad.ones(1, 3, dtype=rlgrad.float64)).sum().backward()
    optimizer.step()
    assert side_by_side(arrays(model)) is not None


def test_versions_rise_with_every_update() -> None:
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    out = model(rlgrad.ones(1, 3, requires_grad=True)).sum()
    out.backward(retain_graph=True)
    before = [p._version for p in model.parameters()]
    optimizer.step()
    assert [p._version for p in model.parameters()] == [v + 1 for v in before]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_side_by_side_refuses_gaps_and_other_orders() -> None:
    whole = np.arange(6.0)
    assert side_by_side([whole[0:2], whole[3:6]]) is None
    assert side_by_side([whole[2:4], whole[0:2]]) is None
    np.testing.assert_array_equal(side_by_side([whole[1:2], whole[2:6].reshape(2, 2)]), whole[1:])
    one = rlgrad.zeros(3)
    lay_out([one])
    assert one._array.base is None


def test_groups_of_several_dtypes_are_updated_once_after_a_conversion():
    params = [rlgrad.ones(2, dtype=dtype, requires_grad=True) for dtype in (rlgrad.float32, rlgrad.float64)]
    optimizer = optim.SGD(params, lr=0.25)
    for _ in range(2):
        for p in params:
            p.grad = rlgrad.ones_like(p)
        optimizer.step()
        params[1].data, params[1].grad = params[1].data.float(), None
    assert [p.tolist() for p in params] == [[0.5, 0.5], [0.5, 0.5]]


def test_a_gradient_left_behind_by_a_conversion_is_refused():
    p = rlgrad.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.25)
    p.grad = rlgrad.ones(2)
    p.data = p.data.double()
    with pytest.raises(RuntimeError, match="zero_grad"):
        optimizer.step()
