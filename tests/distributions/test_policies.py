"""What agents add to PyTorch's families: action masks, several discrete actions, squashed normals, fused formulas."""

from itertools import pairwise

import numpy as np
import pytest

import rlgrad
from rlgrad.distributions import (
    Bernoulli,
    Categorical,
    Independent,
    MultiCategorical,
    Normal,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    TanhNormal,
    TanhTransform,
    TransformedDistribution,
)
from rlgrad.distributions.kernels import categorical_entropy, chosen, log_tanh_slope, normal_log_prob

LOGITS = np.random.default_rng(0).normal(size=(6, 4))
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 1]], bool)


@pytest.mark.parametrize("parameter", ["logits", "probs"])
def test_masked_outcomes_are_never_drawn_and_the_others_keep_their_odds(parameter):
    given = LOGITS if parameter == "logits" else np.exp(LOGITS)
    policy = Categorical(**{parameter: rlgrad.tensor(given)}, mask=MASK)
    weights = np.exp(LOGITS) * MASK
    probabilities = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(policy.probs.numpy(), probabilities, rtol=1e-10)
    draws = policy.sample((4000,), np.random.default_rng(0)).numpy()
    counts = np.stack([(draws == k).sum(0) for k in range(4)], -1)
    assert (counts[~MASK] == 0).all()
    chisquare = pytest.importorskip("scipy.stats").chisquare
    for row, expected, allowed in zip(counts, probabilities, MASK, strict=True):
        assert allowed.sum() == 1 or chisquare(row[allowed], 4000 * expected[allowed]).pvalue > 1e-4
    entropy = -(probabilities * np.log(np.where(MASK, probabilities, 1.0))).sum(-1)
    np.testing.assert_allclose(policy.entropy().numpy(), entropy, atol=1e-12)
    assert MASK[np.arange(6), policy.mode.numpy()].all()


def test_no_gradient_reaches_masked_logits_and_the_others_are_finite():
    leaf = rlgrad.tensor(LOGITS, requires_grad=True)
    policy = Categorical(logits=leaf, mask=rlgrad.tensor(MASK))
    actions = policy.sample((), np.random.default_rng(0))
    (policy.log_prob(actions).sum() + policy.entropy().sum()).backward()
    gradient = leaf.grad.numpy()
    assert np.isfinite(gradient).all()
    assert (gradient[~MASK] == 0).all()
    allowed = rlgrad.tensor(LOGITS[1, [0, 2]], requires_grad=True)
    small = Categorical(logits=allowed)
    (small.log_prob(rlgrad.tensor([0, 2].index(actions[1].item()))) + small.entropy()).backward()
    np.testing.assert_allclose(gradient[1, [0, 2]], allowed.grad.numpy())


def test_a_mask_that_leaves_nothing_or_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="forbids every outcome"):
        Categorical(logits=rlgrad.zeros(2, 3), mask=np.array([[True] * 3, [False] * 3]))
    with pytest.raises(ValueError, match=r"mask of shape \(2,\) does not fit parameters of shape \(2, 3\)"):
        OneHotCategorical(logits=rlgrad.zeros(2, 3), mask=np.array([True, False]))
    with pytest.raises(ValueError, match="forbids every outcome"):
        MultiCategorical(rlgrad.zeros(5), [2, 3], mask=np.array([True, False, False, False, False]))


