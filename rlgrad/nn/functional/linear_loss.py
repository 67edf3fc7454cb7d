"""Cross-entropy of a linear layer's outputs, perhaps without ever holding all of them."""

from __future__ import annotations

from typing import Any, Protocol

from rlgrad.autograd.ops.joining import cat
from rlgrad.autograd.ops.likelihood import cross_entropy
from rlgrad.autograd.ops.linear import linear
from rlgrad.autograd.tensor import Tensor

__all__ = ["linear_cross_entropy"]


class _Chunks(Protocol):
    def rows(self, batch: int, in_features: int, classes: int) -> int: ...


def _check(input: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    wanted = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != wanted:
        raise RuntimeError(f"expected linear_bias shape {wanted}, got {tuple(bias.shape)}")
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, (N, "
            f"{input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if input.ndim == 2 and target.ndim and len(target) != len(input):
        raise ValueError(f"Expected input batch_size ({len(input)}) to match target batch_size ({len(target)})")


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: _Chunks | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        input: ``(batch, in_features)`` or ``(in_features,)``.
        linear_weight: ``(classes, in_features)``, or ``(classes, d1, ..., dK, in_features)`` for K dimensions of
            losses.
        target: classes ``(batch, d1, ..., dK)``, or probabilities ``(batch, classes, d1, ..., dK)``.
        linear_bias: ``linear_weight`` without its last dimension.
        weight: factor for each class.
        ignore_index: a class that does not count.
        label_smoothing: share of the target spread evenly over the classes.
        options: compute the logits in chunks of the batch, forward and once more backward, so that they are never held
            all at once; for classes as targets. See :class:`rlgrad.nn.LinearCrossEntropyOptions`.
    """
    _check(input, linear_weight, target, linear_bias)
    classes, *spread = linear_weight.shape[:-1]
    shape = (*input.shape[:-1], classes, *spread)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    rows = linear_weight.reshape(-1, input.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    settings: dict[str, Any] = {
        "weight": weight,
        "ignore_index": -100 if ignore_index is None else ignore_index,
        "label_smoothing": label_smoothing,
    }

    def losses(x: Tensor, t: Tensor, reduction: str) -> Tensor:
        logits = linear(x, rows, bias).reshape(*x.shape[:-1], classes, *spread)
        return cross_entropy(logits, t, reduction=reduction, **settings)

    chunk = 0 if options is None or input.ndim == 1 else options.rows(len(input), input.shape[-1], classes)
    if not 0 < chunk < len(input) or tuple(target.shape) == shape or label_smoothing:
        return losses(input, target, reduction)
    from rlgrad.utils.checkpoint import checkpoint

    parts = [
        checkpoint(losses, x, t, "none", use_reentrant=False)
        for x, t in zip(input.split(chunk), target.split(chunk), strict=True)
    ]
    each = cat(parts)
    if reduction != "mean":
        return each.sum() if reduction == "sum" else each
    kept = target != settings["ignore_index"]
    total = kept.sum() if weight is None else (weight[target * kept] * kept).sum()
    return each.sum() / total
