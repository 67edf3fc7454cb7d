"""The formulas that policies evaluate in every update, each as one recorded operation."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.registry import Op, apply

__all__ = ["categorical_entropy", "chosen", "log_tanh_slope", "normal_log_prob"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def _normal_forward(xp: Any, value: Any, loc: Any, scale: Any, dims: int) -> Any:
    z = value - loc
    z = z / scale
    z = xp.multiply(z, z)
    out = z * -0.5 - (xp.log(scale) + _HALF_LOG_TWO_PI)
    return out.sum(axis=tuple(range(-dims, 0))) if dims else out


def _normal_vjp(ns: Any, g: Any, wants: Any, value: Any, loc: Any, scale: Any, dims: int) -> Any:
    if dims:
        g = ns.reshape(g, (*g.shape, *[1] * dims))
    z = (value - loc) / scale
    weighted = g / scale
    to_loc: Any = z * weighted if wants[0] or wants[1] else None
    return (
        -to_loc if wants[0] else None,
        to_loc if wants[1] else None,
        (z * z - 1) * weighted if wants[2] else None,
    )


_normal_log_prob = Op("normal_log_prob", _normal_forward, _normal_vjp, inputs=3)


def normal_log_prob(value: Tensor, loc: Tensor, scale: Tensor, dims: int = 0) -> Tensor:
    """Log-density of normal distributions, summed over the last `dims` axes.

    Args:
        value, loc, scale: shapes that broadcast; `loc` or `value` has the last `dims` axes in full.
    """
    if not isinstance(value, Tensor):
        value = rlgrad.as_tensor(value, dtype=loc.dtype, device=loc.device)
    kind = loc._array.dtype
    if value._array.dtype is not kind or scale._array.dtype is not kind:
        floats = [t.dtype for t in (value, loc, scale) if t.is_floating_point()]
        common = functools.reduce(rlgrad.promote_types, floats)
        value, loc, scale = (t.to(common) for t in (value, loc, scale))
    return apply(_normal_log_prob, (value, loc, scale), (dims,))


def _rows(xp: Any, index: Any) -> Any:
    return np.arange(index.size) if xp is np else xp.arange(index.size)


def _chosen_forward(xp: Any, logits: Any, index: Any) -> Any:
    matrix = logits.reshape(-1, logits.shape[-1])
    return matrix[_rows(xp, index), index.reshape(-1)].reshape(index.shape)


def _chosen_into_forward(xp: Any, g: Any, index: Any, logits_shape: Any) -> Any:
    out = xp.zeros((index.size, logits_shape[-1]), g.dtype)
    out[_rows(xp, index), index.reshape(-1)] = g.reshape(-1)
    return out.reshape(logits_shape)


_chosen = Op(
    "chosen",
    _chosen_forward,
    (lambda ns, g, index, logits_shape: ns.chosen_into(g, index, logits_shape), None),
    node="GatherBackward0",
)
_chosen_into = Op("chosen_into", _chosen_into_forward, (lambda ns, g, index: ns.chosen(g, index), None))


def chosen(logits: Tensor, index: Tensor) -> Tensor:
    """The entries of `logits: (*batch_shape, K)` that `index: (*batch_shape)`, of int64, names in each row.

    Raises:
        IndexError: an index is negative, or K or more.
    """
    where, count = index._array, logits._array.shape[-1]
    if where.size and (where.min() < 0 or where.max() >= count):
        raise IndexError(f"Outcomes {int(where.min())} to {int(where.max())} leave the range 0 to {count - 1}.")
    return apply(_chosen, (logits, index))


def _finite(xp: Any, logits: Any) -> Any:
    return xp.maximum(logits, -1e30)


def _entropy_forward(xp: Any, logits: Any) -> Any:
    p = xp.exp(logits)
    p *= _finite(xp, logits)
    return -p.sum(axis=-1)


def _entropy_vjp(ns: Any, g: Any, logits: Any) -> Any:
    return ns.reshape(g, (*g.shape, 1)) * -ns.exp(logits) * (ns.clamp_min(logits, -1e30, None) + 1)


_categorical_entropy = Op("categorical_entropy", _entropy_forward, (_entropy_vjp,))


def categorical_entropy(logits: Tensor) -> Tensor:
    """Entropy over the last axis of normalised log-probabilities; an outcome of probability 0 (-inf) adds nothing."""
    return apply(_categorical_entropy, (logits,))


def _log_tanh_slope_forward(xp: Any, u: Any) -> Any:
    size = xp.abs(u)
    out = xp.log1p(xp.exp(size * -2))
    out += size
    return (math.log(2.0) - out) * 2


_log_tanh_slope = Op(
    "log_tanh_slope", _log_tanh_slope_forward, (lambda ns, g, u: g * ns.tanh(u) * -2,), node="LogTanhSlopeBackward0"
)


def log_tanh_slope(u: Tensor) -> Tensor:
    """`log(1 - tanh(u)^2)`, without cancellation: `2 (log 2 - |u| - log(1 + exp(-2 |u|)))`."""
    return apply(_log_tanh_slope, (u,))
