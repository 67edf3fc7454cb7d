"""Normalisation of each sample: to zero mean and unit variance over some dimensions, then a learned scale and shift."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.creation import empty, ones
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.layer import FunctionLayer
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class Affine(Module):
    """A scale and a shift of one shape, each of which may be absent."""

    def register_affine(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, present in (("weight", weight), ("bias", bias)):
            parameter = Parameter(empty(*shape, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, parameter)

    def reset_parameters(self) -> None:
        """Scale by one and shift by zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(Affine):
    """Zero mean and unit variance over the last dimensions of every sample (Ba et al., 2016).

    Args:
        normalized_shape: extents of these dimensions; a number for the last one alone.
        eps: added to the variance.
        elementwise_affine: whether to learn a scale and a shift for each element.
        bias: whether that includes the shift.

    Shape:
        ``(*, *normalized_shape)`` to the same.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Affine):
    """Zero mean and unit variance over each group of channels of every sample (Wu and He, 2018).

    Args:
        num_groups: groups, of equally many channels.
        num_channels: channels.
        eps: added to the variance.
        affine: whether to learn a scale and a shift for each channel.
        bias: whether ``affine`` includes a shift.

    Shape:
        ``(batch, channels, *)`` to the same.

    Raises:
        ValueError: the channels do not divide into the groups.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_affine((num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Division by the root mean square of the last dimensions (Zhang and Sennrich, 2019).

    Args:
        normalized_shape: extents of these dimensions; a number for the last one alone.
        eps: added to the mean square; the dtype's resolution when not given.
        elementwise_affine: whether to learn a scale for each element.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(ones(*self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def reset_parameters(self) -> None:
        """Scale by one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(FunctionLayer):
    """Division by ``(k + alpha * mean of squares over neighbouring channels) ** beta`` (Krizhevsky et al., 2012).

    Args:
        size: how many neighbouring channels are averaged.
    """

    function = staticmethod(F.local_response_norm)

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
