"""Transformers (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

from rlgrad.autograd.ops.creation import full
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.attention import MultiheadAttention
from rlgrad.nn.containers import ModuleList
from rlgrad.nn.dropout import Dropout
from rlgrad.nn.functional.attention import additive_mask
from rlgrad.nn.linear import Linear
from rlgrad.nn.module import Module
from rlgrad.nn.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """``-inf`` above the diagonal, zero elsewhere."""
    return full((size, size), -math.inf, dtype=dtype, device=device).triu(1)


def _is_causal(mask: Tensor | None, given: bool | None, length: int) -> bool:
    """Whether a mask is the causal one, as the caller says or else by comparison."""
    if given is not None or mask is None:
        return bool(given)
    if tuple(mask.shape) != (length, length):
        return False
    return bool((mask == _causal_mask(length, mask.device, mask.dtype)).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.shape[1 if x.ndim == 3 and batch_first else 0]


class _TransformerLayer(Module):
    """What the layers of encoders and decoders share: attention blocks, a feed-forward block, and a norm for each."""

    attentions: ClassVar[tuple[str, ...]]
    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Callable[[Tensor], Tensor]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        blocks = range(1, len(self.attentions) + 2)
        for number in blocks:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for number in blocks:
            setattr(self, f"dropout{number}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in _ACTIVATIONS:
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = _ACTIVATIONS[activation]
        self.activation = activation

    def _block(self, number: int, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """``x`` plus what a block makes of it, normalised before or after."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + drop(function(norm(x))) if self.norm_first else norm(x + drop(function(x)))

    def _attend(
        self, name: str, x: Tensor, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None, causal: bool
    ) -> Tensor:
        source = x if memory is None else memory
        return getattr(self, name)(x, source, source, padding, False, mask, is_causal=causal)[0]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with a residual connection and layer normalisation.

    Args:
        d_model: features.
        nhead: attention heads.
        dim_feedforward: hidden units of the feed-forward network.
        dropout: probability in attention, in the network and on each block's output.
        activation: ``"relu"``, ``"gelu"`` or a function.
        batch_first: whether inputs are ``(batch, length, features)`` rather than ``(length, batch, features)``.
        norm_first: normalise a block's input rather than its sum with the output.
        bias: whether linear layers and norms have one.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.TransformerEncoderLayer(8, 2, 16)(rlgrad.zeros(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Masks as for :class:`MultiheadAttention`."""
        x = self._block(1, src, lambda x: self._attend("self_attn", x, None, src_mask, src_key_padding_mask, is_causal))
        return self._block(2, x, self._feed_forward)


class TransformerDecoderLayer(_TransformerLayer):
    """An encoder layer with attention to an encoder's output in between; arguments as there."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks as for :class:`MultiheadAttention`."""
        own = (None, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._block(1, tgt, lambda x: self._attend("self_attn", x, *own))
        x = self._block(2, x, lambda x: self._attend("multihead_attn", x, *other))
        return self._block(3, x, self._feed_forward)


class _Stack(Module):
    """Copies of a layer, one after the other."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _finish(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of encoder layers.

    Args:
        encoder_layer: copied ``num_layers`` times, its weights included.
        norm: applied at the end.
        enable_nested_tensor, mask_check: accepted for PyTorch's sake; padding is always computed along.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Masks as for :class:`MultiheadAttention`; whether ``mask`` is causal is found out unless given."""
        padding = additive_mask("src_key_padding_mask", src_key_padding_mask, src)
        mask = additive_mask("mask", mask, src)
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return self._finish(src)


class TransformerDecoder(_Stack):
    """A stack of decoder layers.

    Args:
        decoder_layer: copied ``num_layers`` times, its weights included.
        norm: applied at the end.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks as for :class:`MultiheadAttention`; whether ``tgt_mask`` is causal is found out unless given."""
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return self._finish(tgt)


class Transformer(Module):
    """An encoder and a decoder that attends to what the encoder found.

    Args:
        d_model: features.
        nhead: attention heads.
        num_encoder_layers, num_decoder_layers: layers of each stack.
        custom_encoder, custom_decoder: modules to use in place of the stacks.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: of every layer, as in
            :class:`TransformerEncoderLayer`.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        place = {"device": device, "dtype": dtype}
        if custom_encoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*settings, **place), num_encoder_layers, norm)
        if custom_decoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*settings, **place), num_decoder_layers, norm)
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        """Draw all matrices by Glorot and Bengio's rule."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """What the decoder makes of ``tgt`` given ``src``; masks as for :class:`MultiheadAttention`."""
        place = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[place] != tgt.shape[place]:
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, got {src.shape[place]} and {tgt.shape[place]}"
            )
        if not src.shape[-1] == tgt.shape[-1] == self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model {self.d_model}, got {src.shape[-1]} and "
                f"{tgt.shape[-1]}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask that lets no position see later ones: ``-inf`` above the diagonal, zero elsewhere."""
        return _causal_mask(sz, device, dtype)
