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
