"""Connectionist temporal classification: the likelihood of a label sequence summed over all its alignments.

Notation and equations are those of Graves et al. (2006), "Connectionist temporal classification", section 4.1: labels
with blanks between them have ``2 S + 1`` states, and ``alpha`` and ``beta`` are kept as logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.reduction import check_reduction
from rlgrad.autograd.ops.writing import weigh_by_index
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import device_of, module_of, move

__all__: Sequence[str] = ["ctc_loss"]


def _skips(xp: Any, states: Any, blank: int) -> Any:
    """0 where a state may be reached from the one two before it, ``-inf`` where not: blanks and repeated labels."""
    allowed = xp.zeros(states.shape, bool)
    allowed[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return xp.where(allowed, 0.0, -math.inf)


def _log_sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """``log(exp(a) + exp(b) + exp(c))``, also of three times ``-inf``."""
    top = xp.maximum(xp.maximum(a, b), c)
    xp.maximum(top, -1e30, out=top)  # no log-probability is that low, and -inf less itself would be NaN
    total = xp.exp(a - top)
    total += xp.exp(b - top)
    total += xp.exp(c - top)
    xp.log(total, out=total)
    total += top
    return total


def _emissions(xp: Any, log_probs: Any, states: Any) -> Any:
    """The log-probability of every state's label at every step, ``(steps, batch, states)``."""
    return log_probs[:, xp.arange(len(states))[:, None], states]


def _ends(xp: Any, a: Any, target_lengths: Any) -> tuple[Any, Any]:
    """The two states in which a sequence may end: the last blank and the last label."""
    rows = xp.arange(len(a))
    label = a[rows, xp.maximum(2 * target_lengths - 1, 0)]
    return a[rows, 2 * target_lengths], xp.where(target_lengths > 0, label, -math.inf)


