import numpy as np
import pytest

import rlgrad
from rlgrad.distributions import Categorical


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def test_log_prob_and_entropy_agree_with_scipy(logits):
    stats = pytest.importorskip("scipy.stats")
    special = pytest.importorskip("scipy.special")
    actions = np.array([0, 3, 1, 2, 3])
    distribution = Categorical(logits=rlgrad.from_numpy(logits))
    log_prob = special.log_softmax(logits.astype(np.float64), axis=-1)[np.arange(5), actions]
    np.testing.assert_allclose(distribution.log_prob(rlgrad.from_numpy(actions)).numpy(), log_prob, rtol=1e-5)
    entropy = [stats.entropy(row) for row in special.softmax(logits.astype(np.float64), axis=-1)]
    np.testing.assert_allclose(distribution.entropy().numpy(), entropy, rtol=1e-5)


@pytest.mark.parametrize("parameter", ["logits", "probs"])
def test_values_and_gradients_agree_with_torch(logits, parameter):
    torch = pytest.importorskip("torch")
    values = logits if parameter == "logits" else np.exp(logits)
    actions = np.array([0, 3, 1, 2, 3])
    results = []
    for library, family in ((rlgrad, Categorical), (torch, torch.distributions.Categorical)):
        leaf = library.tensor(values, requires_grad=True)
        distribution = family(**{parameter: leaf})
        log_prob, entropy = distribution.log_prob(library.from_numpy(actions)), distribution.entropy()
        (log_prob.sum() + 0.5 * entropy.sum()).backward()
        results.append(
            [x.detach().numpy() for x in (log_prob, entropy, distribution.probs, distribution.logits)]
            + [leaf.grad.numpy()]
        )
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("generator", [None, 0])
def test_samples_have_the_probabilities_asked_for(generator):
    probs = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], dtype=np.float32)
    if generator is not None:
        generator = np.random.default_rng(generator)
    rlgrad.manual_seed(0)
    distribution = Categorical(probs=rlgrad.from_numpy(probs))
    distribution.entropy()  # computes logits, in which a probability of 0 is not exactly that any more
    sample = distribution.sample((20_000,), generator).numpy()
    assert not (sample[:, 1] == 2).any()
    assert sample.shape == (20_000, 2)
    frequencies = np.stack([(sample == k).mean(0) for k in range(3)], axis=-1)
    np.testing.assert_allclose(frequencies, probs, atol=0.015)


def test_a_generator_owns_its_draws(logits):
    distribution = Categorical(logits=rlgrad.from_numpy(logits))
    first = distribution.sample((8,), np.random.default_rng(3)).numpy()
    rlgrad.rand(5)
    second = distribution.sample((8,), np.random.default_rng(3)).numpy()
    np.testing.assert_array_equal(first, second)


def test_a_sample_is_not_recorded():
    logits = rlgrad.zeros(2, 3, requires_grad=True)
    assert not Categorical(logits=logits).sample().requires_grad


def test_the_mode_is_the_most_probable_outcome(logits):
    np.testing.assert_array_equal(Categorical(logits=rlgrad.from_numpy(logits)).mode.numpy(), logits.argmax(-1))


def test_an_excluded_outcome_leaves_the_entropy_finite():
    distribution = Categorical(logits=rlgrad.tensor([0.0, 0.0, float("-inf")]))
    assert distribution.entropy().item() == pytest.approx(np.log(2.0), rel=1e-6)


def test_samples_of_many_shapes_have_log_probs(logits):
    distribution = Categorical(logits=rlgrad.from_numpy(logits))
    sample = distribution.sample((7,), np.random.default_rng(0))
    log_prob = distribution.log_prob(sample)
    assert tuple(log_prob.shape) == (7, 5)
    expected = distribution.logits.numpy()[np.arange(5), sample.numpy()]
    np.testing.assert_allclose(log_prob.numpy(), expected)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="exactly one of probs and logits, got both"):
        Categorical(probs=rlgrad.ones(2), logits=rlgrad.ones(2))
    with pytest.raises(ValueError, match="got neither"):
        Categorical()
    with pytest.raises(ValueError, match="last axis"):
        Categorical(logits=rlgrad.tensor(1.0))
    with pytest.raises(TypeError, match="integers"):
        Categorical(logits=rlgrad.ones(2), validate_args=False).log_prob(rlgrad.tensor(1.5))
