"""Pooling layers: the largest element, the mean or a norm of each window."""

from __future__ import annotations

from typing import Any, ClassVar

from rlgrad.autograd.ops.convolution import extents
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn.layer import FunctionLayer

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPool(FunctionLayer):
    hidden = ("return_indices",)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )


class MaxPool1d(_MaxPool):
    """Largest element of each window of ``(batch, channels, length)``.

    Args:
        kernel_size: extent of a window.
        stride: from one window to the next; ``kernel_size`` when not given.
        padding: elements of minus infinity added at both ends.
        dilation: distance of the elements of a window.
        return_indices: return also where each maximum was.
        ceil_mode: let windows reach over the far end.
    """

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Largest element of each window of ``(batch, channels, height, width)``; arguments as for :class:`MaxPool1d`."""

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """Largest element of each window of ``(batch, channels, depth, height, width)``."""

    function = staticmethod(F.max_pool3d)


class _MaxUnpool(FunctionLayer):
    rank: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(
            kernel_size=extents(kernel_size, self.rank, "kernel_size"),
            stride=extents(kernel_size if stride is None else stride, self.rank, "stride"),
            padding=extents(padding, self.rank, "padding"),
        )

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:  # type: ignore[override]
        return self.function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """Maxima of :class:`MaxPool1d` put back where they were, between zeros."""

    rank, function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Maxima of :class:`MaxPool2d` put back where they were, between zeros.

    Example:
        >>> import rlgrad
        >>> pool = rlgrad.nn.MaxPool2d(2, return_indices=True)
        >>> values, indices = pool(rlgrad.arange(16.0).reshape(1, 4, 4))
        >>> rlgrad.nn.MaxUnpool2d(2)(values, indices)[0, 1]
        tensor([0., 5., 0., 7.])
    """

    rank, function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Maxima of :class:`MaxPool3d` put back where they were, between zeros."""

    rank, function = 3, staticmethod(F.max_unpool3d)


class AvgPool1d(FunctionLayer):
    """Mean of each window of ``(batch, channels, length)``.

    Args:
        kernel_size: extent of a window.
        stride: from one window to the next; ``kernel_size`` when not given.
        padding: zeros added at both ends.
        ceil_mode: let windows reach over the far end.
        count_include_pad: whether the zeros of the padding count as elements.
    """

    function, hidden = staticmethod(F.avg_pool1d), ("ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(
            kernel_size=extents(kernel_size, 1, "kernel_size"),
            stride=extents(kernel_size if stride is None else stride, 1, "stride"),
            padding=extents(padding, 1, "padding"),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )


class _AvgPool(FunctionLayer):
    hidden = ("ceil_mode", "count_include_pad", "divisor_override")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )


class AvgPool2d(_AvgPool):
    """Mean of each window of ``(batch, channels, height, width)``.

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: as for :class:`AvgPool1d`, or one for each
            dimension.
        divisor_override: divide the sum by this instead of by the number of elements.
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Mean of each window of ``(batch, channels, depth, height, width)``; arguments as for :class:`AvgPool2d`."""

    function = staticmethod(F.avg_pool3d)


class _LPPool(FunctionLayer):
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPool):
    """The ``norm_type``-norm of each window of ``(batch, channels, length)``."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The ``norm_type``-norm of each window of ``(batch, channels, height, width)``."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The ``norm_type``-norm of each window of ``(batch, channels, depth, height, width)``."""

    function = staticmethod(F.lp_pool3d)


class _FractionalMaxPool(FunctionLayer):
    rank: ClassVar[int]
    hidden = ("kernel_size", "output_size", "output_ratio", "return_indices")

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None:
            output_ratio = output_ratio if isinstance(output_ratio, tuple) else (output_ratio,) * self.rank
            if not all(0 < ratio < 1 for ratio in output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        super().__init__(
            kernel_size=extents(kernel_size, self.rank, "kernel_size"),
            output_size=output_size if output_size is None else extents(output_size, self.rank, "output_size"),
            output_ratio=output_ratio,
            return_indices=return_indices,
        )
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        return self.function(input, **self._arguments(), _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at pseudorandom places of ``(batch, channels, height, width)`` (Graham, 2014).

    Args:
        kernel_size: extents of a window.
        output_size: how many windows there are in each dimension; or
        output_ratio: the same as a share of the input's extents, between 0 and 1.
        return_indices: return also where each maximum was.
    """

    rank, function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows at pseudorandom places of volumes; arguments as for :class:`FractionalMaxPool2d`."""

    rank, function = 3, staticmethod(F.fractional_max_pool3d)


class _AdaptiveAvgPool(FunctionLayer):
    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows that cover ``(batch, channels, length)``."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows that cover ``(batch, channels, height, width)``; ``None`` keeps an extent."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows that cover ``(batch, channels, depth, height, width)``."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPool(FunctionLayer):
    hidden = ("return_indices",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows that cover ``(batch, channels, length)``."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows that cover ``(batch, channels, height, width)``; ``None`` keeps an extent."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows that cover ``(batch, channels, depth, height, width)``."""

    function = staticmethod(F.adaptive_max_pool3d)
