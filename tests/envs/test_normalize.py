import numpy as np
import pytest

from rlgrad.envs import RunningMeanStd


def test_batches_merge_to_the_figures_of_the_whole():
    samples = np.random.default_rng(0).normal(1000.0, 0.5, size=(500, 3)).astype(np.float32)
    running = RunningMeanStd((3,))
    for part in np.split(samples, [1, 40, 41, 300]):
        running.update(part)
    running.update(samples[:0])
    np.testing.assert_allclose(running.mean, samples.astype(np.float64).mean(0))
    np.testing.assert_allclose(running.std, samples.astype(np.float64).std(0), rtol=1e-6)
    assert running.count == 500


def test_normalised_samples_are_clipped_and_a_constant_is_only_shifted():
    running = RunningMeanStd((2,))
    running.update(np.array([[-1.0, 4.0], [1.0, 4.0]]))
    np.testing.assert_array_equal(running.normalize(np.array([[50.0, 5.0]])), [[10.0, 1.0]])


def test_state_round_trips_and_a_wrong_shape_is_named():
    running, copy = RunningMeanStd((2,)), RunningMeanStd((2,))
    running.update(np.arange(10.0).reshape(5, 2))
    copy.load_state_dict(running.state_dict())
    np.testing.assert_array_equal(copy.mean, running.mean)
    np.testing.assert_array_equal(copy.variance, running.variance)
    with pytest.raises(ValueError, match=r"\(5, 3\)"):
        running.update(np.zeros((5, 3)))
