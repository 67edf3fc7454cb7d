"""The loader gives the same batches whoever fetches them, and goes on where it was."""

import collections
import inspect
import threading
import time

import numpy as np
import pytest

import rlgrad
from rlgrad import data
from rlgrad.data import DataLoader, default_collate

Pair = collections.namedtuple("Pair", ["x", "y"])


class Squares(data.Dataset):
    def __init__(self, n=10, bad=None, delay=0.0):
        self.n, self.bad, self.delay, self.threads, self.read = n, bad, delay, set(), []

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        self.threads.add(threading.get_ident())
        self.read.append(index)
        time.sleep(self.delay * (index % 3))
        if index == self.bad:
            raise KeyError("no such square")
        return {"index": index, "square": np.float32(index**2)}


class Stream(data.IterableDataset):
    def __init__(self, n=10, bad=None):
        self.n, self.bad = n, bad

    def __iter__(self):
        for i in range(self.n):
            if i == self.bad:
                raise KeyError("the stream broke")
            yield float(i)


def seeded(seed=0):
    return rlgrad.Generator().manual_seed(seed)


def as_lists(value):
    if isinstance(value, rlgrad.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {k: as_lists(v) for k, v in value.items()}
    return [as_lists(v) for v in value] if isinstance(value, (list, tuple)) else value


def batches(loader):
    return [as_lists(batch) for batch in loader]


@pytest.mark.parametrize(
    "options", [{}, {"drop_last": True}, {"batch_size": 10}, {"batch_size": 11}, {"batch_size": 1}]
)
@pytest.mark.parametrize("kind", ["map", "stream", "tensors"])
def test_batches_in_order_are_torchs(kind, options):
    torch = pytest.importorskip("torch")

    class TorchStream(torch.utils.data.IterableDataset):
        __iter__ = Stream.__iter__
        __init__ = Stream.__init__

    options = {"batch_size": 3, **options}
    rows = np.arange(20.0, dtype=np.float32).reshape(10, 2)
    sets = {
        "map": (Squares(), Squares()),
        "stream": (Stream(), TorchStream()),
        "tensors": (
            data.TensorDataset(rlgrad.from_numpy(rows), rlgrad.arange(10)),
            torch.utils.data.TensorDataset(torch.from_numpy(rows), torch.arange(10)),
        ),
    }[kind]
    mine, other = DataLoader(sets[0], **options), torch.utils.data.DataLoader(sets[1], **options)
    for a, b in zip(mine, other, strict=True):
        assert type(a).__name__ == type(b).__name__
        a, b = (list(v.values()) if isinstance(v, dict) else v if isinstance(v, list) else [v] for v in (a, b))
        for x, y in zip(a, b, strict=True):
            assert str(x.dtype) == str(y.dtype)
            assert x.tolist() == y.tolist()
    if kind != "stream":
        assert len(mine) == len(other)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["map", "stream", "subset"])
def test_workers_change_nothing_but_the_thread(kind, workers):
    def build(n):
        dataset = {
            "map": Squares(delay=0.002),
            "stream": Stream(),
            "subset": data.Subset(Squares(delay=0.002), [7, 1, 2, 9]),
        }
        options = {} if kind == "stream" else {"shuffle": True, "generator": seeded()}
        return DataLoader(dataset[kind], batch_size=2, num_workers=n, **options)

    alone, helped = build(0), build(workers)
    for _ in range(2):
        assert batches(alone) == batches(helped)
    if kind == "map":
        assert len(helped.dataset.threads) > 0
        assert threading.get_ident() not in helped.dataset.threads
        assert alone.dataset.threads == {threading.get_ident()}


def test_workers_read_ahead_and_stop_when_nobody_listens():
    dataset = Squares(100)
    loader = DataLoader(dataset, batch_size=1, num_workers=2, prefetch_factor=3)
    iterator = iter(loader)
    next(iterator)
    deadline = time.monotonic() + 5
    while len(dataset.read) < 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(dataset.read) == 7, "the one that was asked for, and three for each worker"
    iterator.close()
    assert len(dataset.read) <= 8


def test_each_worker_is_told_its_number():
    numbers = []
    loader = DataLoader(Squares(40, delay=0.002), num_workers=3, worker_init_fn=numbers.append)
    batches(loader)
    assert sorted(numbers) == list(range(len(numbers)))
    assert 1 <= len(numbers) <= 3


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_names_the_sample(workers):
    loader = DataLoader(Squares(bad=7), batch_size=2, num_workers=workers)
    seen = []
    with pytest.raises(KeyError, match="no such square") as caught:
        seen.extend(batch["index"].tolist() for batch in loader)
    assert "sample 7 of Squares" in "".join(caught.value.__notes__)
    with pytest.raises(KeyError) as caught:
        batches(DataLoader(Stream(bad=5), batch_size=2, num_workers=workers))
    assert "after sample 4 of Stream" in "".join(caught.value.__notes__)


def test_a_worker_that_takes_too_long_is_reported():
    with pytest.raises(RuntimeError, match=r"within 0\.02 seconds"):
        batches(DataLoader(Squares(3, delay=0.2), num_workers=1, timeout=0.02))


