import math

import numpy as np
import pytest

import rlgrad
from rlgrad.gan import LOSSES, GANLoss, make_loss, r1_penalty, register_loss


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
    assert loss.generator(column(fake)).item() == pytest.approx(expected_g, rel=1e-6)


def test_non_saturating_loss_stays_exact_at_logits_where_a_sigmoid_rounds():
    loss = make_loss("non_saturating")
    assert loss.generator(column([-200.0])).item() == 200.0
    assert loss.discriminator(column([-200.0]), column([300.0])).item() == 500.0
    confident = loss.discriminator(column([30.0]), column([-30.0])).item()
    assert confident == pytest.approx(2 * math.exp(-30.0), rel=1e-5)


def test_generator_gradient_does_not_vanish_while_the_discriminator_wins():
    logits = column([-40.0, -40.0]).requires_grad_()
    make_loss("non_saturating").generator(logits).backward()
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


def test_r1_penalty_equals_its_closed_form_and_differentiates_in_the_weights():
    # D(x) = a |x|^2 has the gradient 2 a x, so the penalty is gamma/2 * mean(4 a^2 |x|^2).
    points = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]], np.float32)
    real, scale = rlgrad.tensor(points, requires_grad=True), rlgrad.tensor(0.7, requires_grad=True)
    penalty = r1_penalty((real * real).sum(1, keepdim=True) * scale, real, gamma=0.3)
    mean_square = (points**2).sum(1).mean()
    assert penalty.item() == pytest.approx(0.15 * 4 * 0.7**2 * mean_square, rel=1e-5)
    (slope,) = rlgrad.autograd.grad(penalty, scale)
    assert slope.item() == pytest.approx(0.15 * 8 * 0.7 * mean_square, rel=1e-5)


def test_r1_penalty_of_a_network_agrees_with_finite_differences():
    rlgrad.manual_seed(0)
    nn = rlgrad.nn
    net = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1))
    for parameter in net.parameters():
        parameter.data = parameter.data.double()
    real = rlgrad.tensor(np.random.default_rng(0).normal(size=(4, 2)), requires_grad=True)
    weight = next(net.parameters())

    def penalty():
        return r1_penalty(net(real), real, gamma=2.0)

    (gradient,) = rlgrad.autograd.grad(penalty(), weight)
    step = 1e-6
    for index in [(0, 0), (3, 1)]:
        values = weight.detach().numpy()
        values[index] += step
        above = penalty().item()
        values[index] -= 2 * step
        below = penalty().item()
        values[index] += step
        assert gradient[index].item() == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-9)


def test_r1_penalty_refuses_samples_that_do_not_require_grad():
    with pytest.raises(ValueError, match=r"real\.requires_grad_\(\)|requires_grad_"):
        r1_penalty(column([1.0]), column([1.0]), gamma=1.0)


def test_logits_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 1\).*\(4,\)"):
        make_loss("non_saturating").discriminator(rlgrad.zeros(4, 1), rlgrad.zeros(4))


def test_unknown_loss_names_the_nearest_and_lists_all():
    with pytest.raises(ValueError, match=r"'non_saturing'.*known losses:.*Did you mean 'non_saturating'\?"):
        make_loss("non_saturing")


def test_a_registered_loss_is_found_and_cannot_be_registered_twice(monkeypatch):
    monkeypatch.delitem(LOSSES, "mine", raising=False)
    mine = register_loss(GANLoss("mine", lambda real, fake: (fake - real).mean(), lambda fake: -fake.mean()))
    assert make_loss("mine") is mine
    with pytest.raises(ValueError, match="'mine' is registered already"):
        register_loss(mine)
    del LOSSES["mine"]
