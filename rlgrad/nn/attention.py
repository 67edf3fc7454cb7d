"""Attention as a layer."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import init
from rlgrad.nn.functional.attention import multi_head_attention_forward
from rlgrad.nn.linear import Linear
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """:class:`Linear` under the name that PyTorch prints for the output projection of attention."""


class MultiheadAttention(Module):
    """Several heads that each mix values by how well keys match queries (Vaswani et al., 2017, section 3.2.2).

    Args:
        embed_dim: features of the queries and of the output; a multiple of ``num_heads``.
        num_heads: heads, each with ``embed_dim / num_heads`` features.
        dropout: probability for the attention weights.
        bias: whether the projections have one.
        add_bias_kv: learn one more key and value that all queries see.
        add_zero_attn: append a key and value of zeros.
        kdim, vdim: features of keys and values; ``embed_dim`` when not given.
        batch_first: whether inputs are ``(batch, length, features)`` rather than ``(length, batch, features)``.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.zeros(2, 5, 8)
        >>> output, weights = rlgrad.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([2, 5, 8]), torch.Size([2, 5, 5]))
    """

    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        place = {"device": device, "dtype": dtype}
        shapes = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, **place))
            for name in shapes:
                self.register_parameter(name, None)
        else:
            for name, features in shapes.items():
                self.register_parameter(name, Parameter(empty(embed_dim, features, **place)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **place)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **place)
        for name in ("bias_k", "bias_v"):
            setattr(self, name, Parameter(empty(1, 1, embed_dim, **place)) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the projections by Glorot and Bengio's rule; their biases are zero."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attended values, and the attention weights unless they are not wanted.

        Args:
            query, key, value: batches in the layout of ``batch_first``, or single sequences ``(length, features)``.
            key_padding_mask: ``(batch, S)``: keys that nobody sees (true), or what to add to their scores.
            need_weights: return the weights ``(batch, L, S)`` too.
            attn_mask: ``(L, S)`` or ``(batch * num_heads, L, S)``: pairs that do not attend (true), or what to add.
            average_attn_weights: average the weights over the heads.
            is_causal: ``attn_mask`` is the causal one.
        """
        flip = self.batch_first and query.ndim == 3
        if flip:
            seen: dict[int, Tensor] = {}  # self-attention is recognised by identity
            query, key, value = (seen.setdefault(id(x), x.transpose(0, 1)) for x in (query, key, value))
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if flip else output), weights