def _forward(
    xp: Any,
    log_probs: Any,
    states: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> tuple[Any, Any]:
    emitted = _emissions(xp, log_probs, states)
    skips = _skips(xp, states, blank).astype(log_probs.dtype)
    steps, batch, width = emitted.shape
    padded = xp.full((steps, batch, width + 2), -math.inf, log_probs.dtype)  # nothing comes in from the left
    alpha = padded[:, :, 2:]
    if steps:
        alpha[0, :, 0] = emitted[0, :, 0]
        alpha[0, :, 1:2] = xp.where(target_lengths[:, None] > 0, emitted[0, :, 1:2], -math.inf)
    for t in range(1, steps):
        before = padded[t - 1]
        xp.add(_log_sum(xp, before[:, 2:], before[:, 1:-1], before[:, :-2] + skips), emitted[t], out=alpha[t])
    loss = xp.where(target_lengths > 0, math.inf, 0.0)  # of sequences without steps
    if steps:
        last = alpha[xp.maximum(input_lengths - 1, 0), xp.arange(len(states))]
        loss = xp.where(input_lengths > 0, -xp.logaddexp(*_ends(xp, last, target_lengths)), loss)
    return loss.astype(log_probs.dtype), alpha


def _gradient(
    xp: Any,
    g: Any,
    log_probs: Any,
    states: Any,
    input_lengths: Any,
    target_lengths: Any,
    loss: Any,
    alpha: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """Equation 16 of the paper, for log-probabilities that come from a softmax; zero after a sequence's last step."""
    steps, batch, classes = log_probs.shape
    emitted = _emissions(xp, log_probs, states)
    skips = xp.full(states.shape, -math.inf, alpha.dtype)
    skips[:, :-2] = _skips(xp, states, blank)[:, 2:]
    state = xp.arange(states.shape[1])
    ends = 2 * target_lengths[:, None]
    start = xp.where((state == ends) | (state == ends - 1), 0.0, -math.inf).astype(log_probs.dtype)
    beta = xp.empty(alpha.shape, alpha.dtype)  # without the emission of its own step
    after = xp.full((batch, states.shape[1] + 2), -math.inf, alpha.dtype)  # nothing comes in from the right
    for t in reversed(range(steps)):
        following = _log_sum(xp, after[:, :-2], after[:, 1:-1], after[:, 2:] + skips)
        beta[t] = xp.where((input_lengths == t + 1)[:, None], start, following)
        xp.add(beta[t], emitted[t], out=after[:, :-2])
    lost = xp.isposinf(loss)
    share = xp.exp(alpha + beta + xp.where(lost, 0.0, loss)[:, None])
    cell = xp.arange(steps * batch).reshape(steps, batch, 1) * classes + states
    by_label = weigh_by_index(xp, cell.ravel(), share.ravel(), steps * batch * classes)
    out = xp.exp(log_probs) - by_label.reshape(log_probs.shape)
    out[:, lost] = 0.0 if zero_infinity else math.nan
    out[xp.arange(steps)[:, None] >= input_lengths] = 0.0
    return (out * g[:, None]).astype(log_probs.dtype)


def _no_second(ns: Any, g: Any) -> Any:
    raise NotImplementedError("ctc_loss has no second derivative")


_ctc_loss = Op(
    "ctc_loss",
    _forward,
    (
        lambda ns, g, log_probs, states, input_lengths, target_lengths, out, out1, blank, zero_infinity: (
            ns.ctc_gradient(g[0], log_probs, states, input_lengths, target_lengths, out, out1, blank, zero_infinity)
        ),
    ),
    inputs=4,
    multiple=True,
)
Op("ctc_gradient", _gradient, (_no_second,) * 7)


def _lengths(name: str, value: Any, batch: int, limit: int) -> np.ndarray:
    """Lengths of a batch as an int64 array on the host."""
    given = value.numpy(force=True) if isinstance(value, Tensor) else np.asarray(value)
    if given.dtype.kind not in "iu" and given.size:
        raise RuntimeError(f"{name} must be integral, got {given.dtype}")
    given = given.reshape(-1).astype(np.int64)
    if len(given) != batch:
        raise RuntimeError(f"{name} must be of size batch_size: got {len(given)} lengths for a batch of {batch}")
    if (given < 0).any():
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {given.min()}")
    if (given > limit).any():
        raise RuntimeError(f"Expected {name} to have value at most {limit}, but got value {given.max()}")
    return given


def _padded(targets: np.ndarray, lengths: np.ndarray, fill: int) -> np.ndarray:
    """Labels as ``(batch, longest)``, whether they came padded or concatenated; ``fill`` where there are none."""
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    out = np.full(inside.shape, fill, np.int64)
    out[inside] = targets if targets.ndim == 1 else targets[:, : inside.shape[1]][inside]
    return out


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log-likelihood of label sequences under all their alignments to longer sequences of predictions.

    Args:
        log_probs: logarithms of softmax outputs, ``(steps, batch, classes)`` or ``(steps, classes)``.
        targets: labels, padded ``(batch, longest)`` or all in one row ``(sum of target_lengths,)``.
        input_lengths: steps of each sequence, ``(batch,)``; a tensor or integers.
        target_lengths: labels of each sequence, ``(batch,)``.
        blank: the class that stands for no label.
        reduction: ``"mean"`` divides each loss by its number of labels and averages over the batch.
        zero_infinity: count sequences that cannot be aligned, for want of steps, as zero, and with no gradient.

    Raises:
        RuntimeError: for lengths that do not fit, or a blank or labels outside the classes.

    Source: Graves et al. (2006), "Connectionist temporal classification", equations 5 to 16.
    """
    check_reduction(reduction)
    if not log_probs.is_floating_point() or log_probs.ndim not in (2, 3):
        raise RuntimeError(
            f"ctc_loss: log_probs must be floating-point (steps, batch, classes) or (steps, classes), got "
            f"{log_probs.dtype!r} of shape {list(log_probs.shape)}"
        )
    if targets._array.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss: targets must be integral, got {targets.dtype!r}")
    batched = log_probs.ndim == 3
    rows = log_probs if batched else log_probs.unsqueeze(1)
    steps, batch, classes = rows.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: got {blank} for {classes} classes")
    labels = targets.numpy(force=True)
    if labels.ndim == 2 and labels.shape[0] != batch:
        raise RuntimeError(f"Expected tensor to have size {batch} at dimension 0, but got targets {list(labels.shape)}")
    counts = _lengths("target_lengths", target_lengths, batch, labels.shape[-1] if labels.ndim else 0)
    ends = _lengths("input_lengths", input_lengths, batch, steps)
    if labels.ndim == 1 and counts.sum() != len(labels):
        raise RuntimeError(
            f"ctc_loss: {len(labels)} concatenated targets for target_lengths that sum to {counts.sum()}"
        )
    padded = _padded(labels, counts, blank)
    if ((padded < 0) | (padded >= classes)).any():
        raise RuntimeError(f"ctc_loss: targets must lie in [0, {classes}), got {padded.min()} to {padded.max()}")
    states = np.full((batch, 2 * padded.shape[1] + 1), blank, np.int64)
    states[:, 1::2] = padded
    fixed = [wrap(move(a, device_of(log_probs._array))) for a in (states, ends, counts)]
    losses, _ = apply(_ctc_loss, (rows, *fixed), (blank, zero_infinity))
    if zero_infinity:
        losses = where(wrap(module_of(losses._array).isposinf(losses._array)), 0.0, losses)
    if reduction == "mean":
        return (losses / fixed[2].clamp(min=1)).mean()
    return losses.sum() if reduction == "sum" else losses if batched else losses.reshape(())
