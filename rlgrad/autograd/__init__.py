"""The tape: tensors, the graph they record, and the backward walk through it.

Example:
    >>> import rlgrad
    >>> x = rlgrad.tensor(2.0, requires_grad=True)
    >>> rlgrad.autograd.grad(x**3, x)
    (tensor(12.),)
"""

import warnings
from typing import Any

from rlgrad.autograd import function, functional, graph, ops
from rlgrad.autograd import modes as grad_mode
from rlgrad.autograd.differentiate import backward, grad
from rlgrad.autograd.drawing import add_graph, visualize
from rlgrad.autograd.function import Function
from rlgrad.autograd.gradcheck import gradcheck, gradgradcheck
from rlgrad.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from rlgrad.autograd.tensor import Tensor

__all__ = [
    "Function",
    "Variable",
    "add_graph",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "no_grad",
    "ops",
    "set_detect_anomaly",
    "set_grad_enabled",
    "visualize",
]


def Variable(data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Tensor:
    """A tensor that may require grad, as programs written before PyTorch 0.4 make it.

    Args:
        data: the values; the result shares their memory.
        requires_grad: collect gradients.
        volatile: deprecated; ``True`` meant what :class:`no_grad` does, and here makes the tensor a constant.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
    if volatile is not None:
        warnings.warn(
            "volatile was removed in PyTorch 0.4: compute inside `with no_grad():` instead",
            DeprecationWarning,
            stacklevel=2,
        )
        requires_grad = requires_grad and not volatile
    return data.detach().requires_grad_(requires_grad)
