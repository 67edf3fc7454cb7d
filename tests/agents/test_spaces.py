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
        (
            spaces.Box(-1, 1, (3,)),
            (np.zeros(3), {}),
            TypeError,
            r"reset\(\) returns \(observation, info\): pass the first",
        ),
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
    with pytest.raises(TypeError, match="Write an ObservationWrapper"):
        ObservationCodec(spaces.Text(5))
    with pytest.raises(TypeError, match=r"Text.*Dict or Tuple of these"):
        ObservationCodec(spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Text(5)}))
    with pytest.raises(TypeError, match="expected Discrete or a Box of floats, MultiDiscrete or MultiBinary"):
        ActionCodec(spaces.Box(0, 5, (2,), np.int64))


def test_several_discrete_observations_are_one_hots_side_by_side():
    codec = ObservationCodec(spaces.MultiDiscrete([2, 3], start=[0, 4]))
    np.testing.assert_array_equal(codec.encode(np.array([[1, 4], [0, 6]])), [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]])
    assert (codec.dim, codec.shape) == (5, (5,))
    binary = ObservationCodec(spaces.MultiBinary((2, 2)))
    np.testing.assert_array_equal(binary.encode(np.array([[[1, 0], [0, 1]]], np.int8)), [[1, 0, 0, 1]])
    with pytest.raises(ValueError, match="leave MultiDiscrete"):
        codec.check(np.array([2, 4]))


@pytest.mark.parametrize(
    ("shape", "encoded", "channel"),
    [
        ((84, 84), (1, 84, 84), lambda image: image[None]),
        ((4, 84, 84), (4, 84, 84), lambda image: image),
        ((96, 64, 3), (3, 96, 64), lambda image: image.transpose(2, 0, 1)),
        ((2, 96, 64, 3), (6, 96, 64), lambda image: np.concatenate(list(image.transpose(0, 3, 1, 2)))),
    ],
)
def test_images_stay_bytes_with_their_channels_first(shape, encoded, channel):
    space = spaces.Box(0, 255, shape, np.uint8)
    codec = ObservationCodec(space)
    space.seed(0)
    images = np.stack([space.sample() for _ in range(3)])
    result = codec.encode(images)
    assert codec.is_image
    assert (codec.shape, codec.dtype) == (encoded, np.uint8)
    assert (result.shape, result.dtype) == ((3, *encoded), np.uint8)
    np.testing.assert_array_equal(result[1], channel(images[1]))
    assert result.flags.c_contiguous


def test_bytes_that_are_no_image_and_float_images_are_numbers():
    for space in (spaces.Box(0, 255, (128,), np.uint8), spaces.Box(0, 1, (8, 8, 3), np.float32)):
        codec = ObservationCodec(space)
        assert not codec.is_image
        assert codec.encode(np.stack([space.sample()])).dtype == np.float32


NESTED = spaces.Dict(
    {
        "camera": spaces.Box(0, 255, (4, 6, 3), np.uint8),
        "inner": spaces.Tuple((spaces.Discrete(3), spaces.MultiBinary(2))),
        "speed": spaces.Box(-1, 1, (2,), np.float64),
    }
)


def test_the_parts_of_nested_spaces_lie_side_by_side():
    codec = ObservationCodec(NESTED)
    assert codec.dim == 72 + 5 + 2
    NESTED.seed(0)
    one = NESTED.sample()
    batch, single = codec.check(one)
    assert single
    encoded = codec.encode(batch)
    assert (encoded.shape, encoded.dtype) == ((1, 79), np.float32)
    parts = codec.split(encoded)
    np.testing.assert_allclose(parts["camera"].reshape(3, 4, 6), one["camera"].transpose(2, 0, 1) / 255.0, rtol=1e-6)
    assert parts["inner"][0, :3].argmax() == one["inner"][0]
    np.testing.assert_array_equal(parts["inner"][0, 3:], one["inner"][1])
    np.testing.assert_allclose(parts["speed"][0], one["speed"], rtol=1e-6)


def test_batches_of_vector_environments_are_encoded_like_single_observations():
    from gymnasium.vector.utils import batch_space, iterate

    for space in (NESTED, spaces.Tuple((spaces.Discrete(2), spaces.Box(-1, 1, (2,)))), spaces.MultiDiscrete([2, 3])):
        codec, several = ObservationCodec(space), batch_space(space, 3)
        several.seed(1)
        batch = several.sample()
        together = codec.encode(batch)
        checked, single = codec.check(batch)
        assert not single
        np.testing.assert_array_equal(codec.encode(checked), together)
        for index, one in enumerate(iterate(several, batch)):
            np.testing.assert_array_equal(codec.encode(codec.check(one)[0])[0], together[index])


def test_missing_parts_and_mixtures_are_named():
    codec = ObservationCodec(spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(-1, 1, (1,))}))
    with pytest.raises(ValueError, match=r"have the parts \['a', 'b'\], got \['a'\]"):
        codec.check({"a": 0})
    with pytest.raises(TypeError, match="are a dict, got ndarray"):
        codec.check(np.zeros(3))
    with pytest.raises(ValueError, match="single and others a batch"):
        codec.check({"a": 0, "b": np.zeros((2, 1))})


ACTION_SPACES = [
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 5], start=[3, 0]),
    spaces.MultiDiscrete([[2, 3], [4, 5]]),
    spaces.MultiBinary(4),
    spaces.MultiBinary((2, 3)),
    spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 5.0], np.float32)),
    spaces.Box(-1, 1, (2, 2), np.float64),
    spaces.Box(np.array([0.0, -np.inf], np.float32), np.array([np.inf, np.inf], np.float32)),
]


@pytest.mark.parametrize("space", ACTION_SPACES, ids=str)
def test_random_actions_are_elements_of_the_space_and_map_back(space):
    codec = ActionCodec(space)
    drawn = codec.sample(50, np.random.default_rng(0))
    assert (drawn.shape, drawn.dtype) == ((50, *codec.shape), codec.dtype)
    actions = codec.to_env(drawn)
    assert all(space.contains(action) or action in space for action in actions)
    back = codec.from_env(actions)
    assert (back.shape, back.dtype) == (drawn.shape, drawn.dtype)
    inside = actions if isinstance(space, spaces.Box) and not np.isfinite(space.low).all() else None
    if inside is None:
        np.testing.assert_allclose(back, drawn, atol=1e-6)
    np.testing.assert_array_equal(codec.sample(50, np.random.default_rng(0)), drawn)


def test_random_actions_reach_everything():
    codec = ActionCodec(spaces.MultiDiscrete([2, 5]))
    drawn = codec.sample(500, np.random.default_rng(0))
    assert [set(column) for column in drawn.T] == [{0, 1}, {0, 1, 2, 3, 4}]
    assert codec.dim == 7


def test_bounds_that_stand_for_none_do_not_stretch_the_action():
    huge = np.finfo(np.float32).max
    codec = ActionCodec(spaces.Box(-huge, huge, (1,)))
    np.testing.assert_allclose(codec.to_env(np.array([[0.5]])), [[0.5]])
    half = ActionCodec(spaces.Box(np.float32(0), np.float32(np.inf), (1,)))
    np.testing.assert_allclose(half.to_env(np.array([[-3.0], [3.0]])), [[0.0], [3.0]])
