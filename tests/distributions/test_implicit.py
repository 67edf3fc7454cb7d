"""Gradients of gamma, beta and Dirichlet draws against exact quantile functions and against PyTorch."""

import numpy as np
import pytest

import rlgrad
from rlgrad.distributions import Beta, Dirichlet, Gamma

special = pytest.importorskip("scipy.special")
LEVELS = np.array([1e-6, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.99, 0.9999])


def slope_of_quantile(quantile, at):
    step = 1e-4 * at
    near = quantile(at + step) - quantile(at - step)
    far = quantile(at + 2 * step) - quantile(at - 2 * step)
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize("concentration", [0.1, 0.7, 1.0, 3.0, 30.0, 1000.0])
def test_a_gamma_draw_moves_along_its_quantile(concentration):
    from rlgrad.distributions.implicit import gamma_sample

    a = np.full(len(LEVELS), concentration)
    drawn = special.gammaincinv(a, LEVELS)
    leaf = rlgrad.tensor(a, requires_grad=True)
    gamma_sample(leaf, rlgrad.tensor(drawn)).sum().backward()
    expected = slope_of_quantile(lambda c: special.gammaincinv(c, LEVELS), a)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=2e-6)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.4), (1.0, 1.0), (2.0, 5.0), (40.0, 3.0), (200.0, 300.0)])
def test_a_beta_draw_moves_along_its_quantile(a, b):
    from rlgrad.distributions.implicit import dirichlet_sample

    x = special.betaincinv(a, b, LEVELS)
    leaf = rlgrad.tensor(np.tile([a, b], (len(LEVELS), 1)), requires_grad=True)
    drawn = np.stack([x, 1 - x], -1)
    dirichlet_sample(leaf, rlgrad.tensor(drawn))[:, 0].sum().backward()
    to_a = slope_of_quantile(lambda c: special.betaincinv(c, b, LEVELS), np.full(len(LEVELS), a))
    to_b = slope_of_quantile(lambda c: special.betaincinv(a, c, LEVELS), np.full(len(LEVELS), b))
    np.testing.assert_allclose(leaf.grad.numpy(), np.stack([to_a, to_b], -1), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_slopes_are_torchs_to_the_digits_that_it_computes(dtype):
    torch = pytest.importorskip("torch")
    from rlgrad.distributions.implicit import dirichlet_slope, gamma_slope

    source = np.random.default_rng(0)
    a = source.uniform(0.05, 50.0, 500)
    x = np.maximum(source.standard_gamma(a), 1e-30)
    expected = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x)).numpy()
    np.testing.assert_allclose(gamma_slope(np, x, a), expected, rtol=5e-3)
    concentrations = source.uniform(0.2, 20.0, (500, 3))
    draws = np.stack([source.dirichlet(row) for row in concentrations])
    total = concentrations.sum(-1, keepdims=True) + np.zeros_like(concentrations)
    expected = torch._dirichlet_grad(*(torch.tensor(v) for v in (draws, concentrations, total))).numpy()
    np.testing.assert_allclose(dirichlet_slope(np, draws, concentrations, total), expected, rtol=2e-2)


@pytest.mark.parametrize("concentration", [0.2, 2.0, 20.0])
def test_the_gradient_of_an_expectation_is_the_expectation_of_gradients(concentration):
    """E[g^2] = a (a + 1) / rate^2, and E[x^2] = a (a + 1) / ((a + b)(a + b + 1))."""
    a = rlgrad.tensor(concentration, requires_grad=True)
    Gamma(a, 2.0).rsample((40_000,), np.random.default_rng(0)).square().mean().backward()
    assert a.grad.item() == pytest.approx((2 * concentration + 1) / 4, rel=0.05)

    a, b = rlgrad.tensor(concentration, requires_grad=True), rlgrad.tensor(1.5, requires_grad=True)
    Beta(a, b).rsample((40_000,), np.random.default_rng(0)).square().mean().backward()
    leaf = rlgrad.tensor(concentration, requires_grad=True, dtype=rlgrad.float64)
    other = rlgrad.tensor(1.5, requires_grad=True, dtype=rlgrad.float64)
    total = leaf + other
    (leaf * (leaf + 1) / (total * (total + 1))).backward()
    assert a.grad.item() == pytest.approx(leaf.grad.item(), rel=0.05)
    assert b.grad.item() == pytest.approx(other.grad.item(), rel=0.05)


def test_a_dirichlet_mean_moves_with_its_concentration():
    leaf = rlgrad.tensor([0.5, 2.0, 4.0], dtype=rlgrad.float64, requires_grad=True)
    weights = rlgrad.tensor([1.0, -2.0, 0.5], dtype=rlgrad.float64)
    (Dirichlet(leaf).rsample((40_000,), np.random.default_rng(0)) * weights).sum(-1).mean().backward()
    exact = rlgrad.tensor([0.5, 2.0, 4.0], dtype=rlgrad.float64, requires_grad=True)
    (Dirichlet(exact).mean * weights).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), exact.grad.numpy(), rtol=0.05, atol=2e-3)


def test_tiny_concentrations_neither_underflow_nor_lose_their_gradient():
    for family in (lambda a: Dirichlet(a), lambda a: Beta(a[0], a[1]), lambda a: Gamma(a, 1.0)):
        leaf = rlgrad.full((3,), 0.01, requires_grad=True)
        drawn = family(leaf).rsample((500,), np.random.default_rng(0))
        drawn.sum().backward()
        assert bool(rlgrad.isfinite(drawn).all())
        assert bool(rlgrad.isfinite(leaf.grad).all())
    sums = Dirichlet(rlgrad.full((3,), 0.01)).sample((500,), np.random.default_rng(0)).sum(-1)
    np.testing.assert_allclose(sums.numpy(), 1.0, rtol=1e-5)


def test_the_cumulative_probability_of_a_gamma_is_differentiable_in_everything():
    given = [np.array([0.5, 2.0, 8.0]), np.array([1.0, 0.5, 2.0]), np.array([0.3, 5.0, 4.5])]
    leaves = [rlgrad.tensor(v, requires_grad=True) for v in given]
    Gamma(leaves[0], leaves[1]).cdf(leaves[2]).sum().backward()
    for index, leaf in enumerate(leaves):

        def total(v, index=index):
            a, rate, x = (v if i == index else w for i, w in enumerate(given))
            return special.gammainc(a, rate * x)

        np.testing.assert_allclose(leaf.grad.numpy(), slope_of_quantile(total, given[index]), rtol=1e-6)


def test_second_derivatives_are_refused_by_name():
    leaf = rlgrad.tensor([2.0], requires_grad=True)
    drawn = Gamma(leaf, 1.0).rsample()
    with pytest.raises(RuntimeError, match=r"Gamma\.rsample has first derivatives only"):
        rlgrad.autograd.grad((drawn * leaf).sum(), [leaf], create_graph=True)
