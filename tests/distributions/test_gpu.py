"""On a GPU distributions give the densities and entropies of the CPU, and draw there."""

import contextlib

import numpy as np
import pytest

import rlgrad
from rlgrad import distributions

from .families import FAMILIES

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", FAMILIES)
def test_densities_gradients_and_draws(name):
    build, parameters, outcome = FAMILIES[name]
    found = {}
    for device in ("cpu", "cuda"):
        rlgrad.manual_seed(0)
        leaves = [rlgrad.tensor(np.asarray(p), device=device).requires_grad_() for p in parameters]
        distribution = build(distributions, *leaves)
        density = distribution.log_prob(rlgrad.tensor(outcome, device=device))
        results = [density]
        with contextlib.suppress(NotImplementedError):
            results.append(distribution.entropy())
        wanted = [r.sum() for r in results if r.requires_grad]
        if wanted:
            results += [g for g in rlgrad.autograd.grad(sum(wanted), leaves, allow_unused=True) if g is not None]
        draws = distribution.rsample((5,)) if distribution.has_rsample else distribution.sample((5,))
        assert draws.is_cuda == (device == "cuda")
        assert bool(rlgrad.isfinite(draws).all())
        assert draws.shape == (5, *distribution.batch_shape, *distribution.event_shape)
        found[device] = [r.detach().cpu().numpy() for r in results]
    for ours, theirs in zip(found["cuda"], found["cpu"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
