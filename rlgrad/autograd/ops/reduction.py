"""How losses are reduced, and how their operands are brought to one shape."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import broadcast_error
from rlgrad.autograd.tensor import Tensor


def reduced_array(losses: Any, reduction: str) -> Any:
    """:func:`reduced` for a raw array."""
    if reduction == "none":
        return losses
    if losses.__class__ is not np.ndarray or losses.dtype.itemsize < 4 or not losses.size:
        return losses.mean() if reduction == "mean" else losses.sum()
    total = np.add.reduce(losses, None)
    return total / losses.dtype.type(losses.size) if reduction == "mean" else total


def weight_of(g: Any, shape: tuple[int, ...], reduction: str, factor: float = 1.0) -> Any:
    """The gradient of a reduced loss with respect to each unreduced one, times a factor."""
    return g * (factor / (math.prod(shape) or 1) if reduction == "mean" else factor)


def check_reduction(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The name of a reduction, perhaps asked for by the arguments from before it, or the error that lists those there are."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction; use 'mean', 'sum' or 'none'")
    return reduction


def reduced(losses: Tensor, reduction: str, size_average: Any = None, reduce: Any = None) -> Tensor:
    """The mean of losses, their sum, or each of them, as ``reduction`` says."""
    reduction = check_reduction(reduction, size_average, reduce)
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def broadcast_target(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Expand a loss's operands to one shape, with PyTorch's warning that this is seldom meant."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    try:
        shape = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
    except ValueError:
        raise broadcast_error("loss", (tuple(input.shape), tuple(target.shape))) from None
    return input.expand(shape), target.expand(shape)
