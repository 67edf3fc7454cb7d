"""The two players as multilayer perceptrons."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rlgrad import Tensor, nn


def _check_sizes(**sizes: int | Sequence[int]) -> None:
    for name, value in sizes.items():
        widths = [value] if isinstance(value, int) else list(value)
        if not all(isinstance(width, int) and width >= 1 for width in widths):
            raise ValueError(f"{name} must be at least 1; got {value}")


def _perceptron(sizes: Sequence[int], activation: type[nn.Module], *options: float) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation(*options)]
    return layers[:-1]


class MLPGenerator(nn.Module):
    """``z -> Linear, ReLU, ..., Linear -> sample``.

    Args:
        latent_dim: length of the latent vector.
        out_features: length of a sample.
        hidden_sizes: widths of the hidden layers.

    Shapes:
        (batch, latent_dim) to (batch, out_features).

    Example:
        >>> import rlgrad
        >>> MLPGenerator(2, 2, (16, 16))(rlgrad.zeros(5, 2)).shape
        torch.Size([5, 2])
    """

    def __init__(self, latent_dim: int, out_features: int, hidden_sizes: Sequence[int] = (128, 128, 128)) -> None:
        super().__init__()
        _check_sizes(latent_dim=latent_dim, out_features=out_features, hidden_sizes=hidden_sizes)
        self.layers = nn.Sequential(*_perceptron([latent_dim, *hidden_sizes, out_features], nn.ReLU))

    def forward(self, latent: Tensor) -> Tensor:
        """Samples for latents of shape (batch, latent_dim)."""
        return self.layers(latent)


class MLPDiscriminator(nn.Module):
    """``sample -> Linear, LeakyReLU(0.2), ..., Linear -> logit``; it ends in the logit, without a sigmoid.

    Args:
        in_features: length of a sample.
        hidden_sizes: widths of the hidden layers.

    Shapes:
        (batch, in_features) to (batch, 1).
    """

    def __init__(self, in_features: int, hidden_sizes: Sequence[int] = (128, 128, 128)) -> None:
        super().__init__()
        _check_sizes(in_features=in_features, hidden_sizes=hidden_sizes)
        self.layers = nn.Sequential(*_perceptron([in_features, *hidden_sizes, 1], nn.LeakyReLU, 0.2))

    def forward(self, sample: Tensor) -> Tensor:
        """Logits for samples of shape (batch, in_features)."""
        return self.layers(sample)


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
