import pickle

import numpy as np
import pytest

from rlgrad.gan import ArraySource, GaussianMixture, grid, make_data, ring


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
    mixture = make_data(name, seed=0).mixture
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
    with pytest.raises(ValueError, match=r"unknown data 'rign'; known data: .*grid, .*ring.* Did you mean 'ring'\?"):
        make_data("rign")
    with pytest.raises(ValueError, match=r"no setting 'mode'; it has modes, radius, sigma\. Did you mean 'modes'\?"):
        make_data("ring", mode=3)
    with pytest.raises(ValueError, match="modes=0"):
        ring(modes=0)
    with pytest.raises(ValueError, match="spacing=-1"):
        grid(spacing=-1)
    with pytest.raises(ValueError, match="at least 0; got -1"):
        ring().sample(-1)


def test_every_sample_comes_once_in_a_pass_and_batches_run_on_into_the_next():
    source = ArraySource(np.arange(10)[:, None], np.arange(10) % 3, seed=0)
    samples, labels = zip(*(source.batch(4) for _ in range(5)), strict=True)
    rows = np.concatenate(samples)[:, 0].astype(int)
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))
    assert rows[:10].tolist() != rows[10:].tolist()
    np.testing.assert_array_equal(np.concatenate(labels), rows % 3)
    assert source.num_classes == 3


def test_a_restored_source_goes_on_in_the_middle_of_a_pass():
    source, other = (ArraySource(np.arange(10)[:, None], seed=seed) for seed in (1, 2))
    source.batch(13)
    other.load_state_dict(source.state_dict())
    for _ in range(3):
        np.testing.assert_array_equal(source.batch(4)[0], other.batch(4)[0])
    with pytest.raises(ValueError, match="belongs to other data"):
        ArraySource(np.zeros((10, 1)), seed=0).load_state_dict(source.state_dict())


@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        (np.zeros((0, 2)), None, r"got \(0, 2\)"),
        (np.zeros((3, 4, 4)), None, r"\(n, channels, height, width\); got \(3, 4, 4\)"),
        (np.full((2, 2), np.nan), None, "finite"),
        (np.full((2, 1, 4, 4), 255.0), None, r"\[-1, 1\]; the largest value of samples is 255"),
        (np.zeros((2, 2)), np.array([0.5, 1]), "2 whole numbers from 0"),
        (np.zeros((2, 2)), np.array([0]), "2 whole numbers from 0"),
        (np.zeros((2, 2)), np.array([0, 2]), "2 samples have 2 at the most; they go from 0 to 2"),
        (np.zeros((2, 2)), np.array([-1, 1]), "they go from -1 to 1"),
        (np.zeros((2, 2), complex), None, "real numbers; got complex128"),
        (np.full((2, 1, 4, 4), 255, np.uint8), None, r"they get there by samples / 127\.5 - 1"),
        (np.zeros((2, 8, 8, 3)), None, r"if they come last, pass samples\.transpose\(0, 3, 1, 2\)"),
    ],
)
def test_samples_that_no_network_could_use_are_refused(samples, labels, message):
    with pytest.raises(ValueError, match=message):
        ArraySource(samples, labels)


def test_npz_files_are_read_and_never_run_code(tmp_path):
    np.savez(tmp_path / "good.npz", samples=np.zeros((4, 2)), labels=np.arange(4))
    assert make_data("npz", path=str(tmp_path / "good.npz")).num_classes == 4
    np.savez(tmp_path / "objects.npz", samples=np.array([print], dtype=object))
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz file of plain arrays"):
        make_data("npz", path=str(tmp_path / "objects.npz"))
    np.save(tmp_path / "array.npy", np.zeros((4, 2)))
    (tmp_path / "empty.npz").touch()
    (tmp_path / "cut.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:100])
    for wrong in ("array.npy", "empty.npz", "cut.npz", "nowhere.npz"):
        with pytest.raises(ValueError, match=rf"{wrong} cannot be read as an \.npz file"):
            make_data("npz", path=str(tmp_path / wrong))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps({"samples": 1}))
    with pytest.raises(ValueError, match="pickled Python objects, which could run code and are never loaded"):
        make_data("npz", path=str(tmp_path / "pickle.npz"))
    np.savez(tmp_path / "text.npz", samples=np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"text\.npz: samples must be an array of real numbers; got <U1"):
        make_data("npz", path=str(tmp_path / "text.npz"))
    np.savez(tmp_path / "other.npz", images=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="has no array 'samples'"):
        make_data("npz", path=str(tmp_path / "other.npz"))


