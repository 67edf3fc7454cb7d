import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.gan import dragan_penalty, gradient_penalty, zero_centred_penalty


def column(values):
    return rlgrad.tensor(np.array(values, np.float32)[:, None])


def network(seed=0):
    rlgrad.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1)).double()


def slopes_by_differences(penalty, weight, places, step=1e-6):
    values = weight.detach().numpy()
    found = []
    for place in places:
        values[place] += step
        above = penalty().item()
        values[place] -= 2 * step
        below = penalty().item()
        values[place] += step
        found.append((above - below) / (2 * step))
    return found


def test_the_zero_centred_penalty_equals_its_closed_form_and_differentiates_in_the_weights():
    # D(x) = a |x|^2 has the gradient 2 a x, so the penalty is gamma/2 * mean(4 a^2 |x|^2).
    points = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]], np.float32)
    real, scale = rlgrad.tensor(points, requires_grad=True), rlgrad.tensor(0.7, requires_grad=True)
    penalty = zero_centred_penalty((real * real).sum(1, keepdim=True) * scale, real, gamma=0.3)
    mean_square = (points**2).sum(1).mean()
    assert penalty.item() == pytest.approx(0.15 * 4 * 0.7**2 * mean_square, rel=1e-5)
    (slope,) = rlgrad.autograd.grad(penalty, scale)
    assert slope.item() == pytest.approx(0.15 * 8 * 0.7 * mean_square, rel=1e-5)


def test_the_zero_centred_penalty_of_a_network_agrees_with_finite_differences():
    net = network()
    real = rlgrad.tensor(np.random.default_rng(0).normal(size=(4, 2)), requires_grad=True)
    weight = next(net.parameters())

    def penalty():
        return zero_centred_penalty(net(real), real, gamma=2.0)

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


def test_the_zero_centred_penalty_refuses_samples_that_do_not_require_grad():
    with pytest.raises(ValueError, match=r"real\.requires_grad_\(\)|requires_grad_"):
        zero_centred_penalty(column([1.0]), column([1.0]), gamma=1.0)


def test_the_gradient_penalty_of_a_linear_critic_is_its_closed_form():
    # D(x) = <w, x> has the slope w everywhere.
    w = rlgrad.tensor([[3.0], [4.0]], requires_grad=True)
    real, fake = rlgrad.randn(6, 2), rlgrad.randn(6, 2)
    penalty = gradient_penalty(lambda x: x @ w, real, fake, 10.0, np.random.default_rng(0))
    assert penalty.item() == pytest.approx(10 * (5 - 1) ** 2, rel=1e-5)
    (slope,) = rlgrad.autograd.grad(penalty, w)
    np.testing.assert_allclose(slope.numpy()[:, 0], 10 * 2 * (5 - 1) * np.array([3, 4]) / 5, rtol=1e-5)


def test_each_pair_has_a_point_and_a_norm_of_its_own():
    # D(x) = |x|^2 / 2 has the slope x: the norms tell where the points lie.
    real, fake = rlgrad.zeros(500, 1, 2, 2), rlgrad.full((500, 1, 2, 2), 0.5)
    seen = []

    def discriminator(x):
        seen.append(x.detach().numpy().reshape(500, -1))
        return x.square().flatten(1).sum(1, keepdim=True) / 2

    penalty = gradient_penalty(discriminator, real, fake, 1.0, np.random.default_rng(0), target=0.0)
    (points,) = seen
    assert (points == points[:, :1]).all()  # one alpha for a whole sample
    assert points.min() < 0.01
    assert points.max() > 0.49
    assert penalty.item() == pytest.approx((points**2).sum(1).mean(), rel=1e-4)


@pytest.mark.parametrize("kind", ["gradient", "dragan", "r2"])
def test_penalties_of_a_network_agree_with_finite_differences(kind):
    net = network(1)
    rng = np.random.default_rng(0)
    real, fake = (rlgrad.tensor(rng.normal(size=(4, 2)), requires_grad=True) for _ in range(2))
    weight = next(net.parameters())

    def penalty():
        if kind == "gradient":
            return gradient_penalty(net, real, fake, 3.0, np.random.default_rng(5))
        if kind == "dragan":
            return dragan_penalty(net, real, 3.0, np.random.default_rng(5))
        return zero_centred_penalty(net(fake), fake, 3.0)

    (gradient,) = rlgrad.autograd.grad(penalty(), weight)
    places = [(0, 0), (3, 1)]
    for place, expected in zip(places, slopes_by_differences(penalty, weight, places), strict=True):
        assert gradient[place].item() == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_the_gradient_penalty_agrees_with_torch():
    torch = pytest.importorskip("torch")
    net = network(2)
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()
    theirs.load_state_dict({k: torch.from_numpy(v.numpy().copy()) for k, v in net.state_dict().items()})
    rng = np.random.default_rng(3)
    real, fake = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    alpha = torch.from_numpy(np.random.default_rng(4).random((7, 1), np.float32))
    between = (torch.from_numpy(real) + alpha * (torch.from_numpy(fake) - torch.from_numpy(real))).requires_grad_()
    (slope,) = torch.autograd.grad(theirs(between).sum(), between, create_graph=True)
    expected = 10 * ((slope.norm(dim=1) - 1) ** 2).mean()
    expected.backward()
    penalty = gradient_penalty(net, rlgrad.tensor(real), rlgrad.tensor(fake), 10.0, np.random.default_rng(4))
    penalty.backward()
    assert penalty.item() == pytest.approx(expected.item(), rel=1e-9)
    for mine, other in zip(net.parameters(), theirs.parameters(), strict=True):
        if other.grad is not None and mine.grad is not None:
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-7, atol=1e-12)


def test_no_gradient_of_a_penalty_reaches_the_generator():
    latent = rlgrad.randn(4, 2, requires_grad=True)
    w = rlgrad.randn(2, 1, requires_grad=True)
    gradient_penalty(
        lambda x: (x @ w).square(), rlgrad.randn(4, 2), latent * 2, 1.0, np.random.default_rng(0)
    ).backward()
    assert latent.grad is None
    assert w.grad is not None


def test_pairs_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(3, 2\) and fake \(4, 2\)"):
        gradient_penalty(lambda x: x, rlgrad.zeros(3, 2), rlgrad.zeros(4, 2), 1.0, np.random.default_rng(0))


def test_samples_that_are_judged_together_are_penalised_as_one():
    # D of a pair is <w, pair>, whose gradient is w.
    w = rlgrad.tensor([[1.0], [2.0], [2.0], [4.0]])

    def discriminator(x):
        return x.reshape(-1, 4) @ w

    real = rlgrad.randn(6, 2, requires_grad=True)
    assert zero_centred_penalty(discriminator(real), real, 2.0).item() == pytest.approx(25.0)
    between = gradient_penalty(discriminator, real, rlgrad.randn(6, 2), 1.0, np.random.default_rng(0))
    assert between.item() == pytest.approx((5 - 1) ** 2, rel=1e-5)
