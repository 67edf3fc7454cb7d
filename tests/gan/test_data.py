import numpy as np
import pytest

from rlgrad.gan import GaussianMixture, grid, make_data, ring


def test_ring_has_eight_distinct_modes_on_the_unit_circle():
    centers = ring().centers
    distances = np.linalg.norm(centers[:, None] - centers, axis=-1)
    assert centers.shape == (8, 2)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1.0)
    # Neighbours are a chord of 45 degrees apart; a circle closed on its first point would give 0.
    assert distances[~np.eye(8, dtype=bool)].min() == pytest.approx(2 * np.sin(np.pi / 8))


def test_grid_has_25_distinct_modes_at_pacgans_places():
    places = {tuple(center) for center in grid().centers.tolist()}
    assert places == {(x, y) for x in (-4.0, -2.0, 0.0, 2.0, 4.0) for y in (-4.0, -2.0, 0.0, 2.0, 4.0)}


@pytest.mark.parametrize(("name", "modes", "sigma"), [("ring", 8, 0.01), ("grid", 25, 0.05)])
def test_samples_visit_every_mode_evenly_with_the_given_spread(name, modes, sigma):
    mixture = make_data(name, seed=0)
    samples = mixture.sample(20_000)
    assert samples.shape == (20_000, 2)
    assert samples.dtype == np.float32
    offsets = samples[:, None] - mixture.centers
    nearest = np.linalg.norm(offsets, axis=-1).argmin(1)
    counts = np.bincount(nearest, minlength=modes)
    assert mixture.modes == modes
    assert abs(counts - 20_000 / modes).max() < 5 * np.sqrt(20_000 / modes)
    residual = offsets[np.arange(20_000), nearest]
    np.testing.assert_allclose(residual.std(axis=0), sigma, rtol=0.03)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.03 * sigma)


def test_a_mixture_owns_its_generator():
    np.random.seed(0)
    first = ring(seed=3).sample(5)
    np.random.seed(1)
    mixture = ring(seed=3)
    np.testing.assert_array_equal(mixture.sample(5), first)
    assert not np.array_equal(mixture.sample(5), first)
    assert not np.array_equal(ring(seed=4).sample(5), first)


def test_a_restored_mixture_continues_where_the_saved_one_stood():
    mixture = grid(seed=1)
    mixture.sample(10)
    state = mixture.state_dict()
    expected = mixture.sample(10)
    restored = grid(seed=99)
    restored.load_state_dict(state)
    np.testing.assert_array_equal(restored.sample(10), expected)


def test_the_state_of_another_mixture_is_refused():
    with pytest.raises(ValueError, match=r"another mixture: 25 modes with sigma 0\.05"):
        ring().load_state_dict(grid().state_dict())


def test_scale_brings_samples_to_unit_size():
    assert ring().scale == pytest.approx(np.sqrt(0.5))
    assert grid().scale == pytest.approx(np.sqrt(8))
    assert GaussianMixture([[3.0, 3.0]], 0.1).scale == 1.0


@pytest.mark.parametrize(
    ("centers", "sigma", "message"),
    [
        ([1.0, 2.0], 0.1, r"\(modes, features\); got shape \(2,\)"),
        (np.zeros((0, 2)), 0.1, r"got shape \(0, 2\)"),
        ([[0.0, 0.0], [0.0, 0.0]], 0.1, "must all be different"),
        ([[0.0, np.nan]], 0.1, "finite"),
        ([[0.0, 0.0]], 0.0, "positive number; got 0"),
        ([[0.0, 0.0]], np.nan, "positive number; got nan"),
    ],
)
def test_impossible_mixtures_are_refused(centers, sigma, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(centers, sigma)


def test_wrong_names_and_numbers_are_refused():
    with pytest.raises(ValueError, match=r"unknown data 'rign'; known data: grid, ring\. Did you mean 'ring'\?"):
        make_data("rign")
    with pytest.raises(ValueError, match=r"no setting 'mode'; it has modes, radius, sigma\. Did you mean 'modes'\?"):
        make_data("ring", mode=3)
    with pytest.raises(ValueError, match="modes=0"):
        ring(modes=0)
    with pytest.raises(ValueError, match="spacing=-1"):
        grid(spacing=-1)
    with pytest.raises(ValueError, match="at least 0; got -1"):
        ring().sample(-1)
