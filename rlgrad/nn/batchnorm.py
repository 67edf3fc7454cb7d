"""Normalisation of channels by statistics of the batch or of each sample, which may be tracked for evaluation."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from rlgrad.autograd.ops.creation import ones, tensor, zeros
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import int64
from rlgrad.nn import functional as F
from rlgrad.nn.normalization import Affine

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _ChannelNorm(Affine):
    """What batch and instance normalisation share: statistics of each channel, perhaps tracked.

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: share of the newest statistics in the running ones; ``None`` for their plain mean.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether to keep running statistics for evaluation.
        bias: whether ``affine`` includes a shift.
    """

    dims: ClassVar[tuple[int, int]]
    """Numbers of dimensions that an input may have."""
    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_affine((num_features,), affine, affine and bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was tracked."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget what was tracked and learned."""
        self.reset_running_stats()
        super().reset_parameters()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take a state without the count of batches too, as its first version was and as other programs write it."""
        key = prefix + "num_batches_tracked"
        if local_metadata.get("version", 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _check_input_dim(self, input: Tensor) -> None:
        low, high = self.dims
        if not low <= input.ndim <= high:
            wanted = f"{low}D" if low == high else f"{low}D or {high}D"
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = self.momentum or 0.0
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked)
        mean, variance = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and variance is None)
        if self.training and not self.track_running_stats:
            mean = variance = None
        return F.batch_norm(input, mean, variance, self.weight, self.bias, by_batch, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Zero mean and unit variance of every channel over the batch (Ioffe and Szegedy, 2015).

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: share of the newest statistics in the running ones; ``None`` for their plain mean.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether evaluation uses running statistics instead of those of its batch.
        bias: whether ``affine`` includes a shift.

    Shape:
        ``(batch, channels)`` or ``(batch, channels, length)`` to the same.

    Example:
        >>> import rlgrad
        >>> norm = rlgrad.nn.BatchNorm1d(2, affine=False)
        >>> norm(rlgrad.tensor([[1.0, 0.0], [3.0, 4.0]])).round(decimals=3)
        tensor([[-1., -1.],
                [ 1.,  1.]])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """:class:`BatchNorm1d` for ``(batch, channels, height, width)``."""

    dims = (4, 4)


class BatchNorm3d(_BatchNorm):
    """:class:`BatchNorm1d` for ``(batch, channels, depth, height, width)``."""

    dims = (5, 5)


class _InstanceNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.ndim == self.dims[1]
        channels = input.shape[1 if batched else 0]
        if channels != self.num_features:
            text = f"expected input's size at dim={int(batched)} to match num_features ({self.num_features}), got {channels}"
            if self.affine:
                raise ValueError(text)
            warnings.warn(f"{text}; num_features is not used because affine=False", stacklevel=2)
        result = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum or 0.0,
            self.eps,
        )
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Zero mean and unit variance of every channel of every sample (Ulyanov et al., 2016).

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: share of the newest statistics in the running ones.
        affine: whether to learn a scale and a shift for each channel.
        track_running_stats: whether evaluation uses running statistics instead of those of each sample.
        bias: whether ``affine`` includes a shift.

    Shape:
        ``(batch, channels, length)``, or without the batch, to the same.
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` for ``(batch, channels, height, width)``, or without the batch."""

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """:class:`InstanceNorm1d` for ``(batch, channels, depth, height, width)``, or without the batch."""

    dims = (4, 5)
