"""Densities, moments and draws against SciPy's distributions, which share no code or formulas with PyTorch's."""

import numpy as np
import pytest

import rlgrad
import rlgrad.distributions as d

stats = pytest.importorskip("scipy.stats")

CONTINUOUS = {
    "normal": (lambda t: d.Normal(t(0.5), t(2.0)), stats.norm(0.5, 2.0)),
    "half-normal": (lambda t: d.HalfNormal(t(2.0)), stats.halfnorm(scale=2.0)),
    "log-normal": (lambda t: d.LogNormal(t(0.2), t(0.5)), stats.lognorm(0.5, scale=np.exp(0.2))),
    "laplace": (lambda t: d.Laplace(t(0.5), t(2.0)), stats.laplace(0.5, 2.0)),
    "cauchy": (lambda t: d.Cauchy(t(0.5), t(2.0)), stats.cauchy(0.5, 2.0)),
    "gumbel": (lambda t: d.Gumbel(t(0.5), t(2.0)), stats.gumbel_r(0.5, 2.0)),
    "student": (lambda t: d.StudentT(t(5.0), t(0.5), t(2.0)), stats.t(5.0, 0.5, 2.0)),
    "uniform": (lambda t: d.Uniform(t(-1.0), t(3.0)), stats.uniform(-1.0, 4.0)),
    "exponential": (lambda t: d.Exponential(t(2.0)), stats.expon(scale=0.5)),
    "gamma": (lambda t: d.Gamma(t(0.7), t(2.0)), stats.gamma(0.7, scale=0.5)),
    "chi-squared": (lambda t: d.Chi2(t(3.0)), stats.chi2(3.0)),
    "beta": (lambda t: d.Beta(t(0.6), t(2.0)), stats.beta(0.6, 2.0)),
    "half-cauchy": (lambda t: d.HalfCauchy(t(2.0)), stats.halfcauchy(scale=2.0)),
    "inverse gamma": (lambda t: d.InverseGamma(t(3.0), t(2.0)), stats.invgamma(3.0, scale=2.0)),
    "pareto": (lambda t: d.Pareto(t(0.5), t(5.0)), stats.pareto(5.0, scale=0.5)),
    "weibull": (lambda t: d.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2.0)),
    "fisher-snedecor": (lambda t: d.FisherSnedecor(t(3.0), t(12.0)), stats.f(3.0, 12.0)),
}
DISCRETE = {
    "bernoulli": (lambda t: d.Bernoulli(t(0.3)), stats.bernoulli(0.3)),
    "poisson": (lambda t: d.Poisson(t(2.5)), stats.poisson(2.5)),
    "geometric": (lambda t: d.Geometric(t(0.3)), stats.geom(0.3, loc=-1)),
    "binomial": (lambda t: d.Binomial(6, t(0.3)), stats.binom(6, 0.3)),
}
EVERY = {**CONTINUOUS, **DISCRETE}


def wide(value):
    return rlgrad.tensor(value, dtype=rlgrad.float64)


def has(function):
    try:
        return function()
    except NotImplementedError:
        return None