def test_a_folder_of_pictures_becomes_images_with_its_subfolders_as_classes(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, value in (("cats", 0), ("dogs", 255)):
        (tmp_path / name).mkdir()
        for index in range(3):
            picture = np.full((20, 30, 3), value, np.uint8)
            image.fromarray(picture).save(tmp_path / name / f"{index}.{'png' if index else 'jpg'}")
    source = make_data("images", path=str(tmp_path), size=8)
    assert source.shape == (3, 8, 8)
    assert source.num_classes == 2
    np.testing.assert_allclose(source.samples[source.labels == 0], -1, atol=0.02)
    np.testing.assert_allclose(source.samples[source.labels == 1], 1, atol=0.02)
    (tmp_path / "cats" / "broken.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"broken\.png cannot be read as a picture"):
        make_data("images", path=str(tmp_path))
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere"):
        make_data("images", path=str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no \.png"):
        make_data("images", path=str(tmp_path / "empty"))


def test_held_out_samples_must_be_like_the_others():
    with pytest.raises(ValueError, match=r"held_out has samples of shape \(3,\), and samples of \(2,\)"):
        ArraySource(np.zeros((8, 2)), held_out=np.zeros((4, 3)))
    with pytest.raises(ValueError, match="held_out must be finite"):
        ArraySource(np.zeros((8, 2)), held_out=np.full((4, 2), np.inf))


def test_pictures_of_every_mode_are_read_alike(tmp_path):
    image = pytest.importorskip("PIL.Image")
    ramp = np.linspace(0, 255, 64).astype(np.uint8).reshape(8, 8)
    grey = image.fromarray(ramp)
    for mode in ("L", "RGB", "P"):
        grey.convert(mode).save(tmp_path / f"{mode}.png")
    image.fromarray(ramp.astype(np.uint16) * 257).save(tmp_path / "deep.png")
    half = grey.convert("RGBA")
    half.putalpha(image.fromarray(np.where(np.arange(64).reshape(8, 8) < 32, 0, 255).astype(np.uint8)))
    half.save(tmp_path / "transparent.png")
    (tmp_path / "._resource.png").write_bytes(b"not a picture: hidden")
    (tmp_path / "notes.txt").write_text("no picture")
    for color in (True, False):
        *alike, transparent = make_data("images", path=str(tmp_path), size=8, color=color).samples
        assert len(alike) == 4
        for found in alike:
            np.testing.assert_allclose(found, np.broadcast_to(ramp / 127.5 - 1, found.shape), atol=0.01)
        assert (transparent[:, :4] == 1).all()
        np.testing.assert_allclose(transparent[:, 4:], alike[0][:, 4:], atol=0.01)
    with pytest.raises(ValueError, match=r"data\.size is the height and width"):
        make_data("images", path=str(tmp_path), size=0)


def test_a_picture_that_is_too_large_to_be_true_is_refused(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    image.new("L", (40, 40)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match=r"bomb\.png cannot be read as a picture: Image size"):
        make_data("images", path=str(tmp_path))


@pytest.mark.parametrize("name", ["swiss_roll", "two_moons"])
def test_shapes_in_the_plane_keep_some_points_for_evaluation(name):
    source = make_data(name, seed=0, n=100)
    assert len(source.samples) + len(source.held_out) == 100
    assert 15 < len(source.held_out) < 25
    assert source.shape == (2,)


def test_digits_are_images_between_minus_one_and_one_with_held_out_ones():
    pytest.importorskip("sklearn")
    source = make_data("digits", seed=0)
    assert source.shape == (1, 8, 8)
    assert source.num_classes == 10
    assert source.samples.min() == -1
    assert source.samples.max() == 1
    assert len(source.samples) + len(source.held_out) == 1797
