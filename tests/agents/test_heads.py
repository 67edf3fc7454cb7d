"""Heads against SciPy's distributions, and the recorded operations against finite differences."""

import numpy as np
import pytest
from gymnasium import spaces

import rlgrad
from rlgrad.agents.heads import make_head
from rlgrad.agents.objectives import categorical_log_prob, clipped_surrogate, huber_of_chosen

stats = pytest.importorskip("scipy.stats")
N = 7


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cases():
    """Each head with outputs, actions, and SciPy's log-probabilities and entropies of them."""
    source = np.random.default_rng(0)
    output = source.normal(size=(N, 4)) * 2
    actions = source.integers(4, size=N)
    p = softmax(output)
    log_prob = [stats.multinomial.logpmf(np.eye(4)[a], 1, q) for a, q in zip(actions, p, strict=True)]
    yield "discrete", spaces.Discrete(4), output, actions, log_prob, [stats.entropy(q) for q in p]

    parts = [softmax(output[:, :3]), softmax(np.concatenate([output[:, 3:], output[:, :1]], 1))]
    multi = np.concatenate([output, output[:, :1]], 1)
    chosen = np.stack([source.integers(3, size=N), source.integers(2, size=N)], 1)
    log_prob = sum(np.log(q[np.arange(N), c]) for q, c in zip(parts, chosen.T, strict=True))
    entropy = sum(np.array([stats.entropy(row) for row in q]) for q in parts)
    yield "multi_discrete", spaces.MultiDiscrete([3, 2]), multi, chosen, log_prob, entropy

    yes = 1 / (1 + np.exp(-output))
    bits = source.integers(2, size=(N, 4))
    log_prob = stats.bernoulli.logpmf(bits, yes).sum(-1)
    yield "multi_binary", spaces.MultiBinary(4), output, bits, log_prob, stats.bernoulli.entropy(yes).sum(-1)

    drawn = source.normal(size=(N, 4))
    scale = np.exp(-0.5)
    log_prob = stats.norm.logpdf(drawn, output, scale).sum(-1)
    yield "box", spaces.Box(-1, 1, (4,)), output, drawn, log_prob, np.full(N, 4 * stats.norm.entropy(0, scale))