@pytest.mark.parametrize("nvec", [[2, 3, 4], [3, 3, 3], [1, 8]])
@pytest.mark.parametrize("masked", [False, True])
def test_several_categorical_variables_are_as_many_categoricals(nvec, masked):
    source = np.random.default_rng(0)
    logits = source.normal(size=(5, sum(nvec)))
    mask = source.random((5, sum(nvec))) < 0.6
    starts = np.cumsum([0, *nvec])
    mask[:, starts[:-1]] = True
    leaf, other = rlgrad.tensor(logits, requires_grad=True), rlgrad.tensor(logits, requires_grad=True)
    policy = MultiCategorical(leaf, nvec, mask=mask if masked else None)
    parts = [Categorical(logits=other[:, a:b], mask=mask[:, a:b] if masked else None) for a, b in pairwise(starts)]
    actions = policy.sample((), np.random.default_rng(1))
    assert tuple(actions.shape) == (5, len(nvec))
    expected = sum(part.log_prob(actions[:, i]) for i, part in enumerate(parts))
    entropy = sum(part.entropy() for part in parts)
    np.testing.assert_allclose(policy.log_prob(actions).detach().numpy(), expected.detach().numpy())
    np.testing.assert_allclose(policy.entropy().detach().numpy(), entropy.detach().numpy())
    np.testing.assert_array_equal(policy.mode.numpy(), np.stack([p.mode.numpy() for p in parts], -1))
    for mine, part in zip(policy.logits, parts, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), part.logits.detach().numpy())
    (policy.log_prob(actions).sum() + policy.entropy().sum()).backward()
    (expected.sum() + entropy.sum()).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), atol=1e-12)
    draws = policy.sample((3000,), np.random.default_rng(2)).numpy()
    for i, part in enumerate(parts):
        frequencies = np.stack([(draws[..., i] == k).mean(0) for k in range(nvec[i])], -1)
        np.testing.assert_allclose(frequencies, part.probs.detach().numpy(), atol=0.04)


def test_a_logits_vector_of_the_wrong_length_is_named():
    with pytest.raises(
        ValueError, match=r"nvec \[2, 3\] needs logits whose last axis has 5 entries, got shape \(4, 6\)"
    ):
        MultiCategorical(rlgrad.zeros(4, 6), [2, 3])


def test_multi_binary_actions_are_independent_coins():
    logits = np.array([[0.5, -1.0, 2.0]])
    policy = Independent(Bernoulli(logits=rlgrad.tensor(logits)), 1)
    action = policy.sample((), np.random.default_rng(0))
    p = 1 / (1 + np.exp(-logits))
    expected = np.log(np.where(action.numpy() == 1, p, 1 - p)).sum(-1)
    np.testing.assert_allclose(policy.log_prob(action).numpy(), expected)


def test_a_squashed_normal_is_the_transformed_normal():
    loc, scale = np.random.default_rng(0).normal(size=(5, 3)), np.array([0.3, 0.8, 1.2])
    results = []
    for build in (
        lambda a, b: TanhNormal(a, b),
        lambda a, b: Independent(TransformedDistribution(Normal(a, b), TanhTransform(cache_size=1)), 1),
    ):
        leaves = rlgrad.tensor(loc, requires_grad=True), rlgrad.tensor(scale, requires_grad=True)
        policy = build(*leaves)
        actions = policy.rsample((), np.random.default_rng(1))
        log_prob = policy.log_prob(actions)
        (log_prob.sum() + actions.sum()).backward()
        results.append([actions, log_prob, *[leaf.grad for leaf in leaves]])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7)


def test_drawing_with_log_probs_agrees_with_log_prob_and_its_gradient():
    loc, scale = np.random.default_rng(0).normal(size=(5, 3)), np.array([0.3, 0.8, 1.2])
    gradients = []
    for joint in (True, False):
        leaves = rlgrad.tensor(loc, requires_grad=True), rlgrad.tensor(scale, requires_grad=True)
        policy = TanhNormal(*leaves)
        if joint:
            actions, log_prob = policy.rsample_with_log_prob((), np.random.default_rng(1))
        else:
            actions = policy.rsample((), np.random.default_rng(1))
            log_prob = policy.log_prob(actions)
        (log_prob.sum() + 3 * actions.sum()).backward()
        gradients.append([actions, log_prob, *[leaf.grad for leaf in leaves]])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_density_of_a_saturated_action_is_finite_with_its_gradient(dtype):
    kind = getattr(rlgrad, dtype)
    loc = rlgrad.tensor([[9.0, -30.0], [0.0, 0.0]], dtype=kind, requires_grad=True)
    policy = TanhNormal(loc, rlgrad.ones(2, dtype=kind))
    log_prob = policy.log_prob(rlgrad.tensor([[1.0, -1.0], [1.0, -1.0]], dtype=kind))
    log_prob.sum().backward()
    assert bool(rlgrad.isfinite(log_prob).all())
    assert bool(rlgrad.isfinite(loc.grad).all())
    drawn, log_prob = TanhNormal(loc * 10, rlgrad.ones(2, dtype=kind)).rsample_with_log_prob()
    assert bool(rlgrad.isfinite(log_prob).all())
    assert bool((drawn.abs() <= 1).all())


