"""Families of networks: multilayer perceptrons, DCGAN's convolutions, SNGAN's residual blocks.

Each family has two functions: from the length of the latent to a generator's body, and from the shape of a sample to a
discriminator's body with the width of its output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from rlgrad import Tensor, nn
from rlgrad.gan.config import GANConfig
from rlgrad.gan.layers import MinibatchStdDev
from rlgrad.nn import functional as F
from rlgrad.nn.utils.parametrizations import spectral_norm

__all__ = ["BODIES", "halvings"]

Shape = Sequence[int]


def halvings(size: int) -> tuple[int, int]:
    """The smallest side, 4 to 7, and how often it is doubled to make images of ``size``.

    Raises:
        ValueError: no such side does.
    """
    side, times = size, 0
    while side > 7 and side % 2 == 0:
        side, times = side // 2, times + 1
    if not 4 <= side <= 7 or times == 0:
        near = min((low * 2**k for low in (4, 5, 6, 7) for k in range(1, 8)), key=lambda n: abs(n - size))
        raise ValueError(
            f"images of {size}x{size} cannot be made: the side must be 4, 5, 6 or 7 doubled once or more; the nearest is "
            f"{near}. net=mlp takes any size"
        )
    return side, times


def _image(shape: Shape) -> tuple[int, int, int, int]:
    """Channels, smallest side, doublings and features of one channel of square images."""
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(f"this family makes square images, and samples have the shape {tuple(shape)}: set net=mlp")
    side, times = halvings(shape[1])
    return shape[0], side, times, side * side


def _norm_of(config: GANConfig) -> Callable[[Any], Any]:
    return spectral_norm if config.discriminator_norm == "spectral" else lambda module: module


def _perceptron(sizes: Shape, activation: Callable[[], nn.Module], norm: Callable[[Any], Any]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [norm(nn.Linear(inputs, outputs)), activation()]
    return layers


def _leaky() -> nn.Module:
    return nn.LeakyReLU(0.2)


def _mlp_generator(latent: int, shape: Shape, config: GANConfig) -> nn.Module:
    features = 1
    for extent in shape:
        features *= extent
    layers = _perceptron([latent, *config.hidden_sizes, features], nn.ReLU, lambda module: module)[:-1]
    return nn.Sequential(*layers, *([nn.Tanh(), nn.Unflatten(1, tuple(shape))] if len(shape) == 3 else []))


def _mlp_discriminator(shape: Shape, config: GANConfig) -> tuple[nn.Module, int]:
    features = 1
    for extent in shape:
        features *= extent
    first: list[nn.Module] = [nn.Flatten()] if len(shape) == 3 else []
    if config.minibatch_std:
        first.append(MinibatchStdDev())
        features += 1
    sizes = [features, *config.hidden_sizes]
    layers = _perceptron(sizes, _leaky, _norm_of(config))
    if config.discriminator_norm == "batch":
        for index in range(
            len(config.hidden_sizes) - 1, 0, -1
        ):  # all but the first, which sees the samples as they are
            layers.insert(2 * index + 1, nn.BatchNorm1d(config.hidden_sizes[index]))
    return nn.Sequential(*first, *layers), sizes[-1]


def _dcgan_generator(latent: int, shape: Shape, config: GANConfig) -> nn.Module:
    """Transposed convolutions of stride 2 with batch normalisation (Radford et al. 2016)."""
    channels, side, times, _ = _image(shape)
    widths = [config.channels * 2**k for k in reversed(range(times))]
    layers: list[nn.Module] = [
        nn.Linear(latent, widths[0] * side * side, bias=False),
        nn.Unflatten(1, (widths[0], side, side)),
        nn.BatchNorm2d(widths[0]),
        nn.ReLU(),
    ]
    for inputs, outputs in pairwise(widths):
        layers += [
            nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
    return _as_dcgan(
        nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], channels, 4, stride=2, padding=1), nn.Tanh())
    )


def _dcgan_discriminator(shape: Shape, config: GANConfig) -> tuple[nn.Module, int]:
    """Convolutions of stride 2 (same paper)."""
    channels, _, times, places = _image(shape)
    widths = [channels, *(config.channels * 2**k for k in range(times))]
    norm = _norm_of(config)
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        layers.append(norm(nn.Conv2d(inputs, outputs, 4, stride=2, padding=1)))
        if config.discriminator_norm == "batch" and index:
            layers.append(nn.BatchNorm2d(outputs))
        layers.append(_leaky())
    if config.minibatch_std:
        layers.append(MinibatchStdDev())
    width = widths[-1] + config.minibatch_std
    return _as_dcgan(nn.Sequential(*layers, nn.Flatten())), width * places


def _as_dcgan(network: nn.Module) -> nn.Module:
    """Weights N(0, 0.02), scales of batch normalisation N(1, 0.02), as in the paper."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)
        elif isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.normal_(module.weight, 0.0, 0.02)
    return network


