"""Sequences of several lengths in one batch: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlgrad.autograd.ops.creation import as_tensor
from rlgrad.autograd.ops.joining import cat, stack
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import float16, float32, float64, int64

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The elements of a batch of sequences, step after step and longest sequence first.

    Attributes:
        data: ``(total steps, features)``.
        batch_sizes: for each step how many sequences still run.
        sorted_indices: order of the batch by falling length; ``None`` when it was in order.
        unsorted_indices: the inverse of it, found when not given.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence expects data and batch_sizes, or a pair of them")
            data, batch_sizes = data
        if batch_sizes.is_cuda:
            raise ValueError("batch_sizes should always be on CPU: make packed sequences with pack_padded_sequence")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with its data on another device or of another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if i is None else i.to(data.device) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """The same in main memory."""
        return self.to("cpu")

    def cuda(self, device: Any = "cuda") -> PackedSequence:
        """The same on a GPU."""
        return self.to(device)

    def double(self) -> PackedSequence:
        """The same in float64."""
        return self.to(dtype=float64)

    def float(self) -> PackedSequence:
        """The same in float32."""
        return self.to(dtype=float32)

    def half(self) -> PackedSequence:
        """The same in float16."""
        return self.to(dtype=float16)

    def long(self) -> PackedSequence:
        """The same in int64."""
        return self.to(dtype=int64)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    if permutation is None:
        return None
    return permutation.argsort()


def _cells(running: np.ndarray, like: Tensor) -> tuple[Tensor, Tensor]:
    """Step and place in the batch of every element, in packed order, from which sequences run at each step."""
    steps, places = np.nonzero(running)
    return as_tensor(steps).to(like.device), as_tensor(places).to(like.device)


def _lengths_of(batch_sizes: Tensor) -> np.ndarray:
    sizes = batch_sizes.numpy()
    return (sizes[:, None] > np.arange(sizes[0])[None]).sum(0)


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences ``(length, *)`` of several lengths, filled up to the longest one.

    Args:
        sequences: with equal extents but for the first.
        batch_first: ``(batch, longest, *)`` rather than ``(longest, batch, *)``.
        padding_value: fills up.
        padding_side: ``"right"`` or ``"left"``.

    Example:
        >>> import rlgrad
        >>> pad_sequence([rlgrad.ones(2), rlgrad.ones(3)], batch_first=True)
        tensor([[1., 1., 0.],
                [1., 1., 1.]])
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got {type(sequences).__name__}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.shape[0]
        if missing:
            fill = s.new_full((missing, *s.shape[1:]), padding_value)
            s = cat([s, fill] if padding_side == "right" else [fill, s])
        rows.append(s)
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that :func:`pad_sequence` stacked.

    Args:
        padded_sequences: ``(longest, batch, *)``.
        lengths: of each sequence.
        batch_first: the layout is ``(batch, longest, *)``.
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i, : int(n)] for i, n in enumerate(lengths.tolist())]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch ``(steps, batch, *)``.

    Args:
        lengths: of each sequence.
        enforce_sorted: require the lengths to fall along the batch.
    """
    counts = np.asarray(lengths.numpy(force=True) if isinstance(lengths, Tensor) else lengths, np.int64)
    if batch_first:
        input = input.transpose(0, 1)
    if (counts <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.shape[1]})"
        )
    order = unorder = None
    if enforce_sorted:
        if (np.diff(counts) > 0).any():
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
            )
    else:
        ranks = np.argsort(-counts, kind="stable")
        order, unorder = (as_tensor(i).to(input.device) for i in (ranks, np.argsort(ranks)))
        input, counts = input.index_select(1, order), counts[ranks]
    if counts.max() > input.shape[0]:
        raise RuntimeError(f"lengths go up to {counts.max()}, but the padded input has only {input.shape[0]} steps")
    running = counts[None] > np.arange(counts.max())[:, None]
    data = input[_cells(running, input)]
    return PackedSequence(data, as_tensor(running.sum(1).astype(np.int64)), order, unorder)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, and the lengths.

    Args:
        batch_first: ``(batch, steps, *)`` rather than ``(steps, batch, *)``.
        padding_value: fills up.
        total_length: steps to fill up to, those of the longest sequence unless given.
    """
    data, batch_sizes, _, unorder = sequence
    sizes = batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    running = batch_sizes.numpy()[:, None] > np.arange(sizes[0])
    padded = data.new_full((total_length or len(sizes), sizes[0], *data.shape[1:]), padding_value)
    padded[_cells(running, data)] = data
    lengths = _lengths_of(batch_sizes)
    if unorder is not None:
        padded, lengths = padded.index_select(1, unorder), lengths[unorder.numpy(force=True)]
    return (padded.transpose(0, 1) if batch_first else padded), as_tensor(lengths.astype(np.int64))


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences ``(length, *)``.

    Args:
        enforce_sorted: require the lengths to fall along the batch.

    Example:
        >>> import rlgrad
        >>> pack_sequence([rlgrad.tensor([1, 2, 3]), rlgrad.tensor([4])]).data
        tensor([1, 4, 2, 3])
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that :func:`pack_sequence` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