@pytest.mark.parametrize(("space", "output", "actions", "log_prob", "entropy"), [c[1:] for c in cases()])
def test_log_probabilities_and_entropies_are_scipys(space, output, actions, log_prob, entropy):
    head = make_head(space, log_std=-0.5)
    assert head.width == output.shape[1]
    kind = np.float32 if actions.dtype.kind == "f" else np.int64
    given, taken = rlgrad.from_numpy(output.astype(np.float32)), rlgrad.from_numpy(actions.astype(kind))
    np.testing.assert_allclose(head.log_prob(given, taken).detach().numpy(), log_prob, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(head.entropy(given).detach().numpy(), entropy, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("space", "output"), [(c[1], c[2]) for c in cases()])
def test_actions_are_drawn_with_the_probabilities_that_they_have(space, output):
    head, source = make_head(space, log_std=-0.5), np.random.default_rng(1)
    row = np.tile(output[:1].astype(np.float32), (20_000, 1))
    drawn = head.draw(row, source, None)
    if isinstance(space, spaces.Box):
        np.testing.assert_allclose(drawn.mean(0), output[0], atol=0.02)
        np.testing.assert_allclose(drawn.std(0), np.exp(-0.5), atol=0.02)
        assert (head.draw(row, None, None) == row).all()
        return
    outcomes, counts = np.unique(drawn, axis=0, return_counts=True)
    same = rlgrad.from_numpy(row[: len(outcomes)])
    expected = np.exp(head.log_prob(same, rlgrad.from_numpy(outcomes)).detach().numpy())
    np.testing.assert_allclose(counts / len(drawn), expected, atol=0.012)
    likeliest = head.draw(row[:1], None, None)
    np.testing.assert_array_equal(likeliest[0], outcomes[expected.argmax()])


@pytest.mark.parametrize(("space", "output"), [(c[1], c[2]) for c in cases()])
def test_the_divergence_is_the_mean_log_ratio_under_the_old_policy(space, output):
    old, new = make_head(space, log_std=-0.5), make_head(space, log_std=-0.2)
    before = output[:1].astype(np.float32)
    after = before + np.random.default_rng(2).normal(size=before.shape).astype(np.float32) * 0.5
    drawn = old.draw(np.tile(before, (100_000, 1)), np.random.default_rng(3), None)
    given = [rlgrad.from_numpy(np.tile(x, (len(drawn), 1))) for x in (before, after)]
    taken = rlgrad.from_numpy(drawn)
    ratio = (old.log_prob(given[0], taken) - new.log_prob(given[1], taken)).detach().numpy()
    kl = new.kl_from(old.parameters_of(given[0][:1]), given[1][:1]).item()
    assert kl == pytest.approx(ratio.mean(), abs=4 * ratio.std() / np.sqrt(len(ratio)))
    assert kl > 0.01
    assert old.kl_from(old.parameters_of(given[0][:1]), given[0][:1]).item() == pytest.approx(0, abs=1e-6)


def test_forbidden_actions_have_no_probability_and_no_gradient():
    head = make_head(spaces.Discrete(3))
    output = rlgrad.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    mask = np.array([[True, False, True]])
    allowed = softmax(np.array([1.0, 3.0]))
    log_prob = head.log_prob(output, rlgrad.tensor([2]), mask)
    assert log_prob.item() == pytest.approx(np.log(allowed[1]), abs=1e-6)
    assert head.entropy(output, mask).item() == pytest.approx(stats.entropy(allowed), abs=1e-6)
    (log_prob + head.entropy(output, mask)).sum().backward()
    assert output.grad[0, 1].item() == 0
    assert np.isfinite(output.grad.numpy()).all()
    drawn = head.draw(np.tile(output.detach().numpy(), (1000, 1)), np.random.default_rng(0), np.tile(mask, (1000, 1)))
    assert set(drawn) == {0, 2}


def test_the_operations_have_right_derivatives():
    source = np.random.default_rng(4)
    double = lambda *shape: rlgrad.from_numpy(source.normal(size=shape))  # noqa: E731
    index = rlgrad.from_numpy(source.integers(3, size=5))
    logits = double(5, 3).requires_grad_()
    assert rlgrad.autograd.gradcheck(lambda x: categorical_log_prob(x, index), (logits,))
    assert rlgrad.autograd.gradgradcheck(lambda x: categorical_log_prob(x, index), (logits,))
    log_prob = (double(40) * 0.5).requires_grad_()
    old, advantages = double(40) * 0.1, double(40)
    assert rlgrad.autograd.gradcheck(lambda x: clipped_surrogate(x, old, advantages, 0.2), (log_prob,))
    assert rlgrad.autograd.gradgradcheck(lambda x: clipped_surrogate(x, old, advantages, 0.2), (log_prob,))
    ratio = np.exp((log_prob.detach() - old).numpy())
    gains = advantages.numpy()
    by_hand = np.minimum(ratio * gains, ratio.clip(0.8, 1.2) * gains).mean()
    assert clipped_surrogate(log_prob, old, advantages, 0.2).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_huber_loss_of_chosen_values_is_pytorchs(weighted):
    torch = pytest.importorskip("torch")
    source = np.random.default_rng(5)
    values, targets, weights = source.normal(size=(6, 3)) * 2, source.normal(size=6), source.random(6)
    index = source.integers(3, size=6)
    theirs = torch.tensor(values, requires_grad=True)
    chosen = theirs.gather(1, torch.tensor(index)[:, None])[:, 0]
    losses = torch.nn.functional.huber_loss(chosen, torch.tensor(targets), reduction="none")
    expected = (losses * torch.tensor(weights) if weighted else losses).mean()
    expected.backward()
    ours = rlgrad.tensor(values, requires_grad=True)
    rest = [rlgrad.from_numpy(array) for array in ([index, targets, weights] if weighted else [index, targets])]
    loss = huber_of_chosen(ours, *rest)
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-12)
    assert rlgrad.autograd.gradcheck(lambda x: huber_of_chosen(x, *rest), (ours,))
    assert rlgrad.autograd.gradgradcheck(lambda x: huber_of_chosen(x, *rest), (ours,))
