"""The loader: batches of a data set, read ahead by threads if asked to, and able to go on from the middle of a pass."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import GenericAlias
from typing import Any

import numpy as np

from rlgrad.backend.random import Generator
from rlgrad.data.collate import default_collate, default_convert
from rlgrad.data.dataset import IterableDataset, whole_batches
from rlgrad.data.sampler import BatchSampler, RandomSampler, SequentialSampler, own_generator


class DataLoader:
    """Batches of a data set.

    Workers are threads: they share memory with the program, start at once and need nothing to be picklable. They help
    where samples are read from disk or made by code that releases the interpreter's lock, as NumPy's does. Batches come
    in the same order whatever their number.

    Args:
        dataset: with samples by index, or an :class:`IterableDataset`.
        batch_size: samples in a batch; ``None`` for samples as they are.
        shuffle: another random order in every pass.
        sampler: of indices, in place of ``shuffle``.
        batch_sampler: of lists of indices, in place of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: threads that read ahead; 0 reads when a batch is asked for.
        collate_fn: makes a batch of a list of samples.
        pin_memory, pin_memory_device: accepted for PyTorch's sake, without effect.
        drop_last: leave out a last batch that is smaller.
        timeout: seconds to wait for a worker's batch, 0 for as long as it takes.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: accepted for PyTorch's sake, without effect: workers are threads.
        generator: of the order; without it one of its own, seeded by the default generator.
        prefetch_factor: batches that each worker reads ahead, 2 unless given.
        persistent_workers: accepted for PyTorch's sake, without effect: threads are cheap to start.
        in_order: accepted for PyTorch's sake, without effect: batches always come in order.

    Raises:
        ValueError: for arguments that contradict each other.

    Example:
        >>> import rlgrad
        >>> from rlgrad.data import DataLoader, TensorDataset
        >>> loader = DataLoader(TensorDataset(rlgrad.arange(5)), batch_size=2)
        >>> [x.tolist() for (x,) in loader]
        [[0, 1], [2, 3], [4]]
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"num_workers is {num_workers}; 0 reads in the program's own thread")
        if timeout < 0:
            raise ValueError(f"timeout is {timeout} seconds; 0 waits for as long as it takes")
        if prefetch_factor is not None and (num_workers == 0 or prefetch_factor < 1):
            raise ValueError(f"prefetch_factor={prefetch_factor} needs workers, and at least 1 batch each")
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset gives its own order: leave out shuffle, sampler and batch_sampler")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_size is None and drop_last:
            raise ValueError("without a batch_size there is no last batch to drop")
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.worker_init_fn, self.prefetch_factor = worker_init_fn, prefetch_factor or 2
        self.pin_memory, self.persistent_workers = pin_memory, persistent_workers
        self.multiprocessing_context, self.pin_memory_device = multiprocessing_context, pin_memory_device
        self.in_order = in_order
        self.generator = own_generator(generator)
        if sampler is None and batch_sampler is None and not self._streams:
            sampler = RandomSampler(dataset, generator=self.generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and sampler is not None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_sampler is None and batch_size is not None and (batch_size <= 0 or not isinstance(batch_size, int)):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.batch_sampler, self.batch_size, self.drop_last = batch_sampler, batch_size, drop_last
        self._alone = batch_size is None and batch_sampler is None
        self.collate_fn = collate_fn or (default_convert if self._alone else default_collate)
        self._take = whole_batches(dataset) if collate_fn is None and not self._alone else None
        self._delivered = 0
        self._start: list[Any] | None = None
        self._resume = False

    def __len__(self) -> int:
        if not self._streams:
            return len(self.sampler if self._alone else self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if self._resume:
            self._resume = False
            for generator, state in zip(self._generators(), self._start or [], strict=True):
                generator.set_state(state)
        else:
            self._delivered, self._start = 0, [g.get_state() for g in self._generators()]
        start, tasks = self._start, self._tasks(self._delivered)
        for batch in self._ahead(tasks) if self.num_workers else (fetch() for fetch in tasks):
            if batch is _END:
                continue
            if self._start is start:  # else another pass began since, whose batches are counted
                self._delivered += 1
            yield batch
        if self._start is start:
            self._delivered, self._start = 0, None

    def _tasks(self, skipped: int) -> Iterator[Callable[[], Any]]:
        if self._streams:
            yield from self._stream_tasks(skipped)
            return
        if self._alone:
            chosen: Iterable[Any] = self.sampler or ()
        elif type(self.batch_sampler) is BatchSampler:
            chosen = self.batch_sampler.batches()
        else:
            chosen = self.batch_sampler or ()
        for indices in itertools.islice(chosen, skipped, None):
            yield lambda indices=indices: self._fetch(indices)  # type: ignore[misc]

    def _fetch(self, indices: Any) -> Any:
        if self._alone:
            return self.collate_fn(self._sample(indices))
        if self._take is not None:
            return self._take(np.asarray(indices))
        rows = indices.tolist() if isinstance(indices, np.ndarray) else indices
        return self.collate_fn([self._sample(index) for index in rows])

    def _sample(self, index: Any) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            error.add_note(f"This was sample {index!r} of {type(self.dataset).__name__}, read by a DataLoader.")
            raise

    def _stream_tasks(self, skipped: int) -> Iterator[Callable[[], Any]]:
        samples = iter(self.dataset)
        size = 1 if self.batch_size is None else self.batch_size
        read = sum(1 for _ in itertools.islice(samples, skipped * size))
        ended = False

        def fetch() -> Any:
            nonlocal ended, read
            try:
                batch = list(itertools.islice(samples, size))
            except Exception as error:
                error.add_note(f"This was at most {size} after sample {read} of {type(self.dataset).__name__}.")
                raise
            read += len(batch)
            ended = len(batch) < size
            if not batch or (ended and self.drop_last):
                return _END
            return self.collate_fn(batch[0] if self._alone else batch)

        while not ended:
            yield fetch

    def _ahead(self, tasks: Iterator[Callable[[], Any]]) -> Iterator[Any]:
        """Batches in order, some of them fetched by workers before they are asked for."""
        # A stream is read by one thread: its samples come one after another.
        workers = 1 if self._streams else self.num_workers
        numbers = itertools.count()
        initializer = None if self.worker_init_fn is None else lambda: self.worker_init_fn(next(numbers))  # type: ignore[misc]
        pool = ThreadPoolExecutor(workers, thread_name_prefix="DataLoader", initializer=initializer)
        waiting: deque[Future[Any]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > workers * self.prefetch_factor:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result(self.timeout or None)
        except TimeoutError:
            if future.done():  # the data set's own
                raise
            raise RuntimeError(f"a DataLoader worker gave no batch within {self.timeout} seconds") from None

    def _generators(self) -> list[Generator]:
        """The generators that the order is drawn from."""
        found = [self.generator]
        for owner in (self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None)):
            generator = getattr(owner, "generator", None)
            if isinstance(generator, Generator) and all(generator is not g for g in found):
                found.append(generator)
        return found

    def state_dict(self) -> dict[str, Any]:
        """Where the present pass began, and how many of its batches were delivered."""
        start = self._start if self._start is not None else [g.get_state() for g in self._generators()]
        return {"generators": start, "delivered": self._delivered}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave: the next pass begins where that one was.

        Raises:
            ValueError: when the state belongs to a loader with other samplers.
        """
        if len(state_dict["generators"]) != len(self._generators()):
            raise ValueError(
                f"the state has {len(state_dict['generators'])} generators, this loader {len(self._generators())}: it "
                "belongs to a loader with another sampler"
            )
        self._start, self._delivered = list(state_dict["generators"]), int(state_dict["delivered"])
        self._resume = True


_END = object()
