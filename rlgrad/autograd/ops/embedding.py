"""Lookup tables: rows of a matrix by their index, one by one or reduced in bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.spatial import _add_axis, _add_axis_op
from rlgrad.autograd.ops.writing import recorded_as
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of, to_host


def _embedding_gradient(
    xp: Any, g: Any, index: Any, shape: tuple[int, ...], padding_idx: int | None, by_frequency: bool
) -> Any:
    flat, rows = index.reshape(-1), g.reshape(-1, shape[1])
    if by_frequency and flat.size:
        rows = rows / xp.bincount(flat, minlength=shape[0])[flat][:, None].astype(g.dtype)
    out = _add_axis(xp, rows, flat, shape[0], 0)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def _embedding_gradient_vjp(ns: Any, g: Any, index: Any, padding_idx: int | None, by_frequency: bool) -> Any:
    if by_frequency:
        raise RuntimeError("embedding with scale_grad_by_freq has no second derivative")
    rows = ns.embedding(g, index, padding_idx, False)
    return rows if padding_idx is None else rows * ns.not_padding(index, g, padding_idx)


Op("not_padding", lambda xp, index, like, row: (index != row)[..., None].astype(like.dtype), inputs=2)
_embedding = Op(
    "embedding",
    lambda xp, a, index, padding_idx, by_frequency: a[index],
    (
        lambda ns, g, index, a_shape, padding_idx, by_frequency: ns.embedding_gradient(
            g, index, a_shape, padding_idx, by_frequency
        ),
        None,
    ),
)
Op("embedding_gradient", _embedding_gradient, (_embedding_gradient_vjp, None))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight (entries, features)`` named by the integers ``input (*)``, as ``(*, features)``.

    Args:
        padding_idx: an entry that gets no gradient.
        max_norm: rows of a larger norm are first scaled down in place.
        scale_grad_by_freq: divide gradients by how often an entry occurs in ``input``.
    """
    index = input._array
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype!r} instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {list(weight.shape)}")
    entries = weight._array.shape[0]
    if padding_idx is not None:
        if not -entries <= padding_idx < entries:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= entries
    if index.size and (int(index.min()) < 0 or int(index.max()) >= entries):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        xp = module_of(index)
        rows = xp.unique(index)
        found = weight._array[rows]
        norms = xp.linalg.norm(found, norm_type, axis=1, keepdims=True)
        factor = xp.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        weight._array[rows] = found * factor.astype(found.dtype)
        weight._cell[0] += 1
    return apply(_embedding, (weight, input), (padding_idx, scale_grad_by_freq))


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[np.ndarray, int]:
    """The bag of every index, and how many bags there are."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated as a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets).__name__}"
            )
        count, length = input.shape
        return np.repeat(np.arange(count), length), count
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    total, starts = input.shape[0], to_host(offsets._array).astype(np.int64)
    if include_last_offset and not len(starts):
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{starts[0]}"
        )
    if len(starts) and starts[-1] > total:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({total}) but got offsets[-1] of {starts[-1]}"
        )
    ends = starts[1:] if include_last_offset else np.append(starts[1:], total)
    starts = starts[: len(ends)]
    lengths = ends - starts
    return np.repeat(np.arange(len(lengths)), lengths), len(lengths)


def _bag_maxima(rows: Tensor, bags: np.ndarray, count: int) -> Tensor:
    """For each bag and feature its largest element, zero for empty bags."""
    xp = module_of(rows._array)
    if not len(bags):
        return wrap(xp.zeros((count, rows.shape[1]), rows._array.dtype))
    values = to_host(rows._array)
    filled, starts, which = np.unique(bags, return_index=True, return_inverse=True)
    hit = values == np.maximum.reduceat(values, starts, axis=0)[which]
    places = np.where(hit, np.arange(len(bags))[:, None], len(bags))
    first = np.minimum.reduceat(places, starts, axis=0).clip(0, len(bags) - 1)
    return _summed(rows.gather(0, wrap(xp.asarray(first))), filled, count)


def _summed(rows: Tensor, bags: np.ndarray, count: int) -> Tensor:
    return apply(_add_axis_op, (rows, wrap(module_of(rows._array).asarray(bags))), (count, 0))


@recorded_as("EmbeddingBagBackward0")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of ``weight (entries, features)``, as ``(bags, features)``.

    Args:
        input: indices ``(bags, length)``, or of all bags one after the other.
        offsets: where each bag starts, if ``input`` has one dimension.
        mode: ``"sum"``, ``"mean"`` or ``"max"``; empty bags give zeros.
        per_sample_weights: factors of the rows in the shape of ``input``, for sums.
        include_last_offset: the last offset is where the last bag ends.
        padding_idx: an entry that takes no part.

    Raises:
        ValueError: shapes, modes and options that do not go together.
        RuntimeError: offsets that do not start at zero or exceed the input.
    """
    if weight._array.dtype.kind in "iu":  # the order of the arguments in early versions of PyTorch
        raise RuntimeError("embedding_bag: expected a floating point weight as the second argument")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean, max, got {mode!r}")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have the same "
            f"shape as the input ({list(input.shape)})"
        )
    bags, count = _bags(input, offsets, include_last_offset)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}')."
        )
    used = input.reshape(-1)[: len(bags)]
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)[: len(bags)]
    if padding_idx is not None:
        entries = weight.shape[0]
        if not -entries <= padding_idx < entries:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, but got {padding_idx}")
        kept = np.flatnonzero(to_host(used._array) != padding_idx % entries)
        bags, places = bags[kept], wrap(module_of(used._array).asarray(kept))
        used = used.index_select(0, places)
        factors = None if factors is None else factors.index_select(0, places)
    rows = embedding(used, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if mode == "max":
        return _bag_maxima(rows, bags, count)
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    total = _summed(rows, bags, count)
    if mode == "sum":
        return total
    sizes = np.bincount(bags, minlength=count).clip(1)[:, None]
    return total / wrap(module_of(total._array).asarray(sizes, total._array.dtype))


__all__: Sequence[str] = ["embedding", "embedding_bag"]
