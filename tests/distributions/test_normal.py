import numpy as np
import pytest

import rlgrad
from rlgrad.distributions import DiagonalNormal, Normal


@pytest.fixture
def arrays():
    source = np.random.default_rng(0)
    loc, value = source.normal(size=(2, 6, 3)).astype(np.float32)
    scale = source.uniform(0.2, 2.0, size=3).astype(np.float32)
    return loc, scale, value


def test_log_prob_and_entropy_agree_with_scipy(arrays):
    stats = pytest.importorskip("scipy.stats")
    loc, scale, value = arrays
    distribution = DiagonalNormal(rlgrad.from_numpy(loc), rlgrad.from_numpy(scale))
    log_prob = [
        stats.multivariate_normal(mean, np.diag(scale.astype(np.float64) ** 2)).logpdf(x)
        for mean, x in zip(loc, value, strict=True)
    ]
    np.testing.assert_allclose(distribution.log_prob(rlgrad.from_numpy(value)).numpy(), log_prob, rtol=1e-4)
    entropy = stats.multivariate_normal(np.zeros(3), np.diag(scale.astype(np.float64) ** 2)).entropy()
    np.testing.assert_allclose(distribution.entropy().numpy(), np.full(6, entropy), rtol=1e-5)


def test_values_and_gradients_agree_with_torch(arrays):
    torch = pytest.importorskip("torch")
    loc, scale, value = arrays

    def theirs(mean, std):
        return torch.distributions.Independent(torch.distributions.Normal(mean, std), 1)

    results = []
    for library, family in ((rlgrad, DiagonalNormal), (torch, theirs)):
        mean, std = library.tensor(loc, requires_grad=True), library.tensor(scale, requires_grad=True)
        distribution = family(mean, std)
        log_prob, entropy = distribution.log_prob(library.from_numpy(value)), distribution.entropy()
        (log_prob.sum() + entropy.sum()).backward()
        results.append([x.detach().numpy() for x in (log_prob, entropy, mean.grad, std.grad)])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_each_element_of_a_normal_stands_alone(arrays):
    loc, scale, value = arrays
    log_prob = Normal(rlgrad.from_numpy(loc), rlgrad.from_numpy(scale)).log_prob(rlgrad.from_numpy(value))
    assert tuple(log_prob.shape) == (6, 3)


def test_samples_have_mean_and_spread():
    distribution = DiagonalNormal(rlgrad.tensor([1.0, -2.0]), rlgrad.tensor([0.5, 3.0]))
    sample = distribution.sample((20_000,), np.random.default_rng(0)).numpy()
    assert sample.shape == (20_000, 2)
    assert sample.dtype == np.float32
    np.testing.assert_allclose(sample.mean(0), [1.0, -2.0], atol=0.1)
    np.testing.assert_allclose(sample.std(0), [0.5, 3.0], rtol=0.05)


def test_a_reparameterised_draw_carries_gradients_to_both_parameters():
    loc, scale = rlgrad.zeros(4, requires_grad=True), rlgrad.ones(4, requires_grad=True)
    draw = Normal(loc, scale).rsample((), np.random.default_rng(0))
    draw.sum().backward()
    np.testing.assert_allclose(loc.grad.numpy(), np.ones(4))
    np.testing.assert_allclose(scale.grad.numpy(), draw.detach().numpy(), rtol=1e-6)
    assert not Normal(loc, scale).sample().requires_grad


def test_the_mode_is_the_mean(arrays):
    loc, scale, _ = arrays
    distribution = DiagonalNormal(rlgrad.from_numpy(loc), rlgrad.from_numpy(scale))
    np.testing.assert_array_equal(distribution.mode.numpy(), loc)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        Normal(rlgrad.zeros(3), rlgrad.ones(2))
    with pytest.raises(ValueError, match="last axis"):
        DiagonalNormal(rlgrad.tensor(0.0), rlgrad.tensor(1.0))
