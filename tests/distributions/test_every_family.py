"""Every family against PyTorch's of the same name: values, gradients, shapes and draws."""

import numpy as np
import pytest

import rlgrad
import rlgrad.distributions as ours

from .families import FAMILIES

torch = pytest.importorskip("torch")
theirs = torch.distributions

QUANTITIES = ("mean", "mode", "variance", "stddev", "entropy", "perplexity", "enumerate_support")
PARAMETERS = ("probs", "logits", "scale_tril", "covariance_matrix", "precision_matrix", "param_shape")


def build(library, distributions, name, grad=False):
    make, parameters, value = FAMILIES[name]
    leaves = [library.tensor(p, dtype=library.float64, requires_grad=grad) for p in parameters]
    return make(distributions, *leaves), leaves, library.tensor(value)


def both(name, grad=False):
    return build(rlgrad, ours, name, grad), build(torch, theirs, name, grad)


def same(mine, other, rtol=1e-8):
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_and_values_are_torchs(name):
    (mine, _, value), (other, _, other_value) = both(name)
    assert tuple(mine.batch_shape) == tuple(other.batch_shape)
    assert tuple(mine.event_shape) == tuple(other.event_shape)
    assert bool(mine.has_rsample) == bool(other.has_rsample)
    same(mine.log_prob(value), other.log_prob(other_value))
    compared = 0
    for quantity in QUANTITIES:
        try:
            expected = getattr(other, quantity)
            expected = expected() if callable(expected) else expected
        except NotImplementedError:
            continue
        result = getattr(mine, quantity)
        coarse = name.startswith("multinomial")  # PyTorch takes the logarithm of total_count's factorial in float32
        same(result() if callable(result) else result, expected, 1e-6 if coarse else 1e-8)
        compared += 1
    for parameter in PARAMETERS:
        if hasattr(type(other), parameter) and hasattr(mine, parameter):
            result, expected = getattr(mine, parameter), getattr(other, parameter)
            if parameter == "param_shape":
                assert tuple(result) == tuple(expected)
            else:
                same(result, expected)
    assert compared or isinstance(mine, ours.TransformedDistribution)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_torchs(name):
    results = []
    for made, leaves, value in both(name, grad=True):
        total = made.log_prob(value).sum()
        for quantity in ("entropy", "mean", "mode", "variance"):
            try:
                result = getattr(made, quantity)
                result = result() if callable(result) else result
            except NotImplementedError:
                continue
            if result.requires_grad and np.isfinite(result.detach().numpy()).all():
                total = total + (result * 0.7).sum()
        total.backward()
        results.append([leaf.grad.numpy() for leaf in leaves])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_expanded_distributions_are_torchs(name):
    (mine, _, value), (other, _, other_value) = both(name)
    shape, dims = (2, *mine.batch_shape), len(mine.batch_shape) + len(mine.event_shape)
    mine, other = mine.expand(shape), other.expand(shape)
    assert tuple(mine.batch_shape) == shape
    assert tuple(mine.sample((5,)).shape) == (5, *shape, *mine.event_shape)
    if value.ndim == dims:
        same(mine.log_prob(value), other.log_prob(other_value))


@pytest.mark.parametrize(
    "name", [n for n in FAMILIES if not n.startswith(("multivariate", "independent", "mixture of v"))]
)
def test_cumulative_probabilities_and_their_inverse_are_torchs(name):
    (mine, _, value), (other, _, other_value) = both(name)
    levels = np.random.default_rng(1).uniform(0.01, 0.99, (3, 4))
    for quantity, arguments in (("cdf", (value, other_value)), ("icdf", (rlgrad.tensor(levels), torch.tensor(levels)))):
        try:
            expected = getattr(other, quantity)(arguments[1])
        except NotImplementedError:
            with pytest.raises(NotImplementedError, match="closed form"):
                getattr(mine, quantity)(arguments[0])
            continue
        same(getattr(mine, quantity)(arguments[0]), expected)


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_have_the_mean_and_variance_of_torchs(name):
    mine, _, _ = build(rlgrad, ours, name)
    other, _, _ = build(torch, theirs, name)
    count = 4000
    draws = mine.sample((count,), np.random.default_rng(0)).numpy().astype(np.float64)
    assert draws.shape == (count, *mine.batch_shape, *mine.event_shape)
    torch.manual_seed(0)
    expected = other.sample((count,)).numpy().astype(np.float64)
    ranks = pytest.importorskip("scipy.stats").ks_2samp(draws.reshape(count, -1), expected.reshape(count, -1)).pvalue
    assert (np.atleast_1d(ranks) > 1e-5).all()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("generator", [lambda: np.random.default_rng(3), lambda: rlgrad.Generator().manual_seed(3)])
