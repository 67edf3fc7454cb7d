"""What discriminators and generators have beyond ordinary layers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import rlgrad
from rlgrad import Tensor, nn

__all__ = ["MinibatchDiscrimination", "MinibatchStdDev", "frozen", "pack"]


class MinibatchStdDev(nn.Module):
    """Adds one channel (or feature) that tells how much the samples of a group differ (Karras et al. 2018, section 3).

    Args:
        group_size: samples that are compared; a batch that it does not divide is one group.

    Shapes:
        (batch, channels, ...) to (batch, channels + 1, ...).
    """

    def __init__(self, group_size: int = 4) -> None:
        super().__init__()
        self.group_size = group_size

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        group = self.group_size if n % self.group_size == 0 else n
        grouped = x.reshape(n // group, group, *x.shape[1:])
        spread = (grouped.var(dim=1, correction=0) + 1e-8).sqrt().flatten(1).mean(1)
        column = spread.repeat_interleave(group).reshape(n, *[1] * (x.ndim - 1))
        return rlgrad.cat([x, column.expand(n, 1, *x.shape[2:])], dim=1)


class MinibatchDiscrimination(nn.Module):
    """Adds features that tell how close each sample is to the others (Salimans et al. 2016, section 3.2).

    Args:
        in_features: length of the input.
        out_features: similarities that are added.
        kernel_dims: length of the vectors whose L1 distances are compared.

    Shapes:
        (batch, in_features) to (batch, in_features + out_features).
    """

    def __init__(self, in_features: int, out_features: int = 16, kernel_dims: int = 4) -> None:
        super().__init__()
        self.kernel = nn.Parameter(0.1 * rlgrad.randn(in_features, out_features * kernel_dims))
        self.out_features, self.kernel_dims = out_features, kernel_dims

    def forward(self, x: Tensor) -> Tensor:
        rows = (x @ self.kernel).reshape(-1, self.out_features, self.kernel_dims)
        distances = (rows.unsqueeze(0) - rows.unsqueeze(1)).abs().sum(-1)
        closeness = (-distances).exp().sum(0) - 1  # without the sample itself
        return rlgrad.cat([x, closeness], dim=1)


def pack(samples: Tensor, size: int) -> Tensor:
    """``size`` samples at a time as one, side by side in the channels (PacGAN, Lin et al. 2018).

    Args:
        samples: (batch, channels, ...).
        size: divides the batch.

    Returns:
        (batch / size, size * channels, ...).

    Raises:
        ValueError: ``size`` does not divide the batch.
    """
    n, channels = samples.shape[:2]
    if n % size:
        raise ValueError(f"pack={size} does not divide the batch of {n} samples")
    return samples.reshape(n // size, size * channels, *samples.shape[2:])


@contextlib.contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Compute no gradient for the module's parameters inside the block; gradients still flow through it to
    its input.

    Args:
        module: its trainable parameters are trainable again when the block ends.
    """
    trainable = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)
