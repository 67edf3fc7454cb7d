"""Divergences against PyTorch's table and against averages over samples."""

import numpy as np
import pytest

import rlgrad
import rlgrad.distributions as ours
from rlgrad.distributions import kl_divergence, register_kl

_source = np.random.default_rng(1)


def _normal(*shape):
    return _source.normal(size=shape)


def _positive(*shape):
    return _source.uniform(0.6, 3.0, shape)


def _covariance(*shape):
    spread = _source.normal(size=(*shape, 3, 3))
    return spread @ np.swapaxes(spread, -1, -2) + np.eye(3)


BUILD = {
    "Normal": lambda d, t, i: d.Normal(t(_ARRAYS["real"][i]), t(_ARRAYS["positive"][i])),
    "Laplace": lambda d, t, i: d.Laplace(t(_ARRAYS["real"][i]), t(_ARRAYS["positive"][i])),
    "Uniform": lambda d, t, i: d.Uniform(t(_ARRAYS["low"][i]), t(_ARRAYS["high"][i])),
    "Exponential": lambda d, t, i: d.Exponential(t(_ARRAYS["positive"][i])),
    "Gamma": lambda d, t, i: d.Gamma(t(_ARRAYS["positive"][i]), t(_ARRAYS["positive"][1 - i])),
    "Beta": lambda d, t, i: d.Beta(t(_ARRAYS["positive"][i]), t(_ARRAYS["positive"][1 - i])),
    "Dirichlet": lambda d, t, i: d.Dirichlet(t(_ARRAYS["positive"][i])),
    "Bernoulli": lambda d, t, i: d.Bernoulli(logits=t(_ARRAYS["real"][i])),
    "Categorical": lambda d, t, i: d.Categorical(logits=t(_ARRAYS["real"][i])),
    "OneHotCategorical": lambda d, t, i: d.OneHotCategorical(probs=t(_ARRAYS["positive"][i])),
    "MultivariateNormal": lambda d, t, i: d.MultivariateNormal(t(_ARRAYS["real"][i]), t(_ARRAYS["matrix"][i])),
    "HalfNormal": lambda d, t, i: d.HalfNormal(t(_ARRAYS["positive"][i])),
    "Cauchy": lambda d, t, i: d.Cauchy(t(_ARRAYS["real"][i]), t(_ARRAYS["positive"][i])),
    "Gumbel": lambda d, t, i: d.Gumbel(t(_ARRAYS["real"][i]), t(_ARRAYS["positive"][i])),
    "Poisson": lambda d, t, i: d.Poisson(t(_ARRAYS["positive"][i])),
    "Geometric": lambda d, t, i: d.Geometric(logits=t(_ARRAYS["real"][i])),
    "Binomial": lambda d, t, i: d.Binomial(5, logits=t(_ARRAYS["real"][i])),
    "LogNormal": lambda d, t, i: d.LogNormal(t(_ARRAYS["real"][i]), t(_ARRAYS["positive"][i])),
    "Chi2": lambda d, t, i: d.Chi2(t(_ARRAYS["positive"][i])),
    "Independent": lambda d, t, i: d.Independent(BUILD["Normal"](d, t, i), 1),
    "TransformedDistribution": lambda d, t, i: d.TransformedDistribution(
        BUILD["Normal"](d, t, i), [d.TanhTransform() if d is ours else d.transforms.TanhTransform()]
    ),
}
_ARRAYS = {
    "real": _normal(2, 4, 3),
    "positive": _positive(2, 4, 3),
    "low": np.stack([_source.uniform(0.1, 0.4, (4, 3)), _source.uniform(-0.5, 0.0, (4, 3))]),
    "high": np.stack([_source.uniform(0.5, 0.9, (4, 3)), _source.uniform(1.0, 2.0, (4, 3))]),
    "matrix": np.stack([_covariance(4), _covariance(4)]),
}
ON_ONE_AXIS = ["Normal", "Laplace", "Uniform", "Exponential", "Gamma", "Beta", "Gumbel"]
PAIRS = [(p, q) for p in ON_ONE_AXIS for q in ON_ONE_AXIS] + [
    *((p, p) for p in BUILD if p not in ON_ONE_AXIS),
    ("Bernoulli", "Poisson"),
    ("Poisson", "Bernoulli"),
    ("Poisson", "Binomial"),
]


