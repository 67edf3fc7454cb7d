"""Layers that change the resolution or arrangement of images."""

from __future__ import annotations

from typing import Any

from rlgrad.nn import functional as F
from rlgrad.nn.layer import FunctionLayer

__all__ = [
    "ChannelShuffle",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Upsample(FunctionLayer):
    """Resample ``(batch, channels, *spatial)`` to ``size``, or by ``scale_factor``.

    Args:
        size: spatial extents of the result.
        scale_factor: factor of the extents, one for all or one for each.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.
        align_corners: let the corner elements of both grids coincide.
        recompute_scale_factor: derive the factor from the rounded extents.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Upsample(scale_factor=2)(rlgrad.ones(1, 1, 2, 3)).shape
        torch.Size([1, 1, 4, 6])
    """

    function = staticmethod(F.interpolate)

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        if isinstance(scale_factor, tuple):
            scale_factor = tuple([float(factor) for factor in scale_factor])
        elif scale_factor:
            scale_factor = float(scale_factor)
        super().__init__(
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        extent = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{extent}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Repeat the pixels of ``(batch, channels, height, width)``.

    Args:
        size: height and width of the result, or
        scale_factor: their factor.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Interpolate linearly between the pixels of ``(batch, channels, height, width)``, with aligned corners.

    Args:
        size: height and width of the result, or
        scale_factor: their factor.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(FunctionLayer):
    """``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)`` (Shi et al., 2016)."""

    function = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class PixelUnshuffle(FunctionLayer):
    """``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``, the inverse of :class:`PixelShuffle`."""

    function = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)


class ChannelShuffle(FunctionLayer):
    """Interleave the channels of ``groups`` groups (Zhang et al., 2018)."""

    function = staticmethod(F.channel_shuffle)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)


class Unfold(FunctionLayer):
    """Every window of an image as a column: ``(batch, channels * window elements, windows)``.

    Args:
        kernel_size, dilation, padding, stride: of the windows, one number or two.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.Unfold(2)(rlgrad.ones(1, 3, 4, 5)).shape
        torch.Size([1, 12, 12])
    """

    function = staticmethod(F.unfold)

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(FunctionLayer):
    """Sums of the columns that :class:`Unfold` makes, back in images of ``output_size``.

    Args:
        output_size: height and width of the images.
        kernel_size, dilation, padding, stride: of the windows, one number or two.

    Shape:
        ``(batch, channels * window elements, windows)`` to ``(batch, channels, *output_size)``.
    """

    function = staticmethod(F.fold)

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )
