"""Attention with several heads, projections and masks included (Vaswani et al., 2017, section 3.2)."""

from __future__ import annotations

import math
import warnings

from rlgrad.autograd.ops.attention import scaled_dot_product_attention
from rlgrad.autograd.ops.dropout import dropout
from rlgrad.autograd.ops.joining import cat
from rlgrad.autograd.ops.linear import linear
from rlgrad.autograd.ops.softmax import softmax
from rlgrad.autograd.ops.spatial import pad
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

__all__ = ["multi_head_attention_forward"]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def additive_mask(name: str, mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask to be added to scores: ``-inf`` where a bool one is true."""
    if mask is None or mask.is_floating_point():
        return mask
    array = mask._array
    _require(array.dtype.kind == "b", f"only bool and floating types of {name} are supported, got {mask.dtype!r}")
    return wrap(module_of(array).where(array, -math.inf, 0.0).astype(like._array.dtype))


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the inputs are batches, after refusing numbers of dimensions that do not go together."""
    _require(query.ndim in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D")
    kind = "batched (3-D)" if query.ndim == 3 else "unbatched (2-D)"
    _require(
        key.ndim == value.ndim == query.ndim,
        f"For {kind} `query`, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D",
    )
    _require(
        padding is None or padding.ndim == query.ndim - 1,
        f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D",
    )
    _require(mask is None or mask.ndim in (2, 3), f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D")
    if mask is not None and mask.ndim == 3 and query.ndim == 2:
        wanted = (num_heads, query.shape[0], key.shape[0])
        _require(tuple(mask.shape) == wanted, f"Expected `attn_mask` shape to be {wanted} but got {tuple(mask.shape)}")
    return query.ndim == 3


def _scores_mask(
    mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, steps: tuple[int, int], width: int
) -> Tensor | None:
    """Both masks in one that broadcasts with scores ``(batch, heads, L, S)``; keys added to the ``S`` are seen by all.

    Args:
        steps: ``L`` and ``S`` of the masks.
        width: number of keys in the scores.
    """
    if mask is not None:
        wanted = steps if mask.ndim == 2 else (batch * heads, *steps)
        if tuple(mask.shape) != wanted:
            raise RuntimeError(
                f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be {tuple(wanted)}."
            )
        mask = mask if mask.ndim == 2 else mask.reshape(batch, heads, *steps)
        mask = pad(mask, (0, width - steps[1])) if width > steps[1] else mask
    if padding is not None:
        _require(
            tuple(padding.shape) == (batch, steps[1]),
            f"expecting key_padding_mask shape of {(batch, steps[1])}, but got {tuple(padding.shape)}",
        )
        padding = pad(padding, (0, width - steps[1])) if width > steps[1] else padding
        padding = padding.reshape(batch, 1, 1, width)
        mask = padding if mask is None else mask + padding
    return mask


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Project queries, keys and values, let every head attend, and project what the heads found.

    Args:
        query: ``(L, batch, embed)`` or ``(L, embed)``.
        key, value: ``(S, batch, *)`` or ``(S, *)``.
        embed_dim_to_check: ``embed``.
        in_proj_weight: the three projections, one below the other, ``(3 * embed, embed)``.
        bias_k, bias_v: ``(1, 1, embed)``: one more key and value for all.
        add_zero_attn: append a key and value of zeros.
        key_padding_mask: ``(batch, S)`` or ``(S,)``: keys that nobody sees (true), or what to add to their scores.
        need_weights: return the attention weights too.
        attn_mask: ``(L, S)`` or ``(batch * num_heads, L, S)``: pairs that do not attend (true), or what to add.
        use_separate_proj_weight: use ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight``.
        static_k, static_v: ``(batch * num_heads, S, embed / num_heads)`` in place of projected keys and values.
        average_attn_weights: average the weights over the heads.
        is_causal: ``attn_mask`` is the causal one, and a faster route may be taken.

    Returns:
        The output ``(L, batch, embed)``, and the weights ``(batch, L, S)`` (or one more dimension for heads) or
        ``None``.

    Raises:
        AssertionError: for shapes that do not fit, as in PyTorch.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_key, same_value = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    width = embed // num_heads
    _require(embed == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}")
    _require(width * num_heads == embed, f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    causal = is_causal and key_padding_mask is None and not need_weights
    _require((bias_k is None) == (bias_v is None), "bias_k and bias_v go together, but only one of them is set")
    _require(bias_k is None or (static_k is None and static_v is None), "bias cannot be added to static key or value.")
    weights_of: Tensor | tuple[Tensor | None, ...]
    if use_separate_proj_weight:
        _require(key.shape[:2] == value.shape[:2], "key's sequence and batch dims do not match value's")
        weights_of = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        weights_of = in_proj_weight
    q, k, v = _heads((query, key, value), num_heads, weights_of, in_proj_bias, (bias_k, bias_v))
    k = k if static_k is None else static_k.reshape(batch, num_heads, -1, width)
    v = v if static_v is None else static_v.reshape(batch, num_heads, -1, width)
    if add_zero_attn:
        k, v = (cat([x, x.new_zeros((batch, num_heads, 1, width))], 2) for x in (k, v))
    mask = None
    if not causal:
        mask = _scores_mask(
            additive_mask("attn_mask", attn_mask, query),
            additive_mask("key_padding_mask", key_padding_mask, query),
            batch,
            num_heads,
            (length, key.shape[0] if static_k is None else static_k.shape[1]),
            k.shape[2],
        )
    drop = dropout_p if training else 0.0
    weights = None
    if need_weights:
        mixed, weights = _attended(q, k, v, mask, drop)
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights if batched else weights.squeeze(0)
    else:
        mixed = scaled_dot_product_attention(q, k, v, mask, drop, causal)
    output = linear(mixed.permute(2, 0, 1, 3).reshape(length, batch, embed), out_proj_weight, out_proj_bias)
    return (output if batched else output.squeeze(1)), weights


def _heads(
    inputs: tuple[Tensor, Tensor, Tensor],
    heads: int,
    weights: Tensor | tuple[Tensor | None, ...],
    bias: Tensor | None,
    more: tuple[Tensor | None, Tensor | None],
) -> tuple[Tensor, ...]:
    """Queries, keys and values of every head, ``(batch, heads, steps, embed / heads)``.

    Args:
        inputs: ``(steps, batch, *)`` each.
        weights: of the three projections, one below the other or each.
        more: one more key and value for all, or ``None`` twice.
    """
    query, key, value = inputs
    if isinstance(weights, Tensor) and query is key and key is value and more[0] is None:
        return _packed_heads(linear(query, weights, bias), heads)
    each = weights.chunk(3) if isinstance(weights, Tensor) else weights
    projected = list(_project(inputs, each, bias))
    for place, extra in enumerate(more, 1):
        if extra is not None:
            x = projected[place]
            projected[place] = cat([x, extra.expand(1, *x.shape[1:])])
    return tuple([_by_head(x, heads) for x in projected])


def _attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, drop: float) -> tuple[Tensor, Tensor]:
    """What every query finds, and with which weights."""
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    weights = softmax(scores if mask is None else scores + mask, -1)
    weights = dropout(weights, drop) if drop else weights
    return weights @ v, weights


def _by_head(x: Tensor, heads: int) -> Tensor:
    """``(L, batch, embed)`` as ``(batch, heads, L, embed / heads)``."""
    length, batch, embed = x.shape
    return x.reshape(length, batch, heads, embed // heads).permute(1, 2, 0, 3)


def _project(inputs: tuple[Tensor, ...], weights: tuple[Tensor | None, ...], bias: Tensor | None) -> tuple[Tensor, ...]:
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    found = []
    for name, x, weight, b in zip("qkv", inputs, weights, biases, strict=True):
        assert weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None"
        found.append(linear(x, weight, b))
    return tuple(found)


def _packed_heads(x: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Queries, keys and values from one product ``(L, batch, 3 * embed)``, each as :func:`_by_head` gives them."""
    length, batch, width = x.shape
    return x.reshape(length, batch, 3, heads, width // (3 * heads)).permute(2, 1, 3, 0, 4).unbind(0)
