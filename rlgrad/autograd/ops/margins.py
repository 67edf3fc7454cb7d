"""Losses with a margin, each one op: what lies on the right side of it costs nothing."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error, require_floating
from rlgrad.autograd.ops.places import largest
from rlgrad.autograd.ops.reduction import check_reduction, reduced, reduced_array, weight_of
from rlgrad.autograd.ops.writing import add_at, renamed, weigh_by_index
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of
from rlgrad.backend.kernels.selecting import select


def _alike(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors of one dtype."""
    first = tensors[0]._array.dtype
    for tensor in tensors:
        if tensor._array.dtype is not first:
            common = dtypes.result_type(*tensors)
            return tuple([x if x.dtype is common else x.to(common) for x in tensors])
    return tensors


_LAST_STEP = {"mean": "MeanBackward0", "sum": "SumBackward0"}
"""Node names of losses that PyTorch puts together from other operations."""


def _applied(op: Op, tensors: tuple[Tensor, ...], attributes: tuple[Any, ...]) -> Tensor:
    """The loss of tensors that broadcast against each other."""
    operands = _alike(*tensors)
    if operands[0]._array.dtype.kind != "f":
        operands = tuple([x.to(dtypes.get_default_dtype()) for x in operands])
    try:
        return apply(op, operands, attributes)
    except ValueError:
        raise broadcast_error(op.name, [x._array.shape for x in operands]) from None


def _soft_slope(ns: Any, g: Any, a: Any, target: Any, factor: Any, reduction: str) -> Any:
    product = a * target
    return factor * ns.sigmoid(-product) * weight_of(-g, product.shape, reduction)


_soft_margin = Op(
    "soft_margin_loss",
    lambda xp, a, target, reduction: reduced_array(xp.log1p(xp.exp(-target * a)), reduction),
    (
        lambda ns, g, a, target, reduction: _soft_slope(ns, g, a, target, target, reduction),
        lambda ns, g, a, target, reduction: _soft_slope(ns, g, a, target, a, reduction),
    ),
)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-target * input))``, for targets of -1 and 1."""
    return _applied(_soft_margin, (input, target), (check_reduction(reduction, size_average, reduce),))


def _hinge_forward(xp: Any, a: Any, target: Any, margin: float, reduction: str) -> Any:
    losses = xp.maximum(margin - a, 0)
    losses *= target != 1
    return reduced_array(losses + xp.where(target != -1, a, a.dtype.type(0)), reduction)


def _hinge_vjp(ns: Any, g: Any, a: Any, target: Any, margin: float, reduction: str) -> Any:
    slope = ns.mask(target != -1, a) - ns.mask((target != 1) & (a <= margin), a)
    return slope * weight_of(g, slope.shape, reduction)


_hinge_embedding = Op("hinge_embedding_loss", _hinge_forward, (_hinge_vjp, None))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    if target._edge is not None:
        target = target.detach()
    reduction = check_reduction(reduction, size_average, reduce)
    result = _applied(_hinge_embedding, (input, target), (margin, reduction))
    return renamed(result, _LAST_STEP.get(reduction, "AddBackward0"))


def _ranking_forward(xp: Any, a: Any, b: Any, target: Any, margin: float, reduction: str) -> Any:
    return reduced_array(xp.maximum((b - a) * target + margin, 0), reduction)


def _ranking_vjp(
    ns: Any, g: Any, wants: Any, a: Any, b: Any, target: Any, margin: float, reduction: str
) -> tuple[Any, ...]:
    change = b - a
    inside = ns.mask(change * target + margin >= 0, a)
    slope = inside * weight_of(g, inside.shape, reduction)
    along = slope * target
    return -along if wants[0] else None, along if wants[1] else None, slope * change if wants[2] else None


_margin_ranking = Op("margin_ranking_loss", _ranking_forward, _ranking_vjp, inputs=3)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: the first should rank higher where the target is 1."""
    if not input1._array.ndim == input2._array.ndim == target._array.ndim:
        raise RuntimeError(
            "margin_ranking_loss: all input tensors should have the same dimension but got sizes: input1: "
            f"{list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)}"
        )
    reduction = check_reduction(reduction, size_average, reduce)
    result = _applied(_margin_ranking, (input1, input2, target), (margin, reduction))
    return renamed(result, _LAST_STEP.get(reduction, "ClampMinBackward0"))