@pytest.mark.parametrize("name", EVERY)
def test_moments_and_entropy_are_scipys(name):
    build, expected = EVERY[name]
    mine = build(wide)
    compared = 0
    for ours, theirs in ((lambda: mine.mean, "mean"), (lambda: mine.variance, "var"), (mine.entropy, "entropy")):
        value = has(ours)
        if value is not None and np.isfinite(value.item()):
            assert value.item() == pytest.approx(float(getattr(expected, theirs)()), rel=1e-6)
            compared += 1
    assert compared >= (1 if name.endswith("cauchy") else 2)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_and_cumulative_probabilities_are_scipys(name):
    build, expected = CONTINUOUS[name]
    mine, levels = build(wide), np.linspace(0.02, 0.98, 25)
    x = expected.ppf(levels)
    np.testing.assert_allclose(mine.log_prob(wide(x)).numpy(), expected.logpdf(x), rtol=1e-8, atol=1e-10)
    below = has(lambda: mine.cdf(wide(x)))
    if below is not None:
        np.testing.assert_allclose(below.numpy(), levels, rtol=1e-8)
    back = has(lambda: mine.icdf(wide(levels)))
    if back is not None:
        np.testing.assert_allclose(back.numpy(), x, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_of_counts_are_scipys(name):
    build, expected = DISCRETE[name]
    x = np.arange(expected.ppf(0.999) + 1)
    np.testing.assert_allclose(build(wide).log_prob(wide(x)).numpy(), expected.logpmf(x), rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_scipys_cumulative_probability(name, dtype):
    build, expected = CONTINUOUS[name]
    mine = build(lambda value: rlgrad.tensor(value, dtype=getattr(rlgrad, dtype)))
    draws = mine.sample((5000,), np.random.default_rng(0)).numpy()
    assert stats.kstest(draws, expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_are_drawn_with_scipys_probabilities(name):
    build, expected = DISCRETE[name]
    draws = build(wide).sample((5000,), np.random.default_rng(0)).numpy()
    top = int(expected.ppf(0.99))
    counts = np.array([*[(draws == k).sum() for k in range(top)], (draws >= top).sum()])
    wanted = np.array([*expected.pmf(np.arange(top)), expected.sf(top - 1)]) * 5000
    assert stats.chisquare(counts, wanted).pvalue > 1e-3


def test_vectors_are_scipys():
    source = np.random.default_rng(0)
    spread = source.normal(size=(3, 3))
    covariance, mean = spread @ spread.T + np.eye(3), source.normal(size=3)
    x = source.normal(size=(6, 3))
    expected = stats.multivariate_normal(mean, covariance)
    for options in (
        {"covariance_matrix": covariance},
        {"precision_matrix": np.linalg.inv(covariance)},
        {"scale_tril": np.linalg.cholesky(covariance)},
    ):
        mine = d.MultivariateNormal(wide(mean), **{name: wide(value) for name, value in options.items()})
        np.testing.assert_allclose(mine.log_prob(wide(x)).numpy(), expected.logpdf(x), rtol=1e-8)
        assert mine.entropy().item() == pytest.approx(float(expected.entropy()))
        draws = mine.sample((20_000,), np.random.default_rng(0)).numpy()
        np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0.1, atol=0.1)
    concentration = source.uniform(0.5, 3.0, 4)
    points = source.dirichlet(np.ones(4), 5)
    mine, expected = d.Dirichlet(wide(concentration)), stats.dirichlet(concentration)
    np.testing.assert_allclose(mine.log_prob(wide(points)).numpy(), [expected.logpdf(p) for p in points], rtol=1e-8)
    assert mine.entropy().item() == pytest.approx(float(expected.entropy()))
    np.testing.assert_allclose(mine.mean.numpy(), expected.mean())
    np.testing.assert_allclose(mine.variance.numpy(), expected.var())
    marginal = mine.sample((5000,), np.random.default_rng(0)).numpy()[:, 1]
    rest = concentration.sum() - concentration[1]
    assert stats.kstest(marginal, stats.beta(concentration[1], rest).cdf).pvalue > 1e-3


def test_the_mode_of_kumaraswamy_has_the_highest_density():
    a, b = rlgrad.tensor([2.0, 3.0, 1.5]), rlgrad.tensor([3.0, 1.2, 4.0])
    made = d.Kumaraswamy(a, b)
    grid = rlgrad.linspace(0.001, 0.999, 999)
    best = grid[made.log_prob(grid[:, None]).argmax(0)]
    np.testing.assert_allclose(made.mode.numpy(), best.numpy(), atol=1e-3)
    assert bool(d.Kumaraswamy(0.5, 2.0).mode.isnan())


def test_one_total_for_all_multinomials_is_demanded():
    with pytest.raises(NotImplementedError, match="one total_count"):
        d.Multinomial(rlgrad.tensor([1, 2]), probs=rlgrad.ones(2))
