"""Samplers: in which order a data set's samples come.

Each one that draws owns its generator, so that nothing else that draws disturbs the order, and its state can be saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.random import Generator, default_generator


def own_generator(generator: Generator | None) -> Generator:
    """The generator given, or a new one whose seed the default generator draws."""
    if generator is not None:
        return generator
    return Generator("cpu").manual_seed(int(default_generator.numpy.integers(2**63)))


class Sampler:
    """Base class: a subclass defines ``__iter__`` over indices, and ``__len__`` if it can."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, data_source: Any = None) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


class _Ordered(Sampler):
    """A sampler whose order is known as an array before it starts."""

    def indices(self) -> np.ndarray:
        """The next pass's order."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices().tolist())


class SequentialSampler(_Ordered):
    """First to last."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def indices(self) -> np.ndarray:
        return np.arange(len(self.data_source))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(_Ordered):
    """Shuffled anew for every pass.

    Args:
        data_source: the data set.
        replacement: draw each index independently.
        num_samples: indices in a pass, as many as there are samples unless given; without replacement more than that
            is one shuffled pass after another.
        generator: of the order.

    Raises:
        ValueError: for a number of samples that is no positive integer.

    Example:
        >>> import rlgrad
        >>> sorted(RandomSampler(range(4), generator=rlgrad.Generator().manual_seed(0)))
        [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = own_generator(generator)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def indices(self) -> np.ndarray:
        total, wanted, rng = len(self.data_source), self.num_samples, self.generator.numpy
        if total == 0 or wanted == 0:
            return np.empty(0, np.int64)
        if self.replacement:
            return rng.integers(total, size=wanted)
        passes = [rng.permutation(total) for _ in range(-(-wanted // total))]
        return np.concatenate(passes)[:wanted]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(_Ordered):
    """Some indices, shuffled anew for every pass.

    Args:
        indices: which.
        generator: of the order.
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self._indices = np.asarray(indices, np.int64)
        self.generator = own_generator(generator)

    def indices(self) -> np.ndarray:
        return self.generator.numpy.permutation(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class WeightedRandomSampler(_Ordered):
    """Indices drawn with given weights.

    Args:
        weights: one for each sample, not negative; they need not add up to 1.
        num_samples: indices in a pass.
        replacement: whether an index may come more than once in a pass.
        generator: of the draws.

    Raises:
        ValueError: for weights that are negative, not finite or all zero, or more draws without replacement than there
            are weights above zero.

    Example:
        >>> list(WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        values = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else weights
        self.weights = np.asarray(values, np.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {self.weights.shape}")
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and self.weights.sum() > 0):
            raise ValueError("weights must be finite, not negative and not all zero")
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ValueError(
                f"{num_samples} draws without replacement need as many weights above zero, there are "
                f"{np.count_nonzero(self.weights)}"
            )
        self.num_samples, self.replacement = num_samples, replacement
        self.generator = own_generator(generator)

    def indices(self) -> np.ndarray:
        shares = self.weights / self.weights.sum()
        return self.generator.numpy.choice(len(shares), self.num_samples, self.replacement, shares)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Indices in batches.

    Args:
        sampler: of single indices.
        batch_size: indices in a batch.
        drop_last: leave out a last batch that is smaller.

    Raises:
        ValueError: for a size that is no positive integer.

    Example:
        >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def batches(self) -> Iterator[Any]:
        """The batches, as arrays where the order is known before it starts."""
        if isinstance(self.sampler, _Ordered):
            order = self.sampler.indices()
            end = len(order) - len(order) % self.batch_size if self.drop_last else len(order)
            for start in range(0, end, self.batch_size):
                yield order[start : start + self.batch_size]
            return
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches():
            yield batch.tolist() if isinstance(batch, np.ndarray) else batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
