"""Target networks follow their source."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.optim.targets import polyak_update


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_each_parameter_goes_its_share_of_the_way(tau):
    source, target = (nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)) for _ in range(2))
    pairs = [
        (a.detach().numpy().copy(), b.detach().numpy().copy())
        for a, b in zip(source.parameters(), target.parameters(), strict=True)
    ]
    version = next(target.parameters())._version
    polyak_update(source, target, tau)
    for (a, b), now in zip(pairs, target.parameters(), strict=True):
        np.testing.assert_allclose(now.detach().numpy(), b + tau * (a - b), rtol=1e-6, atol=1e-7)
    assert next(target.parameters())._version == version + 1


def test_parameter_lists_of_several_dtypes_are_taken():
    source = [rlgrad.ones(2), rlgrad.ones(3, dtype=rlgrad.float64)]
    target = [rlgrad.zeros(2), rlgrad.zeros(3, dtype=rlgrad.float64)]
    polyak_update(source, target, 0.25)
    assert [t.tolist() for t in target] == [[0.25] * 2, [0.25] * 3]


def test_what_does_not_match_is_refused():
    with pytest.raises(ValueError, match="share"):
        polyak_update(nn.Linear(2, 1), nn.Linear(2, 1), 1.5)
    with pytest.raises(ValueError, match="differ"):
        polyak_update(nn.Linear(2, 1), nn.Linear(3, 1), 0.5)


def build(seed):
    rlgrad.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def assert_halfway(source, target, before):
    polyak_update(source, target, 0.5)
    for p, q, old in zip(source.parameters(), target.parameters(), before, strict=True):
        np.testing.assert_allclose(q.detach().numpy(), (p.detach().numpy() + old) / 2, rtol=1e-6)


def replace_layer(source, target):
    target[2] = nn.Linear(4, 2)


def replace_source_layer(source, target):
    source[0] = nn.Linear(3, 4)


def replace_parameter(source, target):
    target[0].weight = nn.Parameter(rlgrad.ones(4, 3))


def give_other_data(source, target):
    target[0].bias.data = rlgrad.zeros(4)


def load(source, target):
    target.load_state_dict(build(9).state_dict())


def train(source, target):
    optimizer = rlgrad.optim.Adam(source.parameters(), lr=0.1)
    source(rlgrad.ones(2, 3)).sum().backward()
    optimizer.step()


def share_with_numpy(source, target):
    target[0].weight.data = rlgrad.from_numpy(np.ones((4, 3), np.float32))


@pytest.mark.parametrize(
    "change",
    [replace_layer, replace_source_layer, replace_parameter, give_other_data, load, train, share_with_numpy],
    ids=lambda change: change.__name__,
)
def test_what_changed_between_two_updates_is_noticed(change):
    source, target = build(0), build(1)
    for _ in range(2):
        polyak_update(source, target, 0.25)
    change(source, target)
    assert_halfway(source, target, [q.detach().numpy().copy() for q in target.parameters()])


def test_an_alias_of_a_target_parameter_sees_the_update():
    source, target = build(0), build(1)
    alias = target[0].weight.detach()
    polyak_update(source, target, 1.0)
    assert alias.tolist() == source[0].weight.tolist()
    alias = target[0].weight.detach()
    with rlgrad.no_grad():
        source[0].weight.zero_()
    polyak_update(source, target, 1.0)
    assert not alias.any()
    assert alias._version == target[0].weight._version


def test_integers_and_halves_move_too():
    source = [rlgrad.tensor([10, -7]), rlgrad.ones(2, dtype=rlgrad.float16)]
    target = [rlgrad.tensor([0, 0]), rlgrad.zeros(2, dtype=rlgrad.float16)]
    polyak_update(source, target, 0.25)
    assert [t.tolist() for t in target] == [[2, -1], [0.25, 0.25]]


def test_a_target_that_is_gone_is_forgotten():
    import gc
    import weakref

    source, target = build(0), build(1)
    polyak_update(source, target, 0.5)
    ghost = weakref.ref(target)
    del target
    gc.collect()
    assert ghost() is None
