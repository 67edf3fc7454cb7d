"""Data sets: what gives samples by index, or one after another."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from types import GenericAlias
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of, on_device
from rlgrad.backend.random import Generator, default_generator


class Dataset:
    """Samples by index: a subclass defines ``__getitem__``, and ``__len__`` for all that need to know their number.

    Example:
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> (Squares() + Squares())[4]
        1
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # ``Dataset[Tensor]`` tells readers what a sample is

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another, such as a stream: a subclass defines ``__iter__``."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")

    def __add__(self, other: Dataset) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors side by side: sample ``i`` is the tuple of their ``i``-th entries.

    Args:
        tensors: with first dimensions of the same size.

    Raises:
        ValueError: for none at all, or sizes that differ.

    Example:
        >>> import rlgrad
        >>> TensorDataset(rlgrad.arange(6).view(3, 2), rlgrad.arange(3))[1]
        (tensor([2, 3]), tensor(1))
    """

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tuple(t.shape)[:1] for t in tensors]
        if not sizes or () in sizes or len(set(sizes)) > 1:
            raise ValueError(
                f"a TensorDataset needs tensors with the same number of rows, got shapes {[tuple(t.shape) for t in tensors]}"
            )
        self.tensors = tensors

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def take(self, indices: np.ndarray) -> list[Tensor]:
        """A batch: from each tensor the rows at ``indices``, in one array call."""
        rows = []
        for tensor in self.tensors:
            array = tensor._array
            with on_device(tensor.device):
                rows.append(wrap(array.take(module_of(array).asarray(indices), axis=0)))
        return rows


class Subset(Dataset):
    """Some samples of another data set.

    Args:
        dataset: the other.
        indices: which of its samples, in order.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]


class ConcatDataset(Dataset):
    """One data set after another, as one.

    Args:
        datasets: with samples by index.

    Raises:
        ValueError: for none, or one that only iterates.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs at least one data set")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise ValueError("ConcatDataset takes data sets with samples by index; chain an IterableDataset instead")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        which = bisect_right(self.cumulative_sizes, place)
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """One stream after another.

    Args:
        datasets: that iterate.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from dataset

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Share out a data set at random.

    Args:
        dataset: with samples by index and a length.
        lengths: samples of each part, or shares that add up to 1; what rounding leaves over goes to the first parts.
        generator: of the order, the default one unless given.

    Raises:
        ValueError: for lengths that do not add up, or a share outside [0, 1].

    Example:
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        for index, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"the share at index {index} is not between 0 and 1, but {share}")
        counts = [math.floor(total * share) for share in lengths]
        for index in range(total - sum(counts)):
            counts[index % len(counts)] += 1
    else:
        counts = [int(length) for length in lengths]
    if sum(counts) != total or any(count < 0 for count in counts):
        raise ValueError(f"the lengths {list(lengths)} do not add up to the data set's {total} samples, nor to 1")
    order = (default_generator if generator is None else generator).numpy.permutation(total).tolist()
    ends = list(accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def whole_batches(dataset: Any) -> Callable[[np.ndarray], list[Tensor]] | None:
    """How to take a batch in one go, where a data set's samples are rows of tensors as they are."""
    if isinstance(dataset, TensorDataset) and type(dataset).__getitem__ is TensorDataset.__getitem__:
        return dataset.take
    if isinstance(dataset, Subset) and type(dataset).__getitem__ is Subset.__getitem__:
        inner = whole_batches(dataset.dataset)
        if inner is not None:
            places = np.asarray(dataset.indices, np.int64)
            return lambda indices: inner(places[indices])
    return None
