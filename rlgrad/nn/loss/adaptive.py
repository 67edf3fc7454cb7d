"""Losses that hold the last layer of a classifier with many classes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlgrad.autograd.ops.joining import cat
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.containers import ModuleList, Sequential
from rlgrad.nn.linear import Linear
from rlgrad.nn.loss.base import _WeightedLoss
from rlgrad.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How much of the logits :func:`rlgrad.nn.functional.linear_cross_entropy` holds at once.

    Args:
        allow_retain_graph: accepted for PyTorch's sake; backward may always be repeated.
        batch_chunk_size: rows of the batch for which logits are held at once; all, or as ``chunking_method`` says, when
            not given.
        chunking_method: ``"auto"``; ``"aspect_ratio:N"`` for chunks whose logits take an N-th of the input's memory, or
            ``None`` for the whole batch.
        acc_policy, acc_dtype: accepted for PyTorch's sake; sums are taken in the dtype of the input.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}; there are {', '.join(_POLICIES)}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor))):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")

    def rows(self, batch: int, in_features: int, classes: int) -> int:
        """Rows of the batch in one chunk."""
        if self.batch_chunk_size is not None:
            return min(self.batch_chunk_size, batch)
        if self.chunking_method is None:
            return batch
        factor = 2 if self.chunking_method == "auto" else int(self.chunking_method.partition(":")[2] or 1)
        share = math.ceil(batch / math.ceil(classes / max(in_features, 1)))
        power_of_two = 1 << max(share - 1, 0).bit_length()
        return max(1, min(power_of_two // factor, batch))


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross-entropy of its outputs.

    Args:
        in_features: features of the input.
        num_classes: classes.
        out_features: dimensions of losses for each input; none for one loss.
        bias: whether the layer has one.
        weight: factor for each class.
        ignore_index: a class that does not count.
        label_smoothing: share of the target spread evenly over the classes, in [0, 1].
        options: hold the logits in chunks only.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes, of which the rare ones are reached through clusters (Grave et al., 2017).

    Args:
        in_features: features of the input.
        n_classes: classes, in the order of falling frequency.
        cutoffs: where clusters of classes begin, rising, each between 1 and ``n_classes - 1``.
        div_value: every cluster has this factor fewer hidden features than the one before.
        head_bias: whether the first layer, which chooses a frequent class or a cluster, has a bias.

    Example:
        >>> import rlgrad
        >>> model = rlgrad.nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 40])
        >>> model(rlgrad.zeros(3, 16), rlgrad.tensor([0, 20, 99])).output.shape
        torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        starts = list(cutoffs)
        if not starts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(low < high for low, high in itertools.pairwise(starts))
        if not rising or starts[0] <= 0 or starts[-1] > n_classes - 1 or any(int(c) != c for c in starts):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                f"between 1 and n_classes-1, got {starts} for {n_classes} classes"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*starts, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = starts[0], len(starts)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **place)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (number + 1))
            self.tail.append(
                Sequential(Linear(in_features, hidden, False, **place), Linear(hidden, high - low, False, **place))
            )

    def reset_parameters(self) -> None:
        """Draw all layers anew."""
        for module in (self.head, *(layer for pair in self.tail for layer in pair)):
            module.reset_parameters()

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, ``(batch, n_classes)``."""
        return self._log_prob(input, self.head(input))

    def _log_prob(self, input: Tensor, scores: Tensor) -> Tensor:
        head = F.log_softmax(scores, 1)
        short = self.shortlist_size
        parts = [head[:, :short]]
        for number, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), 1) + head[:, short + number : short + number + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input; clusters are computed only where one of them may win."""
        scores = self.head(input)
        best = scores.argmax(1)
        rare = best >= self.shortlist_size
        if not bool(rare.any()):
            return best
        best[rare] = self._log_prob(input[rare], scores[rare]).argmax(1)
        return best

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probabilities of the targets ``(batch,)`` and the mean of their negatives."""
        if target_.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors, but found inputs with size "
                f"{list(input_.shape)}"
            )
        batched = target_.ndim == 1
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if len(input) != len(target):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        labels = target.detach()
        if labels.numel() and bool((labels != labels.clamp(0, self.n_classes - 1)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{labels.min().item()}, "
                f"{labels.max().item()}] were found."
            )
        chosen = labels.clone()
        output = input.new_zeros(len(labels))
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            rows = (labels >= low).logical_and(labels < high).nonzero().squeeze(1)
            if not len(rows):
                continue
            chosen[rows] = self.shortlist_size + number
            inside = F.log_softmax(self.tail[number](input.index_select(0, rows)), 1)
            picked = inside.gather(1, (labels[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, picked)
        output = output + F.log_softmax(self.head(input), 1).gather(1, chosen.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())
