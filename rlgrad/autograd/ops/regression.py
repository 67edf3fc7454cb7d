"""Losses on the difference of two tensors, each one op: the mean of the squares, of the sizes, and what lies between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.reduction import broadcast_target, check_reduction, reduced, reduced_array, weight_of
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes
from rlgrad.backend.constants import limited


def _mse_forward(xp: Any, a: Any, b: Any, reduction: str) -> Any:
    difference = a - b
    if reduction == "none":
        return difference * difference
    flat = difference.ravel()
    total = flat.dot(flat)
    return total / flat.size if reduction == "mean" else total


_mse_loss = Op(
    "mse_loss",
    _mse_forward,
    (
        lambda ns, g, a, b, a_shape, reduction: (a - b) * weight_of(g, a_shape, reduction, 2.0),
        lambda ns, g, a, b, a_shape, reduction: (b - a) * weight_of(g, a_shape, reduction, 2.0),
    ),
)


def _bent(name: str, scale: Callable[[float], float]) -> Op:
    """A loss that is ``scale(bend) / 2`` times the square up to a difference of ``bend``, and goes on straight."""

    def forward(xp: Any, a: Any, b: Any, bend: float, reduction: str) -> Any:
        difference = a - b
        inner = limited(xp, difference, -bend, bend)
        if reduction != "none" and difference.dtype.itemsize > 2:
            first, second = difference.reshape(-1), inner.reshape(-1)
            total = second.dot(first) - second.dot(second) * first.dtype.type(0.5)
            total = total * first.dtype.type(scale(bend))
            return total / first.dtype.type(first.size) if reduction == "mean" else total
        losses = inner * -0.5
        losses += difference
        losses *= inner
        losses *= scale(bend)
        return reduced_array(losses, reduction)

    def vjp(ns: Any, g: Any, a: Any, b: Any, a_shape: tuple[int, ...], bend: float, reduction: str) -> Any:
        return ns.clamp(a - b, -bend, bend) * weight_of(g, a_shape, reduction, scale(bend))

    return Op(
        name,
        forward,
        (
            vjp,
            lambda ns, g, a, b, a_shape, bend, reduction: -vjp(ns, g, a, b, a_shape, bend, reduction),
        ),
    )


_smooth_l1_loss = _bent("smooth_l1_loss", lambda beta: 1 / beta)
_huber_loss = _bent("huber_loss", lambda delta: 1.0)


def _operands(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape and floating dtype."""
    a, b = input._array, target._array
    if a.shape != b.shape:
        input, target = broadcast_target(input, target)
    if a.dtype is not b.dtype:
        common = dtypes.result_type(input, target)
        input, target = input.to(common), target.to(common)
    return require_floating(input, name), target


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """Losses with a factor each; their mean is over the sum of the factors."""
    if weight.shape != input.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(input.shape)}")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean of the squared differences.

    Args:
        weight: a factor for each of them; the mean is then over the sum of the factors.
    """
    if weight is not None:
        losses = apply(_mse_loss, _operands("mse_loss", input, target), ("none",))
        return _weighted(losses, weight, input, check_reduction(reduction, size_average, reduce))
    return apply(_mse_loss, _operands("mse_loss", input, target), (check_reduction(reduction, size_average, reduce),))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean of the absolute differences; ``weight`` as for :func:`mse_loss`."""
    first, second = broadcast_target(input, target)
    if weight is not None:
        losses = (first - second).abs()
        return _weighted(losses, weight, input, check_reduction(reduction, size_average, reduce))
    return reduced((first - second).abs(), reduction, size_average, reduce)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared difference over ``2 * beta`` where it is below ``beta``, absolute difference less ``beta / 2`` above."""
    if beta < 0:
        raise ValueError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    reduction = check_reduction(reduction, size_average, reduce)
    return apply(_smooth_l1_loss, _operands("smooth_l1_loss", input, target), (beta, reduction))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference where it is below ``delta``, ``delta * (difference - delta / 2)`` above."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    if input._array.dtype is not target._array.dtype:  # the result has the input's dtype
        if not dtypes.can_cast(dtypes.result_type(input, target), input.dtype):
            raise RuntimeError(f"result type {target.dtype!r} can't be cast to the desired output type {input.dtype!r}")
        target = target.to(input.dtype)
    if weight is None:
        return apply(_huber_loss, _operands("huber_loss", input, target), (delta, check_reduction(reduction)))
    if weight.shape != input.shape:
        raise ValueError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(input.shape)}")
    losses = apply(_huber_loss, _operands("huber_loss", input, target), (delta, "none"))
    return reduced(losses * weight, reduction)


__all__ = ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"]
