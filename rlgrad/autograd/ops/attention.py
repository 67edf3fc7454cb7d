"""Attention: values mixed by how well keys match queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlgrad.autograd.ops.dropout import dropout
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.softmax import softmax
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value`` (Vaswani et al., 2017, equation 1).

    Args:
        query: ``(*, L, E)``.
        key: ``(*, S, E)``.
        value: ``(*, S, Ev)``.
        attn_mask: ``(*, L, S)``: bool (true takes part) or added to the scores.
        is_causal: position ``i`` sees positions up to ``i``; excludes ``attn_mask``.
        scale: ``1 / sqrt(E)`` when not given.
        enable_gqa: repeat the heads of ``key`` and ``value`` to the number of those of ``query``.
    """
    whole = _in_one_kernel(query, key, value, attn_mask, dropout_p, enable_gqa)
    if is_causal and attn_mask is not None and not whole:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = _repeat_heads(key, query.shape[-3]), _repeat_heads(value, query.shape[-3])
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    xp = module_of(query._array)
    masked = is_causal or attn_mask is not None
    if is_causal:
        seen = xp.tril(xp.ones((query.shape[-2], key.shape[-2]), bool))
        scores = scores + wrap(xp.where(seen, 0.0, -math.inf).astype(query._array.dtype))
    if attn_mask is not None:
        if attn_mask._array.dtype.kind == "b":
            bias = xp.where(attn_mask._array, 0.0, -math.inf).astype(query._array.dtype)
            scores = scores + wrap(bias)
        else:
            scores = scores + attn_mask
    weights = _masked_softmax(scores) if masked else softmax(scores, -1)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return renamed(weights @ value, "ScaledDotProductFlashAttentionForCpuBackward0") if whole else weights @ value


def _in_one_kernel(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool
) -> bool:
    """Whether PyTorch computes the attention at once, which also allows a mask beside ``is_causal``."""
    shapes = [tuple(x.shape) for x in (query, key, value)]
    return (
        all(len(shape) == 4 for shape in shapes)
        and len({shape[-1] for shape in shapes}) == 1
        and (enable_gqa or len({shape[:2] for shape in shapes}) == 1)
        and not dropout_p
        and not (attn_mask is not None and attn_mask.requires_grad)
    )


def _masked_softmax(scores: Tensor) -> Tensor:
    """Softmax along the last dimension; zero for queries that may see nothing, where it has no value."""
    blind = (scores._array == -math.inf).all(axis=-1, keepdims=True)
    if not blind.any():
        return softmax(scores, -1)
    return where(wrap(blind), 0.0, softmax(where(wrap(blind), 0.0, scores), -1))


def _repeat_heads(x: Tensor, heads: int) -> Tensor:
    lead, (have, length, width) = tuple(x.shape[:-3]), tuple(x.shape[-3:])
    return x.unsqueeze(-3).expand(*lead, have, heads // have, length, width).reshape(*lead, heads, length, width)


__all__: Sequence[str] = ["scaled_dot_product_attention"]