_TINY = 1e-12  # keeps the angle with a vector of length zero finite


def _cosine_forward(xp: Any, a: Any, b: Any, target: Any, margin: float, reduction: str) -> Any:
    lengths = ((a * a).sum(-1) + _TINY) * ((b * b).sum(-1) + _TINY)
    cosine = (a * b).sum(-1) / xp.sqrt(lengths)
    near = select(xp, target == 1, 1 - cosine, a.dtype.type(0))
    return reduced_array(near + select(xp, target == -1, xp.maximum(cosine - margin, 0), a.dtype.type(0)), reduction)


def _cosine_vjp(
    ns: Any, g: Any, wants: Any, a: Any, b: Any, target: Any, a_shape: Any, margin: float, reduction: str
) -> tuple[Any, ...]:
    last = (len(a_shape) - 1,)
    first, second = ns.sum(a * a, last, True) + _TINY, ns.sum(b * b, last, True) + _TINY
    lengths = ns.sqrt(first * second)
    cosine = ns.sum(a * b, last, True) / lengths
    target = ns.reshape(target, (*target.shape, 1))
    slope = ns.mask((target == -1) & (cosine >= margin), a) - ns.mask(target == 1, a)
    g = g if reduction != "none" else ns.reshape(g, slope.shape)
    slope = slope * weight_of(g, slope.shape, reduction)
    return (
        slope * (b / lengths - a * (cosine / first)) if wants[0] else None,
        slope * (a / lengths - b * (cosine / second)) if wants[1] else None,
        None,
    )


_cosine_embedding = Op("cosine_embedding_loss", _cosine_forward, _cosine_vjp, inputs=3)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        input1, input2: ``(batch, features)`` or ``(features,)``.
    """
    if target.ndim + 1 != input1.ndim or input1.ndim != input2.ndim:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    if target._edge is not None:
        target = target.detach()
    reduction = check_reduction(reduction, size_average, reduce)
    losses = _applied(_cosine_embedding, (input1, input2, target), (margin, reduction))
    return renamed(losses, _LAST_STEP.get(reduction, "AddBackward0"))


# Of several classes: each that is not a sample's own should score lower by the margin


@functools.lru_cache(32)
def _classes(count: int) -> np.ndarray:
    return np.arange(count)


def _own(target: Any, count: int) -> Any:
    """Which class is each sample's own, ``(batch, classes)``."""
    xp = module_of(target)
    return target[:, None] == (_classes(count) if xp is np else xp.arange(count))


def _multi_forward(xp: Any, a: Any, target: Any, weight: Any, p: int, margin: float, reduction: str) -> Any:
    over = xp.maximum(a - _at(xp, a, target) + margin, 0)
    if p == 2:
        over *= over
    if weight is not None:
        over *= weight[target][:, None]
    over[_own(target, a.shape[1])] = 0
    return reduced_array(over.sum(1) / a.shape[1], reduction)


def _at(xp: Any, a: Any, target: Any) -> Any:
    return a[(_classes(len(a)) if xp is np else xp.arange(len(a))), target][:, None]


def _multi_vjp(ns: Any, g: Any, a: Any, target: Any, weight: Any, p: int, margin: float, reduction: str) -> Any:
    labels, factors = ns.array(target), ns.array(weight)
    rows, count = a.shape
    own = ns.constant(_own(labels, count))
    over = a - ns.gather(a, labels[:, None], 1) + margin
    slope = ns.mask((over > 0) & ~own, a)
    if p == 2:
        slope = slope * over * 2
    if factors is not None:
        slope = slope * ns.constant(factors[labels][:, None])
    g = weight_of(g, (rows,), reduction, 1.0 / count)
    slope = slope * (ns.reshape(g, (rows, 1)) if reduction == "none" else g)
    return slope - own * ns.sum(slope, (1,), True)


