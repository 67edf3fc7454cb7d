import math

import numpy as np
import pytest

import rlgrad
from rlgrad.gan import LOSSES, GANLoss, make_loss, register_loss


def column(values):
    return rlgrad.tensor(np.array(values, np.float32)[:, None])


def test_non_saturating_loss_equals_its_closed_form():
    real, fake = [0.3, -1.2, 2.0], [-0.7, 0.4, 1.1]
    loss = make_loss("non_saturating")

    def probability(logit):
        return 1 / (1 + math.exp(-logit))

    expected_d = -np.mean([math.log(probability(a)) for a in real])
    expected_d -= np.mean([math.log(1 - probability(a)) for a in fake])
    expected_g = -np.mean([math.log(probability(a)) for a in fake])
    assert loss.discriminator(column(real), column(fake)).item() == pytest.approx(expected_d, rel=1e-6)
    assert loss.generator(None, column(fake)).item() == pytest.approx(expected_g, rel=1e-6)


def test_non_saturating_loss_stays_exact_at_logits_where_a_sigmoid_rounds():
    loss = make_loss("non_saturating")
    assert loss.generator(None, column([-200.0])).item() == 200.0
    assert loss.discriminator(column([-200.0]), column([300.0])).item() == 500.0
    confident = loss.discriminator(column([30.0]), column([-30.0])).item()
    assert confident == pytest.approx(2 * math.exp(-30.0), rel=1e-5)


def test_generator_gradient_does_not_vanish_while_the_discriminator_wins():
    logits = column([-40.0, -40.0]).requires_grad_()
    make_loss("non_saturating").generator(None, logits).backward()
    np.testing.assert_allclose(logits.grad.numpy(), -0.5)


def test_losses_and_gradients_agree_with_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    real, fake = (rng.normal(0, 5, (32, 1)).astype(np.float32) for _ in range(2))
    ours = [rlgrad.tensor(x, requires_grad=True) for x in (real, fake)]
    theirs = [torch.tensor(x, requires_grad=True) for x in (real, fake)]
    criterion = torch.nn.functional.binary_cross_entropy_with_logits

    loss = make_loss("non_saturating").discriminator(*ours)
    expected = criterion(theirs[0], torch.ones(32, 1)) + criterion(theirs[1], torch.zeros(32, 1))
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), rtol=1e-5, atol=1e-7)


REAL, FAKE = np.array([0.3, -1.2, 2.0]), np.array([-0.7, 0.4, 1.1])


def softplus(x):
    return np.log1p(np.exp(x))


@pytest.mark.parametrize(
    ("name", "discriminator", "generator"),
    [
        ("minimax", softplus(-REAL).mean() + softplus(FAKE).mean(), -softplus(FAKE).mean()),
        ("non_saturating", softplus(-REAL).mean() + softplus(FAKE).mean(), softplus(-FAKE).mean()),
        ("least_squares", ((REAL - 1) ** 2).mean() / 2 + (FAKE**2).mean() / 2, ((FAKE - 1) ** 2).mean() / 2),
        ("wasserstein", FAKE.mean() - REAL.mean(), -FAKE.mean()),
        ("hinge", np.maximum(1 - REAL, 0).mean() + np.maximum(1 + FAKE, 0).mean(), -FAKE.mean()),
        ("relativistic", softplus(FAKE - REAL).mean(), softplus(REAL - FAKE).mean()),
    ],
)
def test_every_loss_equals_its_closed_form(name, discriminator, generator):
    loss = make_loss(name)
    assert loss.discriminator(column(REAL), column(FAKE)).item() == pytest.approx(discriminator, rel=1e-6)
    assert loss.generator(column(REAL), column(FAKE)).item() == pytest.approx(generator, rel=1e-6)


def test_every_registered_loss_is_in_the_table_above():
    assert set(LOSSES) == {"minimax", "non_saturating", "least_squares", "wasserstein", "hinge", "relativistic"}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_one_step_down_either_side_moves_the_logits_its_way(name):
    real, fake = (column(x).requires_grad_() for x in ([-0.5, 0.1], [0.2, 0.3]))
    loss = make_loss(name)
    up, down = rlgrad.autograd.grad(loss.discriminator(real, fake), (real, fake))
    assert (up.numpy() < 0).all()
    assert (down.numpy() > 0).all()
    (wanted,) = rlgrad.autograd.grad(loss.generator(real, fake), fake)
    assert (wanted.numpy() < 0).all()


def test_the_relativistic_loss_needs_real_logits_and_pairs():
    loss = make_loss("relativistic")
    with pytest.raises(ValueError, match="pass real_logits too"):
        loss.generator(None, column([1.0]))
    with pytest.raises(ValueError, match=r"\(2, 1\).*\(1, 1\).*pairs"):
        loss.discriminator(column([1.0, 2.0]), column([1.0]))


def test_logits_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 1\).*\(4,\)"):
        make_loss("non_saturating").discriminator(rlgrad.zeros(4, 1), rlgrad.zeros(4))


def test_unknown_loss_names_the_nearest_and_lists_all():
    with pytest.raises(ValueError, match=r"'non_saturing'.*known losses:.*Did you mean 'non_saturating'\?"):
        make_loss("non_saturing")


def test_a_registered_loss_is_found_and_cannot_be_registered_twice(monkeypatch):
    monkeypatch.delitem(LOSSES, "mine", raising=False)
    mine = register_loss(GANLoss("mine", lambda real, fake: (fake - real).mean(), lambda real, fake: -fake.mean()))
    assert make_loss("mine") is mine
    with pytest.raises(ValueError, match="'mine' is registered already"):
        register_loss(mine)
    del LOSSES["mine"]


@pytest.mark.parametrize(("name", "border"), [("non_saturating", 0.0), ("relativistic", 2.0), ("wasserstein", 2.0)])
def test_scores_without_a_zero_are_divided_midway_between_the_means(name, border):
    real, fake = (rlgrad.tensor(np.array(values, np.float32)[:, None]) for values in ([4.0, 6.0], [-2.0, 0.0]))
    assert make_loss(name).border(real, fake) == border
