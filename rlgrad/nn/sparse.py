"""Lookup tables of learned vectors."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A matrix ``(num_embeddings, embedding_dim)`` with perhaps one row that stands for nothing."""

    def _register_table(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        frozen: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(
                    f"padding_idx must be within num_embeddings ({num_embeddings}), but got {padding_idx}"
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if weight is None:
            made = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not frozen)
            self.reset_parameters()
            return
        if tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: {list(weight.shape)} instead of "
                f"{[num_embeddings, embedding_dim]}"
            )
        self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw standard normal rows, and zeros for the padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _options(self) -> str:
        """The optional settings that differ from their defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        return text + (f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else "")


def _extents(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {list(embeddings.shape)}")
    rows, columns = embeddings.shape
    return rows, columns


class Embedding(_Table):
    """Learned vectors by their index.

    Args:
        num_embeddings: vectors in the table.
        embedding_dim: extent of each.
        padding_idx: a vector that starts at zero and gets no gradient.
        max_norm: vectors of a larger norm are scaled down, in place, when they are looked up.
        norm_type: which norm that is.
        scale_grad_by_freq: divide gradients by how often an index occurs in the input.
        sparse: accepted; gradients are dense.

    Shape:
        integers ``(*)`` to ``(*, embedding_dim)``.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Embedding(10, 3)(rlgrad.tensor([[1, 2, 4, 5]])).shape
        torch.Size([1, 4, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._register_table(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A table that holds ``embeddings (vectors, extent)`` and, unless ``freeze`` is false, does not learn."""
        rows, columns = _extents(embeddings)
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return cls(rows, columns, *options, _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Tensor:
        options = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, *options)

    def extra_repr(self) -> str:
        text = self._options()
        if self.padding_idx is not None:
            start = f"{self.num_embeddings}, {self.embedding_dim}"
            text = f"{start}, padding_idx={self.padding_idx}{text[len(start) :]}"
        return text + (", sparse=True" if self.sparse else "")


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of learned vectors.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse: as for :class:`Embedding`.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        include_last_offset: the last offset is where the last bag ends.
        padding_idx: a vector that takes no part.

    Shape:
        integers ``(bags, length)``, or ``(total,)`` with ``offsets (bags,)`` where each bag starts, to
        ``(bags, embedding_dim)``.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.mode, self.include_last_offset = mode, include_last_offset
        self._register_table(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A table that holds ``embeddings (vectors, extent)`` and, unless ``freeze`` is false, does not learn."""
        rows, columns = _extents(embeddings)
        options = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bag = cls(rows, columns, *options)
        bag.weight.requires_grad_(not freeze)
        return bag

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self._options()}, mode={self.mode!r}{padding}"
