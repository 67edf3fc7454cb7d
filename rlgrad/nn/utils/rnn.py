"""Sequences of several lengths in one batch: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rlgrad.autograd.ops.creation import as_tensor
from rlgrad.autograd.ops.joining import cat, stack
from rlgrad.autograd.tensor import Tensor

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
]


class PackedSequence(NamedTuple):
    """The elements of a batch of sequences, step after step and longest sequence first.

    Attributes:
        data: ``(total steps, features)``.
        batch_sizes: for each step how many sequences still run.
        sorted_indices: order of the batch by falling length; ``None`` when it was in order.
        unsorted_indices: the inverse of it.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def _lengths_of(batch_sizes: Tensor) -> np.ndarray:
    sizes = batch_sizes.numpy()
    return (sizes[:, None] > np.arange(sizes[0])[None]).sum(0)


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences ``(length, *)`` of several lengths, filled up to the longest one."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
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
    """The sequences that :func:`pad_sequence` stacked."""
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
    counts = np.asarray(lengths.numpy() if isinstance(lengths, Tensor) else lengths, np.int64)
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
        order, unorder = as_tensor(ranks), as_tensor(np.argsort(ranks))
        input, counts = input.index_select(1, order), counts[ranks]
    sizes = (counts[None] > np.arange(counts.max())[:, None]).sum(1)
    data = cat([input[t, :n] for t, n in enumerate(sizes.tolist())])
    return PackedSequence(data, as_tensor(sizes.astype(np.int64)), order, unorder)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, and the lengths."""
    data, batch_sizes, _, unorder = sequence
    sizes = batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    batch, start, rows = sizes[0], 0, []
    for t in range(total_length or len(sizes)):
        n = sizes[t] if t < len(sizes) else 0
        parts = [data[start : start + n]] if n else []
        if n < batch:
            parts.append(data.new_full((batch - n, *data.shape[1:]), padding_value))
        rows.append(cat(parts) if len(parts) > 1 else parts[0])
        start += n
    padded = stack(rows)
    lengths = _lengths_of(batch_sizes)
    if unorder is not None:
        padded, lengths = padded.index_select(1, unorder), lengths[unorder.numpy()]
    return (padded.transpose(0, 1) if batch_first else padded), as_tensor(lengths.astype(np.int64))


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences ``(length, *)``."""
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)
