"""Functions of features: scaled to a norm, damped by their neighbours, multiplied in pairs."""

from __future__ import annotations

from rlgrad.autograd.ops.average_pooling import avg_pool2d
from rlgrad.autograd.ops.einsum import einsum
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.ops.spatial import pad
from rlgrad.autograd.tensor import Tensor

__all__ = ["bilinear", "local_response_norm", "normalize", "pdist"]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input`` divided by its norm along ``dim``, which is bounded below by ``eps``."""
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps)
    return result if out is None else write_out(out, result)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The ``p``-norm distances of every pair of rows of ``input (rows, features)``, as ``(rows * (rows - 1) / 2,)``.

    Raises:
        RuntimeError: ``input`` is no matrix of floating point numbers, or ``p`` is negative.
    """
    from rlgrad.autograd.ops import distances  # imported on first use: few programs ask for it

    return distances.pdist(input, p)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Division by ``(k + alpha * mean of squares over neighbouring channels) ** beta`` (Krizhevsky et al., 2012).

    Args:
        input: ``(batch, channels, *)`` with at least one spatial dimension.
        size: how many neighbouring channels are averaged.

    Raises:
        ValueError: ``input`` has fewer than three dimensions.
    """
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    squares = (input * input).reshape(input.shape[0], 1, input.shape[1], -1)
    mean = avg_pool2d(pad(squares, (0, 0, size // 2, (size - 1) // 2)), (size, 1), 1).reshape(input.shape)
    return input / (mean * alpha + k) ** beta


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y_k = x1^T A_k x2 + b_k``.

    Args:
        input1: ``(*, in1_features)``.
        input2: ``(*, in2_features)``.
        weight: ``(out_features, in1_features, in2_features)``.
        bias: ``(out_features,)``.
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and {list(input2.shape[:-1])}"
        )
    for position, given in ((1, input1), (2, input2)):
        if given.shape[-1] != weight.shape[position]:
            raise RuntimeError(
                f"bilinear(): input{position} size does not match weight size: got {given.shape[-1]} but expected "
                f"{weight.shape[position]}"
            )
    result = einsum("...i,kij,...j->...k", input1, weight, input2)
    if bias is None:
        return result
    if tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(f"bilinear(): bias size {list(bias.shape)} does not match the {weight.shape[0]} features")
    return result + bias
