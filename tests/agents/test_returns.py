import numpy as np
import pytest

from rlgrad.agents import gae, reward_to_go


def brute_force(rewards, terminated, truncated, final_values, gamma):
    """The definition, one sum per step."""
    steps, copies = rewards.shape
    returns = np.zeros((steps, copies))
    for copy in range(copies):
        for start in range(steps):
            for step in range(start, steps):
                returns[start, copy] += gamma ** (step - start) * rewards[step, copy]
                if terminated[step, copy]:
                    break
                if truncated[step, copy]:
                    returns[start, copy] += gamma ** (step - start + 1) * final_values[step, copy]
                    break
    return returns


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_returns_equal_the_sum_they_are_defined_as(gamma):
    source = np.random.default_rng(0)
    rewards, final_values = source.normal(size=(2, 40, 5))
    terminated, truncated = source.random(size=(2, 40, 5)) < 0.15
    assert (terminated & truncated).any()
    returns = reward_to_go(rewards, terminated, truncated, final_values, gamma)
    np.testing.assert_allclose(
        returns, brute_force(rewards, terminated, truncated, final_values, gamma), rtol=1e-5, atol=1e-5
    )
    assert returns.dtype == np.float32


def test_arrays_of_different_shapes_are_named():
    with pytest.raises(ValueError, match=r"truncated has shape \(4, 3\).*\(4, 2\)"):
        reward_to_go(np.ones((4, 2)), np.ones((4, 2), bool), np.ones((4, 3), bool), np.ones((4, 2)), 0.9)


def brute_force_gae(rewards, values, terminated, truncated, final_values, last_values, gamma, gae_lambda):
    """The definition: a sum of deltas up to the end of the episode or of the rollout, each with its weight."""
    steps, copies = rewards.shape
    advantages = np.zeros((steps, copies))
    for copy in range(copies):
        for start in range(steps):
            for step in range(start, steps):
                if terminated[step, copy]:
                    following = 0.0
                elif truncated[step, copy]:
                    following = final_values[step, copy]
                else:
                    following = values[step + 1, copy] if step + 1 < steps else last_values[copy]
                delta = rewards[step, copy] + gamma * following - values[step, copy]
                advantages[start, copy] += (gamma * gae_lambda) ** (step - start) * delta
                if terminated[step, copy] or truncated[step, copy]:
                    break
    return advantages


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.0, 0.5), (0.9, 0.0), (0.98, 0.95), (1.0, 1.0)])
def test_advantages_equal_the_sum_they_are_defined_as(gamma, gae_lambda):
    source = np.random.default_rng(1)
    rewards, values, final_values = source.normal(size=(3, 30, 5))
    terminated, truncated = source.random(size=(2, 30, 5)) < 0.15
    assert (terminated & truncated).any()
    last_values = source.normal(size=5)
    given = (rewards, values, terminated, truncated, final_values, last_values, gamma, gae_lambda)
    advantages = gae(*given)
    np.testing.assert_allclose(advantages, brute_force_gae(*given), rtol=1e-5, atol=1e-5)
    assert advantages.dtype == np.float32


def test_with_lambda_one_advantages_and_values_add_up_to_the_reward_to_go():
    source = np.random.default_rng(2)
    rewards, values, final_values = source.normal(size=(3, 20, 4))
    terminated, truncated = source.random(size=(2, 20, 4)) < 0.2
    truncated[-1] = True
    advantages = gae(rewards, values, terminated, truncated, final_values, np.zeros(4), 0.9, 1.0)
    returns = reward_to_go(rewards, terminated, truncated, final_values, 0.9)
    np.testing.assert_allclose(advantages + values, returns, rtol=1e-4, atol=1e-5)
