import numpy as np
import pytest

from rlgrad.gan import GaussianMixture, ring, scatter
from rlgrad.gan.viz import BACKGROUND, DENSITY, SAMPLE


def pixel_of(point, mixture, size):
    """Row and column of a point, from the picture's documented axes: centred on the modes, y upwards."""
    low, high = mixture.centers.min(0), mixture.centers.max(0)
    half = 0.62 * (high - low).max() + 8 * mixture.sigma
    x, y = (np.asarray(point) - (low + high) / 2 + half) * size / (2 * half)
    return int(size - 1 - int(y)), int(x)


def near(color, reference):
    return np.abs(color.astype(float) - reference).max() < 60


def test_picture_is_bytes_in_height_width_channel_order():
    picture = scatter(ring(seed=0).sample(100), ring(), size=64)
    assert (picture.shape, picture.dtype) == ((64, 64, 3), np.uint8)
    assert picture.flags.c_contiguous


def test_modes_show_blue_and_a_lone_sample_orange_at_its_place():
    mixture = ring()
    point = (0.31, 0.52)
    picture = scatter(np.array([point]), mixture, size=256)
    row, column = pixel_of(point, mixture, 256)
    patch = picture[row - 1 : row + 2, column - 1 : column + 2].reshape(-1, 3)
    assert near(patch[patch.sum(1).argmax()], SAMPLE)
    for center in mixture.centers:
        color = picture[pixel_of(center, mixture, 256)]
        assert near(color, DENSITY)
        assert color[2] > color[0]
    np.testing.assert_array_equal(picture[128, 128], BACKGROUND.astype(np.uint8))


def test_without_samples_the_picture_is_symmetric_about_the_ring():
    picture = scatter(np.zeros((0, 2)), ring(), size=128)
    np.testing.assert_allclose(picture.astype(int), picture[::-1].astype(int), atol=1)
    np.testing.assert_allclose(picture.astype(int), picture[:, ::-1].astype(int), atol=1)


def test_samples_beyond_the_axes_are_drawn_on_the_edge_and_nan_is_left_out():
    mixture = ring()
    empty = scatter(np.zeros((0, 2)), mixture, size=128)
    far = scatter(np.array([[1e9, 0.0]]), mixture, size=128)
    assert (far[:, -3:] != empty[:, -3:]).any()
    np.testing.assert_array_equal(far[:, :-8], empty[:, :-8])
    np.testing.assert_array_equal(scatter(np.array([[np.nan, 0.0]]), mixture, size=128), empty)


def test_one_mode_can_be_drawn():
    picture = scatter(np.zeros((1, 2)), GaussianMixture([[0.0, 0.0]], 1.0), size=32)
    assert np.isfinite(picture).all()


def test_what_has_no_two_dimensions_is_refused():
    with pytest.raises(ValueError, match=r"\(n, 2\).*got shape \(4, 3\)"):
        scatter(np.zeros((4, 3)), ring())
    with pytest.raises(ValueError, match="3 features"):
        scatter(np.zeros((4, 2)), GaussianMixture([[0.0, 0.0, 0.0]], 1.0))
    with pytest.raises(ValueError, match="at least 16 pixels; got 8"):
        scatter(np.zeros((4, 2)), ring(), size=8)