def leaves_of(library):
    made = []

    def leaf(array):
        made.append(library.tensor(array, requires_grad=True))
        return made[-1]

    return leaf, made


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_values_and_gradients_are_torchs(p, q):
    torch = pytest.importorskip("torch")
    results = []
    for library, d in ((rlgrad, ours), (torch, torch.distributions)):
        leaf, made = leaves_of(library)
        try:
            kl = d.kl_divergence(BUILD[p](d, leaf, 0), BUILD[q](d, leaf, 1))
        except NotImplementedError:
            results.append(None)
            continue
        if kl.requires_grad and bool(library.isfinite(kl).all()):
            kl.sum().backward()
        results.append([kl.detach().numpy(), *[0.0 if x.grad is None else x.grad.numpy() for x in made]])
    mine, other = results
    if other is None:
        assert mine is None
        return
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


FINITE = [
    (p, q)
    for p, q in PAIRS
    if p == q
    or q == "Normal"
    or p in ("Beta", "Uniform")
    or {p, q} == {"Exponential", "Gamma"}
    or (p, q) in (("Normal", "Laplace"), ("Bernoulli", "Poisson"))
]


@pytest.mark.parametrize(("p", "q"), FINITE)
def test_values_are_those_of_averages_over_samples(p, q):
    first, second = (BUILD[name](ours, rlgrad.tensor, i) for i, name in enumerate((p, q)))
    try:
        kl = kl_divergence(first, second).numpy()
    except NotImplementedError:
        assert "Laplace" in (p, q) or (p, q) == ("Beta", "Gumbel")
        return
    x = first.sample((20_000,), np.random.default_rng(0))
    ratios = (first.log_prob(x) - second.log_prob(x)).numpy()
    margin = 5 * ratios.std(0) / np.sqrt(len(ratios)) + 1e-9
    assert (np.abs(ratios.mean(0) - kl) <= margin).all()
    assert (kl >= 0).all()


def test_policies_of_this_library_have_divergences():
    loc, scale = rlgrad.tensor(_normal(4, 3)), rlgrad.tensor(_positive(3))
    for family in (ours.DiagonalNormal, ours.TanhNormal):
        p, q = family(loc, scale), family(loc + 0.5, scale * 2)
        x = p.sample((20_000,), np.random.default_rng(0))
        expected = (p.log_prob(x) - q.log_prob(x)).numpy()
        assert tuple(kl_divergence(p, q).shape) == (4,)
        np.testing.assert_allclose(kl_divergence(p, q).numpy(), expected.mean(0), atol=0.1)
    with pytest.raises(NotImplementedError, match=r"KL\(DiagonalNormal \|\| Normal\)"):
        kl_divergence(ours.DiagonalNormal(loc, scale), ours.Normal(loc, scale))
    logits = rlgrad.tensor(_normal(4, 5))
    p, q = ours.MultiCategorical(logits, [2, 3]), ours.MultiCategorical(-logits, [2, 3])
    parts = [
        kl_divergence(ours.Categorical(logits=logits[:, s]), ours.Categorical(logits=-logits[:, s]))
        for s in (slice(0, 2), slice(2, 5))
    ]
    np.testing.assert_allclose(kl_divergence(p, q).numpy(), (parts[0] + parts[1]).numpy())


def test_an_outcome_that_the_second_excludes_makes_it_infinite():
    inf = float("inf")
    p, q = (
        ours.Categorical(probs=rlgrad.tensor([0.5, 0.5, 0.0])),
        ours.Categorical(probs=rlgrad.tensor([1.0, 0.0, 0.0])),
    )
    assert kl_divergence(p, q).item() == inf
    assert kl_divergence(q, p).item() == pytest.approx(np.log(2), rel=1e-6)
    a, b = ours.Uniform(0.0, 2.0), ours.Uniform(0.0, 1.0)
    assert kl_divergence(a, b).item() == inf
    assert kl_divergence(b, a).item() == pytest.approx(np.log(2), rel=1e-6)
    sure, fair = ours.Bernoulli(probs=rlgrad.tensor(1.0)), ours.Bernoulli(probs=rlgrad.tensor(0.5))
    assert kl_divergence(fair, sure).item() == inf
    assert kl_divergence(sure, fair).item() == pytest.approx(np.log(2), rel=1e-5)


def test_the_nearest_registered_pair_is_taken_and_a_missing_one_is_named():
    class Special(ours.Normal):
        pass

    p, q = Special(0.0, 1.0), ours.Normal(1.0, 1.0)
    assert kl_divergence(p, q).item() == pytest.approx(0.5)
    register_kl(Special, ours.Normal)(lambda p, q: p.loc * 0 + 7)
    assert kl_divergence(p, q).item() == 7
    assert kl_divergence(q, q).item() == 0
    with pytest.raises(NotImplementedError, match=r"KL\(Normal \|\| Categorical\).*register_kl"):
        kl_divergence(q, ours.Categorical(logits=rlgrad.zeros(2)))
    with pytest.raises(TypeError, match="classes of distributions"):
        register_kl(int, ours.Normal)