class _Residual(nn.Module):
    """Two 3x3 convolutions beside a shortcut, twice or half the size; the first sees an image as it is."""

    def __init__(
        self, inputs: int, outputs: int, up: bool, batch_norm: bool, norm: Callable[[Any], Any], on_image: bool = False
    ) -> None:
        super().__init__()
        self.up = up
        activation = nn.Sequential(*([nn.BatchNorm2d(inputs)] if batch_norm else []), nn.ReLU())
        self.before = nn.Identity() if on_image else activation
        self.first = norm(nn.Conv2d(inputs, outputs, 3, padding=1))
        self.between = nn.Sequential(*([nn.BatchNorm2d(outputs)] if batch_norm else []), nn.ReLU())
        self.second = norm(nn.Conv2d(outputs, outputs, 3, padding=1))
        self.shortcut = norm(nn.Conv2d(inputs, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        if self.up:
            grown = F.interpolate(self.before(x), scale_factor=2)
            return self.second(self.between(self.first(grown))) + F.interpolate(self.shortcut(x), scale_factor=2)
        inner = self.second(self.between(self.first(self.before(x))))
        return F.avg_pool2d(inner, 2) + F.avg_pool2d(self.shortcut(x), 2)


def _resnet_generator(latent: int, shape: Shape, config: GANConfig) -> nn.Module:
    """Residual blocks that double the size (Gulrajani et al. 2017; Miyato et al. 2018, appendix)."""
    channels, side, times, _ = _image(shape)
    width = config.channels
    blocks = [_Residual(width, width, True, True, lambda module: module) for _ in range(times)]
    return nn.Sequential(
        nn.Linear(latent, width * side * side),
        nn.Unflatten(1, (width, side, side)),
        *blocks,
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, channels, 3, padding=1),
        nn.Tanh(),
    )


def _resnet_discriminator(shape: Shape, config: GANConfig) -> tuple[nn.Module, int]:
    """Residual blocks that halve the size, then the sum over places (same papers)."""
    channels, _, times, _ = _image(shape)
    width, norm = config.channels, _norm_of(config)
    blocks = [
        _Residual(width if k else channels, width, False, config.discriminator_norm == "batch", norm, on_image=k == 0)
        for k in range(times)
    ]
    extra: list[nn.Module] = [MinibatchStdDev()] if config.minibatch_std else []
    return nn.Sequential(*blocks, nn.ReLU(), *extra, _Sum()), width + config.minibatch_std


class _Sum(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sum((2, 3))


BODIES: dict[str, tuple[Callable[..., nn.Module], Callable[..., tuple[nn.Module, int]]]] = {
    "mlp": (_mlp_generator, _mlp_discriminator),
    "dcgan": (_dcgan_generator, _dcgan_discriminator),
    "resnet": (_resnet_generator, _resnet_discriminator),
}
