"""Layers that mix features."""

from __future__ import annotations

import math
from typing import Any

from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.ops.linear import linear
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["Bilinear", "Flatten", "Identity", "Linear", "Unflatten"]


class Identity(Module):
    """The input as it is; arguments are accepted and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``y = x W^T + b``.

    Args:
        in_features: extent of the input's last dimension.
        out_features: extent of the output's.
        bias: whether to add ``b``.

    Shape:
        ``(..., in_features)`` to ``(..., out_features)``.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Linear(3, 2)(rlgrad.ones(5, 3)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly within ``1 / sqrt(in_features)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        parameters = self._parameters
        try:
            weight, bias = parameters["weight"], parameters["bias"]
        except KeyError:  # one of them is parametrized
            weight, bias = self.weight, self.bias
        return linear(input, weight, bias)  # type: ignore[arg-type]

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``y_k = x1^T A_k x2 + b_k``.

    Args:
        in1_features, in2_features: extents of the inputs' last dimensions.
        out_features: extent of the output's.
        bias: whether to add ``b``.

    Shape:
        ``(*, in1_features)`` and ``(*, in2_features)`` to ``(*, out_features)``.

    Raises:
        ValueError: ``in1_features`` is not positive.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly within ``1 / sqrt(in1_features)``."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Module):
    """Merge the dimensions from ``start_dim`` to ``end_dim``.

    Args:
        start_dim, end_dim: the first and the last of them; the batch stays as it is unless asked otherwise.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Flatten()(rlgrad.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: extents of those in its place; one may be -1.

    Raises:
        TypeError: ``unflattened_size`` is no tuple or list of integers.
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple or list, but found {type(unflattened_size).__name__}")
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be a tuple of ints, but found element of type {type(size).__name__} at pos "
                    f"{position}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
