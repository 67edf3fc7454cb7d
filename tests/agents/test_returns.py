import numpy as np
import pytest

from rlgrad.agents import reward_to_go


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
