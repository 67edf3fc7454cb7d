"""Convolutional layers and their transposes in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rlgrad.autograd.ops.convolution import extents
from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions of every rank share, transposed or not."""

    rank: ClassVar[int]
    function: ClassVar[Callable[..., Tensor]]
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        for role, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{role} must be divisible by groups, got {channels} and {groups}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = extents(kernel_size, self.rank, "kernel_size")
        self.stride = extents(stride, self.rank, "stride")
        self.dilation = extents(dilation, self.rank, "dilation")
        self.output_padding = extents(output_padding, self.rank, "output_padding")
        self.padding_mode = padding_mode
        if not isinstance(padding, str):
            padding = extents(padding, self.rank, "padding")
        elif padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string '{padding}', should be one of {{'valid', 'same'}}")
        elif padding == "same" and max(self.stride) > 1:
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (outer, inner // groups, *self.kernel_size)
        self.weight = Parameter(empty(*shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly within one over the root of the elements that a kernel sees."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def _lengthened(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input with borders that are not zeros, and the padding that remains to be done."""
        if self.padding_mode == "zeros":
            return input, self.padding
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(n // 2, n - n // 2) for n in total]
        else:
            pairs = [(0, 0)] * self.rank if self.padding == "valid" else [(n, n) for n in self.padding]
        return F.pad(input, [n for pair in reversed(pairs) for n in pair], self.padding_mode), 0

    def forward(self, input: Tensor) -> Tensor:
        input, padding = self._lengthened(input)
        return self.function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
            f"padding={self.padding}" if self.padding != (0,) * self.rank else "",
            f"dilation={self.dilation}" if max(self.dilation) > 1 else "",
            f"output_padding={self.output_padding}" if any(self.output_padding) else "",
            f"groups={self.groups}" if self.groups > 1 else "",
            "bias=False" if self.bias is None else "",
            f"padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "",
        ]
        return ", ".join(part for part in parts if part)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )


class Conv1d(_Conv):
    """Cross-correlation of sequences with learned kernels.

    Args:
        in_channels, out_channels: channels of the input and of the output.
        kernel_size, stride, dilation: one number.
        padding: elements added at both ends, ``"same"`` (the output is as long as the input) or ``"valid"`` (none).
        groups: input and output channels are split into this many groups that do not see each other.
        bias: whether to add a learned number to every output channel.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        ``(batch, in_channels, length)`` to ``(batch, out_channels, length_out)``, or both without the batch.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Conv1d(3, 8, 5, padding="same")(rlgrad.zeros(2, 3, 16)).shape
        torch.Size([2, 8, 16])
    """

    rank, function = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Cross-correlation of images with learned kernels; arguments as for :class:`Conv1d`, or one number per dimension.

    Shape:
        ``(batch, in_channels, height, width)`` to ``(batch, out_channels, height_out, width_out)``.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Conv2d(4, 32, 8, stride=4)(rlgrad.zeros(1, 4, 84, 84)).shape
        torch.Size([1, 32, 20, 20])
    """

    rank, function = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Cross-correlation of volumes with learned kernels; arguments as for :class:`Conv1d`, or one number per dimension.

    Shape:
        ``(batch, in_channels, depth, height, width)`` to the same with ``out_channels``.
    """

    rank, function = 3, staticmethod(F.conv3d)


class _ConvTranspose(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}, got "{padding_mode}"')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _extra(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """The output padding that gives ``output_size``."""
        wanted = list(output_size)
        if len(wanted) == input.ndim:
            wanted = wanted[-self.rank :]
        if len(wanted) != self.rank:
            raise ValueError(
                f"{type(self).__name__}: for {input.ndim}D input, output_size must have {self.rank} or {input.ndim} elements "
                f"(got {len(wanted)})"
            )
        geometry = zip(
            input.shape[-self.rank :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
        )
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in geometry]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{list(input.shape[2:])})"
            )
        return [n - low for n, low in zip(wanted, least, strict=True)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return self.function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTranspose):
    """The adjoint of :class:`Conv1d`: every element adds a scaled kernel to the output.

    Args:
        in_channels, out_channels: channels of the input and of the output.
        kernel_size, stride, dilation: one number.
        padding: elements taken off both ends of the output.
        output_padding: elements added to its far end.
        groups, bias: as for :class:`Conv1d`.

    ``forward(input, output_size)`` chooses the output padding that gives this length, where several are possible.
    """

    rank, function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The adjoint of :class:`Conv2d`; arguments as for :class:`ConvTranspose1d`, or one number per dimension.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.ConvTranspose2d(64, 3, 4, stride=2, padding=1)(rlgrad.zeros(1, 64, 16, 16)).shape
        torch.Size([1, 3, 32, 32])
    """

    rank, function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The adjoint of :class:`Conv3d`; arguments as for :class:`ConvTranspose1d`, or one number per dimension."""

    rank, function = 3, staticmethod(F.conv_transpose3d)
