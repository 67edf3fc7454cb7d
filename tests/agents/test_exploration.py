import numpy as np
import pytest

import rlgrad
from rlgrad.agents import TD3, TD3Config
from rlgrad.agents.exploration import GaussianNoise, NoisyLinear, OrnsteinUhlenbeckNoise, make_noise


def test_gaussian_noise_has_its_standard_deviation():
    noise = make_noise("gaussian", 1000, 40, 0.3)
    assert isinstance(noise, GaussianNoise)
    drawn = noise.draw(np.random.default_rng(0))
    assert drawn.dtype == np.float32
    assert drawn.std() == pytest.approx(0.3, rel=0.02)
    assert drawn.mean() == pytest.approx(0.0, abs=0.01)


def test_ou_noise_has_the_variance_and_memory_of_its_process():
    noise = OrnsteinUhlenbeckNoise(4000, 1, std=0.5, theta=2.0, dt=0.05)
    rng = np.random.default_rng(0)
    for _ in range(200):
        before = noise.draw(rng)
    after = noise.draw(rng)
    decay = 1 - 2.0 * 0.05
    # The stationary variance of x' = decay x + std sqrt(dt) N(0, 1).
    assert after.var() == pytest.approx(0.25 * 0.05 / (1 - decay**2), rel=0.1)
    assert np.corrcoef(before[:, 0], after[:, 0])[0, 1] == pytest.approx(decay, abs=0.02)


def test_ou_noise_starts_anew_where_an_episode_ended_and_is_saved():
    noise, rng = OrnsteinUhlenbeckNoise(3, 2, std=1.0), np.random.default_rng(0)
    noise.draw(rng)
    noise.restart(np.array([1]))
    assert (noise.value[1] == 0).all()
    assert (noise.value[[0, 2]] != 0).all()
    other = OrnsteinUhlenbeckNoise(3, 2, std=1.0)
    other.load_state_dict(noise.state_dict())
    np.testing.assert_array_equal(noise.draw(np.random.default_rng(1)), other.draw(np.random.default_rng(1)))


def test_noise_of_td3_wanders_as_fast_as_set():
    config = TD3Config(noise="ou", noise_std=0.5, noise_dt=0.5, buffer_size=500)
    noise, rng = TD3("Pendulum-v1", config, num_envs=500).noise, np.random.default_rng(0)
    values = np.array([noise.draw(rng)[:, 0].copy() for _ in range(200)])[100:]
    # A step forgets theta dt of the value, and adds a normal number of std sqrt(dt).
    assert np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1] == pytest.approx(1 - 0.15 * 0.5, abs=0.01)
    assert np.std(values[1:] - (1 - 0.15 * 0.5) * values[:-1]) == pytest.approx(0.5 * np.sqrt(0.5), rel=0.02)
    assert isinstance(make_noise("gaussian", 1, 1, 0.1), GaussianNoise)


def test_noisy_layers_are_random_in_training_and_plain_in_evaluation():
    layer, x = NoisyLinear(3, 2, sigma=0.5), rlgrad.ones(4, 3)
    plain = rlgrad.nn.functional.linear(x, layer.weight_mu, layer.bias_mu)
    rng = np.random.default_rng(0)
    outputs = []
    for _ in range(4000):
        layer.reset_noise(rng)
        outputs.append(layer(x)[0].detach().numpy())
    # f(x)^2 = |x|, so the factorised noise of a weight has variance E|x| E|x| = 2 / pi, and a bias's E|x|.
    sigma = 0.5 / np.sqrt(3)
    variance = sigma**2 * (3 * 2 / np.pi + np.sqrt(2 / np.pi))
    np.testing.assert_allclose(np.mean(outputs, 0), plain[0].detach().numpy(), atol=0.05)
    np.testing.assert_allclose(np.var(outputs, 0), variance, rtol=0.1)
    layer.eval()
    np.testing.assert_allclose(layer(x).detach().numpy(), plain.detach().numpy())


def test_noise_of_a_layer_reaches_its_parameters_and_its_state():
    layer = NoisyLinear(3, 2)
    layer.reset_noise(np.random.default_rng(0))
    layer(rlgrad.ones(1, 3)).sum().backward()
    expected = np.outer(layer.eps_out.numpy(), layer.eps_in.numpy())
    np.testing.assert_allclose(layer.weight_sigma.grad.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(layer.bias_sigma.grad.numpy(), layer.eps_out.numpy())
    other = NoisyLinear(3, 2)
    other.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(other(rlgrad.ones(1, 3)).detach().numpy(), layer(rlgrad.ones(1, 3)).detach().numpy())