def test_a_generator_owns_its_draws(name, generator):
    made, _, _ = build(rlgrad, ours, name)
    first = made.sample((4,), generator()).numpy()
    rlgrad.rand(5)
    np.testing.assert_array_equal(first, made.sample((4,), generator()).numpy())
    assert not np.array_equal(first, made.sample((4,)).numpy()) or made.batch_shape == ()


@pytest.mark.parametrize("name", FAMILIES)
def test_outcomes_lie_in_the_support_and_others_are_refused(name):
    make, parameters, value = FAMILIES[name]
    made = make(ours, *[rlgrad.tensor(p) for p in parameters])
    made.log_prob(rlgrad.tensor(value))
    made.log_prob(made.sample())
    wrong = np.full(value.shape, np.nan) if value.dtype.kind == "f" else value + 100
    with pytest.raises(ValueError, match="satisfy the constraint"):
        made.log_prob(rlgrad.tensor(wrong))
    with pytest.raises(ValueError, match=r"shape"):
        made.log_prob(rlgrad.tensor(np.resize(value, (7, 11, 13))))


@pytest.mark.parametrize("name", [n for n, (_, p, _) in FAMILIES.items() if not n.startswith(("tanh", "mixture"))])
def test_a_parameter_outside_its_constraint_is_named(name):
    make, parameters, _ = FAMILIES[name]
    for index in range(len(parameters)):
        broken = [rlgrad.tensor(np.where(i == index, np.nan, p)) for i, p in enumerate(parameters)]
        with pytest.raises(ValueError, match=r"Expected parameter \w+ .*satisfy the constraint .*nan"):
            make(ours, *broken)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_dtype_of_the_parameters_is_kept(name, dtype):
    make, parameters, value = FAMILIES[name]
    kind = getattr(rlgrad, dtype)
    made = make(ours, *[rlgrad.tensor(p, dtype=kind) for p in parameters])
    outcome = rlgrad.tensor(value)
    outcome = outcome.to(kind) if outcome.is_floating_point() else outcome
    assert made.log_prob(outcome).dtype is kind
    drawn = made.sample()
    assert drawn.dtype is (rlgrad.int64 if name.startswith("categorical") else kind)


DISCRETE = (
    "bernoulli of",
    "independent bernoulli",
    "categorical",
    "one-hot of",
    "mixture",
    "poisson",
    "geometric",
    "binomial",
    "multinomial",
)
IMPLICIT = ("gamma", "beta", "dirichlet", "student", "chi-squared")
REPARAMETERISED = [n for n in FAMILIES if not any(word in n for word in DISCRETE + IMPLICIT)]


