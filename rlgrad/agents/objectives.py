"""The formulas that agents evaluate in every gradient step, each as one recorded operation."""

from __future__ import annotations

from typing import Any

import numpy as np

import rlgrad.distributions.kernels  # noqa: F401 - has the ops `chosen` and `chosen_into`
from rlgrad import Tensor
from rlgrad.autograd.registry import Op, apply

__all__ = ["categorical_log_prob", "clipped_surrogate", "huber_of_chosen"]


def _surrogate_forward(xp: Any, log_prob: Any, old_log_prob: Any, advantages: Any, clip: float) -> Any:
    ratio = log_prob - old_log_prob
    xp.exp(ratio, ratio)
    unclipped = ratio * advantages
    clipped = ratio.clip(1.0 - clip, 1.0 + clip)
    clipped *= advantages
    return xp.minimum(unclipped, clipped, out=clipped).sum() / max(clipped.size, 1)


def _surrogate_vjp(ns: Any, g: Any, log_prob: Any, old_log_prob: Any, advantages: Any, clip: float) -> Any:
    # The gradient is that of the unclipped product, or none: where the clipped one is smaller it is constant.
    ratio = ns.exp(log_prob - old_log_prob)
    raw, gains = ns.array(ratio), ns.array(advantages)
    outside = ((raw > 1.0 + clip) & (gains > 0)) | ((raw < 1.0 - clip) & (gains < 0))
    weight = gains * ~outside * (1.0 / max(raw.size, 1))
    return ratio * weight.astype(raw.dtype) * g


_clipped_surrogate = Op("clipped_surrogate", _surrogate_forward, (_surrogate_vjp, None, None))


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """Mean of `min(r A, clip(r, 1 - clip, 1 + clip) A)` with the ratio `r = exp(log_prob - old_log_prob)`.

    Args:
        log_prob: (n,) log-probabilities under the policy that learns; the gradient flows to these alone.
        old_log_prob: (n,) under the policy that drew the actions.
        advantages: (n,).
        clip: how far the ratio may move from 1 before it gains nothing more.

    Example:
        >>> import rlgrad
        >>> new, old = rlgrad.tensor([0.0, 1.0]), rlgrad.zeros(2)
        >>> clipped_surrogate(new, old, rlgrad.ones(2), clip=0.2)
        tensor(1.1000)

    Source: Schulman et al., Proximal Policy Optimization Algorithms (2017), equation 7.
    """
    return apply(_clipped_surrogate, (log_prob, old_log_prob, advantages), (clip,))


def _log_prob_forward(xp: Any, logits: Any, index: Any) -> Any:
    # Along a short last axis NumPy reduces slowly: the maximum runs over a transposed copy, the sum is a product.
    top = xp.maximum.reduce(xp.ascontiguousarray(logits.T), 0) if xp is np else logits.max(axis=1)
    z = logits - top[:, None]
    chosen = z.ravel().take(_places(xp, index, z.shape))
    chosen -= xp.log(xp.exp(z, z).dot(xp.ones(z.shape[1], z.dtype)))
    return chosen


def _places(xp: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Where in a flattened matrix each row's chosen column is; taking by these is quicker than by rows and columns."""
    return index + xp.arange(0, shape[0] * shape[1], shape[1])


def _log_prob_vjp(ns: Any, g: Any, logits: Any, index: Any, out: Any, logits_shape: Any) -> Any:
    column = ns.reshape(g, (logits_shape[0], 1))
    if ns.recorded:
        return ns.scatter_add_into(column, index.reshape(-1, 1), logits_shape, 1) - ns.softmax(logits, 1) * column
    # The outcomes' own log-probabilities give the normaliser, so that nothing is summed again.
    places = _places(ns.xp, index, logits_shape)
    slope = logits - (logits.ravel().take(places) - out)[:, None]
    ns.xp.exp(slope, slope)
    slope *= -column
    slope = slope.reshape(-1)
    slope[places] += g
    return slope.reshape(logits_shape)


_categorical_log_prob = Op("categorical_log_prob", _log_prob_forward, (_log_prob_vjp, None))


def categorical_log_prob(logits: Tensor, index: Tensor) -> Tensor:
    """(n,) log-probabilities of the outcomes `index: (n,)` under unnormalised `logits: (n, outcomes)`.

    Example:
        >>> import rlgrad
        >>> categorical_log_prob(rlgrad.zeros(1, 2), rlgrad.tensor([1]))
        tensor([-0.6931])
    """
    return apply(_categorical_log_prob, (logits, index))


def _huber_forward(xp: Any, outputs: Any, index: Any, targets: Any, weights: Any) -> Any:
    errors = outputs[xp.arange(len(index)), index] - targets
    clipped = errors.clip(-1.0, 1.0)
    errors -= 0.5 * clipped
    return errors.dot(clipped if weights is None else clipped * weights) / max(len(errors), 1)


def _huber_vjp(ns: Any, g: Any, outputs: Any, index: Any, targets: Any, weights: Any, outputs_shape: Any) -> Any:
    slope = ns.clamp(ns.chosen(outputs, index) - targets, -1.0, 1.0) * (g * (1.0 / max(outputs_shape[0], 1)))
    return ns.chosen_into(slope if weights is None else slope * weights, index, outputs_shape)


_huber_of_chosen = Op("huber_of_chosen", _huber_forward, (_huber_vjp, None, None, None))


def huber_of_chosen(outputs: Tensor, index: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean Huber loss of chosen values: half the squared error, and linear where that is above 1.

    Args:
        outputs: (n, choices) values; the gradient flows to these alone.
        index: (n,) int64, which of them to compare.
        targets: (n,).
        weights: (n,) of the terms; None for 1.

    Example:
        >>> import rlgrad
        >>> huber_of_chosen(rlgrad.tensor([[0.0, 3.5], [0.5, 9.0]]), rlgrad.tensor([1, 0]), rlgrad.zeros(2))
        tensor(1.5625)

    Source: Mnih et al., Human-Level Control through Deep Reinforcement Learning (2015), "Training algorithm".
    """
    return apply(_huber_of_chosen, (outputs, index, targets, weights))
