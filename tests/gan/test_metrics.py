import math

import numpy as np
import pytest

from rlgrad.gan import grid, mode_coverage, ring

RING = ring().centers


def test_samples_on_every_centre_cover_everything():
    coverage = mode_coverage(np.repeat(RING, 3, axis=0), RING, 0.01)
    assert (coverage.modes, coverage.total_modes, coverage.high_quality) == (8, 8, 1.0)
    assert coverage.reverse_kl == pytest.approx(0.0, abs=1e-12)


def test_all_samples_on_one_mode_give_the_largest_divergence():
    coverage = mode_coverage(np.tile(RING[2], (50, 1)), RING, 0.01)
    assert (coverage.modes, coverage.high_quality) == (1, 1.0)
    assert coverage.reverse_kl == pytest.approx(math.log(8))


def test_far_noise_covers_nothing():
    coverage = mode_coverage(np.full((10, 2), 50.0), RING, 0.01)
    assert (coverage.modes, coverage.high_quality, coverage.reverse_kl) == (0, 0.0, math.inf)


def test_quality_is_judged_at_three_standard_deviations():
    offsets = np.array([[0.0299, 0.0], [0.0, 0.0301], [0.0212, 0.0212], [0.0213, 0.0213]])
    assert mode_coverage(RING[0] + offsets, RING, 0.01).high_quality == 0.5
    assert mode_coverage(RING[0] + offsets, RING, 0.01, threshold=4.0).high_quality == 1.0


def test_low_quality_samples_count_in_the_share_but_not_in_the_histogram():
    samples = np.concatenate([RING[:4], np.zeros((12, 2))])
    coverage = mode_coverage(samples, RING, 0.01)
    assert (coverage.modes, coverage.high_quality) == (4, 0.25)
    assert coverage.reverse_kl == pytest.approx(math.log(2))


def test_samples_that_are_not_finite_are_of_low_quality():
    samples = np.array([[np.nan, 0.0], [np.inf, 0.0], [1.0, 0.0], [1.0, 0.0]])
    coverage = mode_coverage(samples, RING, 0.01)
    assert (coverage.modes, coverage.high_quality) == (1, 0.5)


def test_figures_equal_a_count_sample_by_sample():
    rng = np.random.default_rng(0)
    mixture = grid(seed=0)
    samples = np.concatenate([mixture.sample(300)[:, ::-1] * 1.01, rng.uniform(-5, 5, (100, 2))])
    counts, good = dict.fromkeys(range(25), 0), 0
    for x, y in samples.tolist():
        distances = [math.dist((x, y), center) / 0.05 for center in mixture.centers]
        mode = distances.index(min(distances))
        if distances[mode] < 3:
            good += 1
            counts[mode] += 1
    shares = [count / good for count in counts.values() if count]
    coverage = mode_coverage(samples, mixture.centers, 0.05)
    assert 0 < good < 400
    assert coverage.modes == len(shares)
    assert coverage.high_quality == good / 400
    assert coverage.reverse_kl == pytest.approx(sum(p * math.log(p * 25) for p in shares))


def test_real_data_reach_the_known_share():
    coverage = mode_coverage(ring(seed=0).sample(100_000), RING, 0.01)
    assert coverage.high_quality == pytest.approx(1 - math.exp(-4.5), abs=0.0015)
    assert coverage.reverse_kl < 1e-3


def test_figures_print_as_one_line():
    assert str(mode_coverage(RING[:4], RING, 0.01)) == "4/8 modes, 100.0 % high quality, reverse KL 0.6931"


@pytest.mark.parametrize(
    ("samples", "centers", "sigma", "message"),
    [
        (np.zeros((3, 3)), RING, 0.01, r"\(n, 2\).*got shape \(3, 3\)"),
        (np.zeros((0, 2)), RING, 0.01, r"got shape \(0, 2\)"),
        (np.zeros(2), RING, 0.01, r"got shape \(2,\)"),
        (np.zeros((3, 2)), np.zeros(2), 0.01, r"\(modes, features\); got shape \(2,\)"),
        (np.zeros((3, 2)), RING, 0.0, "sigma=0"),
    ],
)
def test_wrong_shapes_and_sigma_are_refused(samples, centers, sigma, message):
    with pytest.raises(ValueError, match=message):
        mode_coverage(samples, centers, sigma)