@pytest.mark.parametrize("name", REPARAMETERISED)
def test_reparameterised_draws_move_with_their_parameters(name):
    make, parameters, _ = FAMILIES[name]
    leaves = [rlgrad.tensor(p, requires_grad=True) for p in parameters]
    weight = np.random.default_rng(5).normal(size=make(ours, *leaves).sample().shape)

    def total(values):
        return (make(ours, *values).rsample((), np.random.default_rng(7)) * rlgrad.tensor(weight)).sum()

    total(leaves).backward()
    for index, leaf in enumerate(leaves):
        direction = np.random.default_rng(index).normal(size=leaf.shape)
        if "covariance" in name or "precision" in name:
            direction = direction + np.swapaxes(direction, -1, -2) if index else direction
        elif "factor" in name and index:
            direction = np.tril(direction)
        step = 1e-6
        ends = []
        for sign in (1, -1):
            moved = [p + sign * step * direction if i == index else p for i, p in enumerate(parameters)]
            ends.append(total([rlgrad.tensor(p) for p in moved]).item())
        slope = (leaf.grad.numpy() * direction).sum()
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_numbers_stand_for_parameters_and_outcomes():
    normal = ours.Normal(0, 2.0, validate_args=False)
    assert tuple(normal.batch_shape) == ()
    assert normal.log_prob(0.5).item() == pytest.approx(theirs.Normal(0.0, 2.0).log_prob(torch.tensor(0.5)).item())
    assert ours.Uniform(0, 2).sample((3,)).shape == (3,)
    assert ours.Categorical(logits=rlgrad.zeros(4), validate_args=False).log_prob(2).item() == pytest.approx(-np.log(4))
    mixed = ours.Gamma(rlgrad.ones(3, dtype=rlgrad.float64), 2)
    assert mixed.rate.dtype is rlgrad.float64
    with pytest.raises(ValueError, match="scale must be a Tensor or a number, got list"):
        ours.Normal(0.0, [1.0])
    with pytest.raises(
        ValueError, match=r"concentration1 of shape \(2,\) and concentration0 of shape \(3,\) do not broadcast"
    ):
        ours.Beta(rlgrad.ones(2), rlgrad.ones(3))


def test_validation_can_be_switched_off_for_each_distribution_and_for_all():
    ours.Normal(0.0, -1.0, validate_args=False)
    with pytest.raises(ValueError, match=r"parameter scale .*GreaterThan\(lower_bound=0.0\), but found -1.0"):
        ours.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match=r"parameter high .*GreaterThan"):
        ours.Uniform(1.0, 0.0)
    ours.Distribution.set_default_validate_args(False)
    try:
        ours.Normal(0.0, -1.0)
    finally:
        ours.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        ours.Distribution.set_default_validate_args("yes")


def test_what_has_no_closed_form_says_what_to_do_instead():
    tanh = ours.TransformedDistribution(ours.Normal(0.0, 1.0), ours.TanhTransform())
    for attribute in ("mean", "mode", "variance", "stddev"):
        with pytest.raises(NotImplementedError, match="TransformedDistribution has no"):
            getattr(tanh, attribute)
    for method in ("entropy", "enumerate_support"):
        with pytest.raises(NotImplementedError, match="TransformedDistribution has no"):
            getattr(tanh, method)()
    with pytest.raises(NotImplementedError, match="log-derivative trick"):
        ours.Bernoulli(0.5).rsample()


def test_transforms_are_inverted_and_compose():
    x = rlgrad.tensor(np.linspace(-2, 2, 7))
    every = [
        ours.ExpTransform(),
        ours.SigmoidTransform(),
        ours.TanhTransform(),
        ours.SoftplusTransform(),
        ours.AffineTransform(1.0, -3.0),
    ]
    for transform in [*every, ours.ComposeTransform(every[2:]), ours.ComposeTransform([])]:
        y = transform(x)
        np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-6, atol=1e-9)
        assert transform.inv.inv is transform
        slope = np.gradient(transform(rlgrad.tensor(np.linspace(-1e-5, 1e-5, 3))).numpy(), 1e-5)[1]
        expected = transform.log_abs_det_jacobian(rlgrad.zeros(1, dtype=rlgrad.float64), transform(rlgrad.zeros(1)))
        assert expected.item() == pytest.approx(np.log(abs(slope)), abs=1e-6)
        assert np.sign(slope) == transform.sign
        inverse = transform.inv.log_abs_det_jacobian(y, x).numpy()
        np.testing.assert_allclose(inverse, -transform.log_abs_det_jacobian(x, y).numpy())
    assert ours.TanhTransform() == ours.TanhTransform()
    assert ours.AffineTransform(0.0, 1.0) != ours.AffineTransform(0.0, 2.0)
    assert ours.ComposeTransform(every) == ours.ComposeTransform(list(every))
    cached = ours.TanhTransform(cache_size=1)
    far = rlgrad.tensor([30.0])
    assert cached.invert(cached(far)).item() == 30.0
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        ours.TanhTransform(cache_size=2)
