import numpy as np
import pytest

import rlgrad
from rlgrad.agents.projections import project_categorical, quantile_huber_loss


def project_slowly(probabilities, rewards, discounts, v_min, v_max):
    """Atom by atom, with the triangular kernel of equation 7 of the C51 paper."""
    batch, atoms = probabilities.shape
    support = np.linspace(v_min, v_max, atoms)
    step = support[1] - support[0]
    result = np.zeros((batch, atoms))
    for row in range(batch):
        for j in range(atoms):
            moved = min(max(rewards[row] + discounts[row] * support[j], v_min), v_max)
            for i in range(atoms):
                result[row, i] += max(0.0, 1.0 - abs(moved - support[i]) / step) * probabilities[row, j]
    return result


@pytest.mark.parametrize(("v_min", "v_max", "atoms"), [(-10.0, 10.0, 21), (0.0, 1.0, 2), (-3.0, 7.0, 51)])
def test_the_categorical_projection_equals_brute_force(v_min, v_max, atoms):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(atoms), 40)
    rewards, discounts = rng.normal(0, 6, 40), rng.choice([0.0, 0.5, 0.99, 1.0], 40)
    # Rewards that put atoms exactly onto atoms, onto both ends and beyond them.
    rewards[:6] = [0.0, v_min, v_max, (v_max - v_min) / (atoms - 1), v_min - 99, v_max + 99]
    discounts[:6] = 1.0
    result = project_categorical(probabilities, rewards, discounts, v_min, v_max)
    np.testing.assert_allclose(result, project_slowly(probabilities, rewards, discounts, v_min, v_max), atol=1e-6)
    np.testing.assert_allclose(result.sum(1), 1.0, atol=1e-6)
    np.testing.assert_allclose(result[0], probabilities[0], atol=1e-6)
    assert result[4, 0] == result[5, -1] == pytest.approx(1.0)


def huber_slowly(quantiles, targets):
    batch, number = quantiles.shape
    losses = np.zeros(batch)
    for row in range(batch):
        for i in range(number):
            tau = (2 * i + 1) / (2 * number)
            for j in range(targets.shape[1]):
                u = targets[row, j] - quantiles[row, i]
                huber = 0.5 * u * u if abs(u) <= 1 else abs(u) - 0.5
                losses[row] += abs(tau - (u < 0)) * huber / targets.shape[1]
    return losses


@pytest.mark.parametrize(("number", "samples"), [(1, 1), (5, 5), (4, 9)])
def test_the_quantile_loss_equals_brute_force_and_so_does_its_gradient(number, samples):
    rng = np.random.default_rng(1)
    quantiles, targets = rng.normal(0, 2, (6, number)), rng.normal(0, 2, (6, samples))
    given = rlgrad.tensor(quantiles, requires_grad=True)
    loss = quantile_huber_loss(given, rlgrad.tensor(targets))
    np.testing.assert_allclose(loss.detach().numpy(), huber_slowly(quantiles, targets), rtol=1e-6)
    loss.sum().backward()
    step = 1e-6
    for place in np.ndindex(quantiles.shape):
        ahead, behind = quantiles.copy(), quantiles.copy()
        ahead[place] += step
        behind[place] -= step
        slope = (huber_slowly(ahead, targets).sum() - huber_slowly(behind, targets).sum()) / (2 * step)
        assert given.grad.numpy()[place] == pytest.approx(slope, abs=1e-5)


def test_the_quantile_loss_is_least_at_the_quantiles():
    samples = np.random.default_rng(0).exponential(20.0, 4000)
    quantiles = rlgrad.zeros(1, 4).requires_grad_()
    targets = rlgrad.tensor(samples[None], dtype=rlgrad.float32)
    for _ in range(1500):
        quantiles.grad = None
        quantile_huber_loss(quantiles, targets).sum().backward()
        with rlgrad.no_grad():
            quantiles -= 10.0 * quantiles.grad
    expected = np.quantile(samples, [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(quantiles.detach().numpy()[0], expected, atol=0.6)
