import numpy as np
import pytest

from rlgrad.gan import neighbourhood_figures, share_of_copies
from rlgrad.gan.judge import Judge, frechet_distance
from rlgrad.gan.neighbours import squared_distances


def by_hand(fake, real, k):
    def radius(points, i):
        return sorted(np.linalg.norm(points - points[i], axis=1))[k]

    inside_real = np.array([[np.linalg.norm(r - f) <= radius(real, i) for f in fake] for i, r in enumerate(real)])
    inside_fake = np.array([[np.linalg.norm(r - f) <= radius(fake, j) for j, f in enumerate(fake)] for r in real])
    return {
        "precision": inside_real.any(0).mean(),
        "recall": inside_fake.any(1).mean(),
        "density": inside_real.sum(0).mean() / k,
        "coverage": inside_real.any(1).mean(),
    }


@pytest.mark.parametrize("k", [1, 3])
def test_figures_of_neighbourhoods_equal_a_count_by_hand(k):
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(17, 3)), rng.normal(0.3, 1.2, size=(14, 3))
    found = vars(neighbourhood_figures(fake, real, k))
    assert found == pytest.approx(by_hand(fake, real, k))


def test_one_mode_repeated_is_precise_and_covers_little():
    real = np.random.default_rng(0).normal(size=(200, 2))
    found = neighbourhood_figures(real[:1] + 1e-4 * np.random.default_rng(1).normal(size=(200, 2)), real)
    assert found.precision == 1
    assert found.recall < 0.02
    assert found.coverage < 0.1


def test_distances_are_those_of_scipy():
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))
    np.testing.assert_allclose(squared_distances(a, b), spatial.distance.cdist(a, b, "sqeuclidean"), atol=1e-12)


def test_copies_are_found_and_new_samples_are_not():
    rng = np.random.default_rng(0)
    real, held_out, new = (rng.normal(size=(500, 8)) for _ in range(3))
    assert share_of_copies(real[:100] + 1e-3, real, held_out) == 1
    assert share_of_copies(new, real, held_out) < 0.05


def test_the_frechet_distance_is_its_formula():
    linalg = pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), rng.normal(1, 2, size=(50, 4))
    first, second = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(first + second - 2 * linalg.sqrtm(first @ second).real)
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-8)
    with pytest.raises(ValueError, match=r"\(60, 4\) and \(50, 3\)"):
        frechet_distance(a, b[:, :3])


def test_the_judge_learns_what_is_separable_and_is_the_same_for_the_same_seed():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    x = (rng.normal(size=(3, 1, 4, 4))[labels] + 0.3 * rng.normal(size=(300, 1, 4, 4))).astype(np.float32)
    judge = Judge(x[:200], labels[:200], seed=1, epochs=10)
    assert (judge.classify(x[200:]) == labels[200:]).mean() > 0.95
    np.testing.assert_array_equal(judge.features(x), Judge(x[:200], labels[:200], seed=1, epochs=10).features(x))
