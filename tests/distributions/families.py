"""One distribution of each family: how to build it in a library, its parameters, and outcomes it may have."""

import numpy as np

_source = np.random.default_rng(0)


def _normal(*shape):
    return _source.normal(size=shape)


def _positive(*shape):
    return _source.uniform(0.4, 3.0, shape)


def _unit(*shape):
    return _source.uniform(0.05, 0.95, shape)


def _simplex(*shape):
    weights = _positive(*shape)
    return weights / weights.sum(-1, keepdims=True)


def _one_hot(index, count):
    return np.eye(count)[index]


_spread = _normal(3, 4, 4)
COVARIANCE = _spread @ np.swapaxes(_spread, -1, -2) + np.eye(4)
FACTOR = np.linalg.cholesky(COVARIANCE)


def _named(family, *names):
    return lambda d, *parameters: getattr(d, family)(**dict(zip(names, parameters, strict=True)))


def _transformed(*steps):
    def build(d, loc, scale):
        made = [getattr(d.transforms, name)(*arguments) for name, *arguments in steps]
        return d.TransformedDistribution(d.Normal(loc, scale), made)

    return build


FAMILIES = {
    "normal": (_named("Normal", "loc", "scale"), [_normal(3, 4), _positive(4)], _normal(3, 4)),
    "laplace": (_named("Laplace", "loc", "scale"), [_normal(3, 4), _positive(4)], _normal(3, 4)),
    "uniform": (_named("Uniform", "low", "high"), [-_positive(3, 4), _positive(4)], _source.uniform(-0.3, 0.3, (3, 4))),
    "exponential": (_named("Exponential", "rate"), [_positive(3, 4)], _positive(3, 4)),
    "gamma": (_named("Gamma", "concentration", "rate"), [_positive(3, 4), _positive(4)], _positive(3, 4)),
    "beta": (_named("Beta", "concentration1", "concentration0"), [_positive(3, 4), _positive(4)], _unit(3, 4)),
    "dirichlet": (_named("Dirichlet", "concentration"), [_positive(3, 4)], _simplex(3, 4)),
    "bernoulli of probs": (_named("Bernoulli", "probs"), [_unit(3, 4)], _source.integers(0, 2, (3, 4)) * 1.0),
    "bernoulli of logits": (_named("Bernoulli", "logits"), [_normal(3, 4)], _source.integers(0, 2, (3, 4)) * 1.0),
    "categorical of probs": (_named("Categorical", "probs"), [_positive(3, 4)], np.array([0, 3, 2])),
    "categorical with impossible outcomes": (
        _named("Categorical", "probs"),
        [np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 1.0]])],
        np.array([0, 2]),
    ),
    "dirichlet at its corners": (
        _named("Dirichlet", "concentration"),
        [np.array([[0.5, 0.3, 0.9], [0.5, 3.0, 2.0]])],
        _simplex(2, 3),
    ),
    "categorical of logits": (_named("Categorical", "logits"), [_normal(3, 4)], np.array([[0, 3, 2], [1, 1, 0]])),
    "one-hot of probs": (_named("OneHotCategorical", "probs"), [_positive(3, 4)], _one_hot([0, 3, 2], 4)),
    "one-hot of logits": (_named("OneHotCategorical", "logits"), [_normal(3, 4)], _one_hot([0, 3, 2], 4)),
    "multivariate normal of covariance": (
        _named("MultivariateNormal", "loc", "covariance_matrix"),
        [_normal(3, 4), COVARIANCE],
        _normal(3, 4),
    ),
    "multivariate normal of one covariance": (
        _named("MultivariateNormal", "loc", "covariance_matrix"),
        [_normal(3, 4), COVARIANCE[0]],
        _normal(5, 3, 4),
    ),
    "multivariate normal of precision": (
        _named("MultivariateNormal", "loc", "precision_matrix"),
        [_normal(4), COVARIANCE],
        _normal(3, 4),
    ),
    "multivariate normal of factor": (
        _named("MultivariateNormal", "loc", "scale_tril"),
        [_normal(3, 4), FACTOR],
        _normal(2, 3, 4),
    ),
    "independent normal": (
        lambda d, loc, scale: d.Independent(d.Normal(loc, scale), 1),
        [_normal(3, 4), _positive(4)],
        _normal(3, 4),
    ),
    "independent bernoulli": (
        lambda d, logits: d.Independent(d.Bernoulli(logits=logits), 1),
        [_normal(3, 4)],
        _source.integers(0, 2, (3, 4)) * 1.0,
    ),
    "log-normal": (_transformed(("ExpTransform",)), [_normal(3, 4), _positive(4)], _positive(3, 4)),
    "logistic normal": (_transformed(("SigmoidTransform",)), [_normal(3, 4), _positive(4)], _unit(3, 4)),
    "tanh of normal": (_transformed(("TanhTransform",)), [_normal(3, 4), _positive(4)], _unit(3, 4)),
    "falling affine of exp": (
        _transformed(("ExpTransform",), ("AffineTransform", 3.0, -2.0)),
        [_normal(3, 4), _positive(4)],
        -_positive(3, 4),
    ),
    "affine over vectors": (
        _transformed(("AffineTransform", 1.0, 2.0, 1), ("SoftplusTransform",)),
        [_normal(3, 4), _positive(4)],
        _positive(3, 4),
    ),
    "half-normal": (_named("HalfNormal", "scale"), [_positive(3, 4)], _positive(3, 4)),
    "log-normal by name": (_named("LogNormal", "loc", "scale"), [_normal(3, 4), _positive(4)], _positive(3, 4)),
    "cauchy": (_named("Cauchy", "loc", "scale"), [_normal(3, 4), _positive(4)], _normal(3, 4)),
    "gumbel": (_named("Gumbel", "loc", "scale"), [_normal(3, 4), _positive(4)], _normal(3, 4)),
    "student": (
        _named("StudentT", "df", "loc", "scale"),
        [np.array([0.7, 1.5, 2.5, 8.0]), _normal(3, 4), _positive(4)],
        _normal(3, 4),
    ),
    "chi-squared": (_named("Chi2", "df"), [_positive(3, 4)], _positive(3, 4)),
    "poisson": (_named("Poisson", "rate"), [_positive(3, 4)], _source.integers(0, 6, (3, 4)) * 1.0),
    "geometric of probs": (_named("Geometric", "probs"), [_unit(3, 4)], _source.integers(0, 6, (3, 4)) * 1.0),
    "geometric of logits": (_named("Geometric", "logits"), [_normal(3, 4)], _source.integers(0, 6, (3, 4)) * 1.0),
    "binomial": (
        lambda d, logits: d.Binomial(5, logits=logits),
        [_normal(3, 4)],
        _source.integers(0, 6, (3, 4)) * 1.0,
    ),
    "relaxed bernoulli": (
        lambda d, logits: d.RelaxedBernoulli(logits.detach().sum() * 0 + 0.7, logits=logits),
        [_normal(3, 4)],
        _unit(3, 4),
    ),
    "relaxed one-hot": (
        lambda d, logits: d.RelaxedOneHotCategorical(logits.detach().sum() * 0 + 0.7, logits=logits),
        [_normal(3, 4)],
        _simplex(3, 4),
    ),
    "mixture of normals": (
        lambda d, logits, loc, scale: d.MixtureSameFamily(d.Categorical(logits=logits), d.Normal(loc, scale)),
        [_normal(3, 4), _normal(3, 4), _positive(4)],
        _normal(3),
    ),
    "mixture of vectors": (
        lambda d, logits, loc, scale: d.MixtureSameFamily(
            d.Categorical(logits=logits), d.Independent(d.Normal(loc, scale), 1)
        ),
        [_normal(3, 5), _normal(3, 5, 2), _positive(5, 2)],
        _normal(3, 2),
    ),
    "half-cauchy": (_named("HalfCauchy", "scale"), [_positive(3, 4)], _positive(3, 4)),
    "inverse gamma": (
        _named("InverseGamma", "concentration", "rate"),
        [_positive(3, 4), _positive(4)],
        _positive(3, 4),
    ),
    "pareto": (_named("Pareto", "scale", "alpha"), [_unit(3, 4), _positive(4)], 1 + _positive(3, 4)),
    "weibull": (_named("Weibull", "scale", "concentration"), [_positive(3, 4), 1 + _positive(4)], _positive(3, 4)),
    "kumaraswamy": (
        _named("Kumaraswamy", "concentration1", "concentration0"),
        [_unit(3, 4), _positive(4)],
        _unit(3, 4),
    ),
    "student ratio": (_named("FisherSnedecor", "df1", "df2"), [_positive(3, 4), 4 * _positive(4)], _positive(3, 4)),
    "negative binomial of probs": (
        _named("NegativeBinomial", "total_count", "probs"),
        [_positive(3, 4), _unit(3, 4)],
        _source.integers(0, 6, (3, 4)) * 1.0,
    ),
    "negative binomial of logits": (
        _named("NegativeBinomial", "total_count", "logits"),
        [_positive(3, 4), _normal(3, 4)],
        _source.integers(0, 6, (3, 4)) * 1.0,
    ),
    "multinomial of probs": (
        lambda d, probs: d.Multinomial(5, probs=probs),
        [_simplex(3, 4)],
        _source.multinomial(5, [0.1, 0.2, 0.3, 0.4], 3) * 1.0,
    ),
    "multinomial of logits": (
        lambda d, logits: d.Multinomial(5, logits=logits),
        [_normal(3, 4)],
        _source.multinomial(5, [0.1, 0.2, 0.3, 0.4], 3) * 1.0,
    ),
    "normal by stick-breaking": (
        _named("LogisticNormal", "loc", "scale"),
        [_normal(3, 3), _positive(3)],
        _simplex(3, 4),
    ),
    "transformed by a power": (
        _transformed(("ExpTransform",), ("PowerTransform", 2.5)),
        [_normal(3, 4), _positive(4)],
        _positive(3, 4),
    ),
}