def test_a_squashed_density_integrates_to_one():
    actions = np.linspace(-1, 1, 20_001)[1:-1]
    policy = TanhNormal(rlgrad.tensor([[0.4]], dtype=rlgrad.float64), rlgrad.tensor([0.7], dtype=rlgrad.float64))
    density = policy.log_prob(rlgrad.tensor(actions[:, None, None])).exp().numpy()
    assert density.sum() * (actions[1] - actions[0]) == pytest.approx(1.0, abs=1e-4)
    with pytest.raises(NotImplementedError, match="TanhNormal has no entropy"):
        policy.entropy()


def test_fused_formulas_have_right_first_and_second_derivatives():
    gradcheck, gradgradcheck = rlgrad.autograd.gradcheck, rlgrad.autograd.gradgradcheck
    source = np.random.default_rng(0)
    value, loc = (rlgrad.tensor(source.normal(size=(3, 2)), requires_grad=True) for _ in range(2))
    scale = rlgrad.tensor(source.uniform(0.5, 2.0, 2), requires_grad=True)
    for dims in (0, 1):
        assert gradcheck(lambda v, m, s, dims=dims: normal_log_prob(v, m, s, dims), (value, loc, scale))
        assert gradgradcheck(lambda v, m, s, dims=dims: normal_log_prob(v, m, s, dims), (value, loc, scale))
    for function in (log_tanh_slope, lambda x: categorical_entropy(x.log_softmax(-1))):
        assert gradcheck(function, (value,))
        assert gradgradcheck(function, (value,))
    index = rlgrad.tensor([1, 0, 1])
    assert gradcheck(lambda x: chosen(x, index), (value,))
    assert gradgradcheck(lambda x: chosen(x.exp(), index), (value,))
    np.testing.assert_allclose(log_tanh_slope(value).detach().numpy(), np.log(1 - np.tanh(value.detach().numpy()) ** 2))
    assert log_tanh_slope(rlgrad.tensor([-1e4, 1e4])).numpy() == pytest.approx([2 * np.log(2) - 2e4] * 2)


def test_values_of_another_dtype_are_brought_to_that_of_the_parameters():
    normal = Normal(rlgrad.zeros(2), rlgrad.ones(2))
    assert normal.log_prob(rlgrad.tensor([1, 2])).dtype is rlgrad.float32
    assert normal.log_prob(rlgrad.zeros(2, dtype=rlgrad.float64)).dtype is rlgrad.float64


def test_straight_through_samples_pass_gradients_to_the_probabilities():
    leaf = rlgrad.tensor(LOGITS, requires_grad=True)
    weights = rlgrad.tensor(np.random.default_rng(2).normal(size=LOGITS.shape))
    drawn = OneHotCategoricalStraightThrough(logits=leaf).rsample((), np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(drawn.detach().numpy()), np.tile([0, 0, 0, 1], (6, 1)), atol=1e-12)
    (drawn * weights).sum().backward()
    other = rlgrad.tensor(LOGITS, requires_grad=True)
    (other.softmax(-1) * weights).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("index", [-1, 4])
def test_an_outcome_that_there_is_not_is_named(index):
    unchecked = Categorical(logits=rlgrad.tensor(LOGITS), validate_args=False)
    with pytest.raises(IndexError, match=rf"{index}.* leave the range 0 to 3"):
        unchecked.log_prob(rlgrad.full((6,), index, dtype=rlgrad.int64))