def loaders():
    """Every way of drawing batches, built anew with seeds that a resumed program would not have."""
    points = data.TensorDataset(rlgrad.arange(23), rlgrad.arange(23.0))
    weights = np.arange(23.0)
    return {
        "shuffled tensors": lambda s: DataLoader(points, 4, shuffle=True, generator=seeded(s)),
        "shuffled samples": lambda s: DataLoader(Squares(23), 4, shuffle=True, generator=seeded(s), num_workers=2),
        "weighted": lambda s: DataLoader(
            points, 4, sampler=data.WeightedRandomSampler(weights, 30, generator=seeded(s))
        ),
        "batch sampler": lambda s: DataLoader(
            points, batch_sampler=data.BatchSampler(data.RandomSampler(points, generator=seeded(s)), 5, True)
        ),
        "a generator of its own": lambda s: DataLoader(points, 4, shuffle=True),
        "in order": lambda s: DataLoader(points, 4),
        "stream": lambda s: DataLoader(Stream(23), 4, num_workers=1),
        "one at a time": lambda s: DataLoader(points, None, shuffle=True, generator=seeded(s)),
    }


@pytest.mark.parametrize("name", loaders())
@pytest.mark.parametrize("after", [0, 3, 6, 9])
def test_a_resumed_run_sees_the_same_batches(name, after, tmp_path):
    def stream(loader):
        while True:
            for batch in loader:
                yield as_lists(batch)

    first, second = loaders()[name](0), loaders()[name](1)
    running = stream(first)
    for _ in range(after):
        next(running)
    rlgrad.save(first.state_dict(), tmp_path / "c")
    wanted = [next(running) for _ in range(12)]
    second.load_state_dict(rlgrad.load(tmp_path / "c"))
    resumed = stream(second)
    assert [next(resumed) for _ in range(12)] == wanted


def test_a_state_taken_after_a_pass_begins_the_next():
    first, second = (DataLoader(data.TensorDataset(rlgrad.arange(9)), 2, shuffle=True) for _ in range(2))
    batches(first)
    second.load_state_dict(first.state_dict())
    assert batches(second) == batches(first)
    assert batches(second) == batches(first)


def test_a_state_of_another_loader_is_refused():
    points = data.TensorDataset(rlgrad.arange(9))
    state = DataLoader(points, sampler=data.RandomSampler(points)).state_dict()
    with pytest.raises(ValueError, match="another sampler"):
        DataLoader(points).load_state_dict(state)


def test_a_shuffled_pass_has_every_sample_once_and_another_order_each_time():
    loader = DataLoader(data.TensorDataset(rlgrad.arange(50)), 7, shuffle=True, generator=seeded())
    passes = [[i for (x,) in loader for i in x.tolist()] for _ in range(2)]
    assert [sorted(p) for p in passes] == [list(range(50))] * 2
    assert passes[0] != passes[1]


def test_batches_of_tensors_are_copies():
    x = rlgrad.zeros(4)
    (batch,) = next(iter(DataLoader(data.TensorDataset(x), 4)))
    batch.fill_(1)
    assert not x.any()


def test_a_subclass_that_changes_samples_is_asked_for_each():
    class Doubled(data.TensorDataset):
        def __getitem__(self, index):
            return (2 * self.tensors[0][index],)

    assert batches(DataLoader(Doubled(rlgrad.arange(3)), 3)) == [[[0, 2, 4]]]


def test_samples_are_stacked_by_their_structure():
    torch = pytest.importorskip("torch")
    samples = [
        1.5,
        2,
        True,
        "text",
        np.float32(3),
        np.arange(3),
        (1, 2.0),
        [np.ones(2, np.float32), "a"],
        {"a": 1, "b": [2.0]},
        Pair(1, np.zeros(2)),
    ]

    def described(value):
        if hasattr(value, "dtype"):
            return (str(value.dtype), value.tolist())
        if isinstance(value, dict):
            return {k: described(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [described(v) for v in value]
        return value

    for sample in samples:
        wanted = torch.utils.data.default_collate([sample] * 2)
        assert described(default_collate([sample] * 2)) == described(wanted), sample
    assert default_collate([rlgrad.ones(2, requires_grad=True)] * 3).shape == (3, 2)
    for bad, kind in (([[1], [1, 2]], RuntimeError), ([object()], TypeError), ([np.array(["a"])], TypeError)):
        with pytest.raises(kind):
            default_collate(bad)


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"batch_size": 0},
        {"batch_size": None, "drop_last": True},
        {"sampler": range(3), "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
    ],
    ids=str,
)
def test_arguments_that_contradict_each_other_are_refused_as_by_torch(options):
    torch = pytest.importorskip("torch")
    for loader in (DataLoader, torch.utils.data.DataLoader):
        with pytest.raises(ValueError):  # noqa: PT011 - torch words some of these differently
            loader(Squares(), **options)
    with pytest.raises(ValueError, match="own order"):
        DataLoader(Stream(), shuffle=True)


def test_programs_for_torch_may_pass_all_its_arguments_in_its_order():
    torch = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(loader).parameters for loader in (DataLoader, torch.utils.data.DataLoader))
    assert [(name, p.kind) for name, p in ours.items()] == [(name, p.kind) for name, p in theirs.items()]


def test_annotations_may_say_what_a_sample_is():
    class Numbers(data.Dataset[int]):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return index

    loader: DataLoader[int] = DataLoader(Numbers(), sampler=data.SequentialSampler[int](Numbers()), batch_size=2)
    assert batches(loader) == [[0, 1]]


def test_pytorchs_name_for_it_works():
    from rlgrad.utils.data import DataLoader as Same

    assert Same is DataLoader is rlgrad.utils.data.DataLoader