_multi_margin = Op("multi_margin_loss", _multi_forward, (_multi_vjp, None, None), inputs=3)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum over i != target of max(0, margin - input[target] + input[i]) ** p / classes``.

    Args:
        input: ``(batch, classes)`` or ``(classes,)``.
        target: classes ``(batch,)`` or ``()``.
        p: 1 or 2.
    """
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got shape {list(weight.shape)}")
    reduction = check_reduction(reduction, size_average, reduce)
    shape = input._array.shape
    if len(shape) < 2 and target._array.size == 1:
        rows = input.reshape(1, -1)
        losses = multi_margin_loss(rows, target.reshape(1), p, margin, weight, reduction="none").reshape(target.shape)
        return renamed(reduced(losses, reduction), "MultiMarginLossBackward0")
    if len(shape) != 2 or target._array.shape != shape[:1]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the input's batch size. Expected target size "
            f"{list(shape[:1])} but got {list(target.shape)}"
        )
    labels = target._array
    if labels.size and largest(labels.astype(np.int64, copy=False)) >= shape[1]:
        raise RuntimeError(f"multi_margin_loss: target out of range: classes are 0 to {shape[1] - 1}")
    if weight is not None and weight._edge is not None:
        weight = weight.detach()
    return apply(_multi_margin, (require_floating(input, "multi_margin_loss"), target, weight), (p, margin, reduction))


def _pairs_over(xp: Any, a: Any, sample: Any, label: Any) -> Any:
    """By how much every class of a label's sample exceeds the bound that the label sets: ``(labels, classes)``."""
    over = a.take(sample, 0)
    over += (1 - a[sample, label])[:, None]
    return over


def _multilabel_forward(xp: Any, a: Any, sample: Any, label: Any, others: Any, reduction: str) -> Any:
    over = _pairs_over(xp, a, sample, label)
    xp.maximum(over, 0, out=over)
    over *= others.take(sample, 0)
    losses = weigh_by_index(xp, sample, over.sum(1), len(a)).astype(a.dtype)
    return reduced_array(losses / a.shape[1], reduction)


def _multilabel_vjp(ns: Any, g: Any, a: Any, sample: Any, label: Any, others: Any, reduction: str) -> Any:
    values, sample, label, others = [ns.array(x) for x in (a, sample, label, others)]
    xp = module_of(values)
    inside = (_pairs_over(xp, values, sample, label) > 0) & others.take(sample, 0)
    slope = xp.zeros(values.shape, values.dtype)  # piecewise linear: a constant to every further derivative
    add_at(xp, slope, (sample,), inside.astype(values.dtype))
    add_at(xp, slope, (sample, label), -inside.sum(1).astype(values.dtype))
    g = weight_of(g, (len(values),), reduction, 1.0 / values.shape[1])
    return (ns.reshape(g, (len(values), 1)) if reduction == "none" else g) * ns.constant(slope)


_multilabel_margin = Op("multilabel_margin_loss", _multilabel_forward, (_multilabel_vjp, None, None, None), inputs=4)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``sum over targets j and other classes i of max(0, 1 - input[j] + input[i]) / classes``.

    Args:
        input: ``(batch, classes)`` or ``(classes,)``.
        target: classes in the same shape; those after the first -1 do not count.
    """
    reduction = check_reduction(reduction, size_average, reduce)
    if input.numel() != target.numel() or input.ndim > 2 or (input.ndim == 2 and input.shape != target.shape):
        raise RuntimeError(
            f"multilabel_margin_loss: inconsistent target size {list(target.shape)} for input of size {list(input.shape)}"
        )
    if 0 in input._array.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if input.ndim < 2:
        losses = multilabel_margin_loss(input.reshape(1, -1), target.reshape(1, -1), reduction="none")
        return renamed(reduced(losses.reshape(()), reduction), "MultilabelMarginLossBackward0")
    labels = target._array
    xp = module_of(labels)
    sample, position = (xp.cumsum(labels < 0, 1) == 0).nonzero()
    label = labels[sample, position]
    others = xp.ones(labels.shape, bool)
    others[sample, label] = False
    require_floating(input, "multilabel_margin_loss")
    return apply(_multilabel_margin, (input, wrap(sample), wrap(label), wrap(others)), (reduction,))


__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
]
