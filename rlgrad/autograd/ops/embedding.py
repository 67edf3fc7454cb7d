"""Lookup tables: rows of a matrix by their index, one by one or reduced in bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.spatial import _add_axis
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor


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
    entries = weight._array.shape[0]
    if padding_idx is not None:
        if not -entries <= padding_idx < entries:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= entries
    if index.size and (int(index.min()) < 0 or int(index.max()) >= entries):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        rows = np.unique(index)
        found = weight._array[rows]
        norms = (abs(found) ** norm_type).sum(1, keepdims=True) ** (1 / norm_type)
        factor = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        weight._array[rows] = found * factor.astype(found.dtype)
        weight._cell[0] += 1
    return apply(_embedding, (weight, input), (padding_idx, scale_grad_by_freq))


__all__: Sequence[str] = ["embedding"]
