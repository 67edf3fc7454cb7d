"""The check that stops a run at the first value that is no longer a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class NonFiniteError(FloatingPointError):
    """A loss, gradient or parameter became NaN or infinite.

    Attributes:
        step: the step at which it was seen.
        loss: name of the first loss that is not finite, or ``None``.
        parameter: name of the first parameter whose value or gradient is not finite, or ``None``.
    """

    def __init__(self, message: str, step: int, loss: str | None, parameter: str | None) -> None:
        super().__init__(message)
        self.step = step
        self.loss = loss
        self.parameter = parameter


def check_finite(step: int, losses: Mapping[str, Any], named_parameters: Iterable[tuple[str, Any]]) -> None:
    """Raise unless every loss and every gradient is finite; call it between ``backward()`` and the
    optimizer's step.

    Called there, the parameters still hold their last good values when it raises. With the gradient's norm
    among the losses as ``"grad_norm"`` (``clip_grad_norm_`` returns it) the gradients themselves need no
    second look.

    Args:
        step: the environment step or iteration, for the message.
        losses: name to scalar, a float or a one-element tensor.
        named_parameters: ``(name, parameter)`` pairs, as ``Module.named_parameters()`` gives them. An
            iterator is fine: it is walked once.

    Raises:
        NonFiniteError: names the step, the loss, and the first parameter whose value or gradient is not
            finite.

    Example:
        >>> check_finite(3, {"policy": 0.5}, [])
    """
    values = {name: float(loss) for name, loss in losses.items()}
    suspicious = not all(map(math.isfinite, values.values()))
    if not suspicious and "grad_norm" in values:
        return
    pairs = list(named_parameters)
    if not suspicious and all(_gradient_is_finite(parameter) for _, parameter in pairs):
        return
    loss = next((name for name, value in values.items() if not math.isfinite(value)), None)
    parameter, what = _first_bad(pairs)
    seen = []
    if loss is not None:
        seen.append(f"the loss '{loss}' is {values[loss]}")
    if parameter is not None:
        seen.append(f"the {what} of parameter '{parameter}' is not finite")
    raise NonFiniteError(
        f"Training stopped at step {step}: {' and '.join(seen)}. "
        "Try a lower learning rate, or clip the gradient's norm lower.",
        step,
        loss,
        parameter,
    )


def _gradient_is_finite(parameter: Any) -> bool:
    gradient = parameter.grad
    return gradient is None or bool(np.isfinite(_array(gradient)).all())


def _first_bad(pairs: list[tuple[str, Any]]) -> tuple[str | None, str]:
    for name, parameter in pairs:
        if not np.isfinite(_array(parameter)).all():
            return name, "value"
        if not _gradient_is_finite(parameter):
            return name, "gradient"
    return None, ""


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cpu().numpy())
