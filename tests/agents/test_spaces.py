import numpy as np
import pytest
from gymnasium import spaces

from rlgrad.agents.spaces import ActionCodec, ObservationCodec


def test_boxes_are_flattened_and_discrete_observations_become_one_hot():
    box = ObservationCodec(spaces.Box(-1, 1, (2, 3), np.float64))
    assert box.dim == 6
    assert box.encode(np.ones((4, 2, 3))).shape == (4, 6)
    discrete = ObservationCodec(spaces.Discrete(3, start=5))
    np.testing.assert_array_equal(discrete.encode(np.array([5, 7])), [[1, 0, 0], [0, 0, 1]])


def test_one_observation_is_told_from_a_batch():
    codec = ObservationCodec(spaces.Box(-1, 1, (3,)))
    assert codec.check(np.zeros(3))[1]
    assert not codec.check(np.zeros((3, 3)))[1]
    assert codec.check([0, 0, 0])[0].shape == (1, 3)
    assert ObservationCodec(spaces.Discrete(3)).check(2)[1]


@pytest.mark.parametrize(
    ("space", "observation", "error", "message"),
    [
        (spaces.Box(-1, 1, (3,)), np.zeros(4), ValueError, r"shape \(4,\).*expected \(3,\).*\(n, 3\)"),
        (spaces.Box(-1, 1, (3,)), np.zeros((1, 1, 3)), ValueError, r"shape \(1, 1, 3\)"),
        (spaces.Box(-1, 1, (3,)), 0.0, ValueError, r"shape \(\)"),
        (spaces.Box(-1, 1, (3,)), "left", TypeError, "array of numbers"),
        (spaces.Box(-1, 1, (3,)), [None] * 3, TypeError, "dtype object"),
        (spaces.Box(-1, 1, (3,)), [0.0, np.nan, 0.0], ValueError, "NaN"),
        (spaces.Discrete(3), 3, ValueError, "leave Discrete"),
        (spaces.Discrete(3), 1.0, TypeError, "integers"),
    ],
)
def test_observations_that_do_not_fit_are_refused(space, observation, error, message):
    with pytest.raises(error, match=message):
        ObservationCodec(space).check(observation)


def test_the_pair_that_reset_returns_is_refused_with_a_hint():
    with pytest.raises((TypeError, ValueError), match=r"reset|inhomogeneous"):
        ObservationCodec(spaces.Box(-1, 1, (3,))).check((np.zeros(3), {}))


def test_continuous_actions_are_mapped_to_asymmetric_bounds_and_clipped():
    codec = ActionCodec(spaces.Box(np.array([0.0, -1.0]), np.array([10.0, 3.0]), dtype=np.float32))
    actions = codec.to_env(np.array([[-1.0, 0.0], [0.5, 1.0], [9.0, -9.0]]))
    np.testing.assert_allclose(actions, [[0.0, 1.0], [7.5, 3.0], [10.0, -1.0]])
    assert actions.dtype == np.float32
    unbounded = ActionCodec(spaces.Box(-np.inf, np.inf, (1,)))
    np.testing.assert_allclose(unbounded.to_env(np.array([[-30.0]])), [[-30.0]])


def test_discrete_actions_count_from_the_start_of_the_space():
    np.testing.assert_array_equal(ActionCodec(spaces.Discrete(3, start=-1)).to_env(np.array([0, 2])), [-1, 1])


def test_unsupported_spaces_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match="FlattenObservation"):
        ObservationCodec(spaces.Dict({"a": spaces.Discrete(2)}))
    with pytest.raises(TypeError, match="expected Discrete or a Box"):
        ActionCodec(spaces.MultiBinary(3))
    with pytest.raises(TypeError, match="expected Discrete or a Box"):
        ActionCodec(spaces.Box(0, 5, (2,), np.int64))
