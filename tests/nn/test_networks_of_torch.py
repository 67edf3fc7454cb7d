"""Whole networks of the kinds that agents and GANs use, trained in both libraries from the same start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")


def discriminator(nn: Any) -> Any:
    """DCGAN's (Radford et al., 2016), at 16 x 16."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0),
        nn.Flatten(),
    )


def generator(nn: Any) -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (6, 1, 1)),
        nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False),
        nn.BatchNorm2d(8, momentum=None),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 4, 4, 2, 1),
        nn.InstanceNorm2d(4, affine=True),
        nn.PReLU(4),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.ReflectionPad2d(1),
        nn.Conv2d(4, 3, 3),
        nn.Tanh(),
    )


def pixels(nn: Any) -> Any:
    """The convolutions of Mnih et al. (2015), smaller."""
    return nn.Sequential(
        nn.Conv2d(2, 4, 5, stride=2),
        nn.SiLU(),
        nn.Conv2d(4, 6, 3, padding="same", padding_mode="circular"),
        nn.GroupNorm(2, 6),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d((2, 1)),
        nn.Flatten(),
        nn.LayerNorm(12),
        nn.Linear(12, 3),
    )


def words(nn: Any) -> Any:
    return nn.Sequential(
        nn.Embedding(11, 6, padding_idx=0),
        nn.RMSNorm(6),
        nn.Conv1d(5, 4, 3, padding=1, groups=1),
        nn.GLU(),
        nn.AvgPool1d(2, ceil_mode=True),
        nn.Flatten(),
        nn.Linear(8, 4),
        nn.Mish(),
    )


def blocks(nn: Any) -> Any:
    """Pixel shuffles, grouped and dilated convolutions, and pools that are put back."""
    return nn.Sequential(
        nn.PixelUnshuffle(2),
        nn.Conv2d(8, 8, 3, dilation=2, padding=2, groups=4),
        nn.ChannelShuffle(4),
        nn.LocalResponseNorm(3, alpha=0.1),
        nn.Hardswish(),
        nn.PixelShuffle(2),
        nn.BatchNorm2d(2, track_running_stats=False),
        nn.LPPool2d(2, 2),
        nn.Softmax2d(),
    )


NETWORKS: dict[str, tuple[Callable[[Any], Any], Callable[[np.random.Generator], np.ndarray]]] = {
    "discriminator": (discriminator, lambda rng: rng.standard_normal((4, 3, 16, 16))),
    "generator": (generator, lambda rng: rng.standard_normal((4, 6))),
    "pixels": (pixels, lambda rng: rng.standard_normal((3, 2, 15, 13))),
    "words": (words, lambda rng: rng.integers(0, 11, (4, 5))),
    "blocks": (blocks, lambda rng: rng.standard_normal((2, 2, 8, 8))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_training_follows_torchs_step_by_step(name):
    build, draw = NETWORKS[name]
    torch.manual_seed(0)
    start = {key: value.double().numpy().copy() for key, value in build(torch.nn).state_dict().items()}
    losses: list[list[float]] = []
    finals: list[dict[str, np.ndarray]] = []
    for library in (rlgrad, torch):
        network = build(library.nn).double()
        network.load_state_dict({key: library.from_numpy(np.array(value)) for key, value in start.items()})
        optimizer = library.optim.Adam(network.parameters(), lr=1e-2)
        rng = np.random.default_rng(1)
        losses.append([])
        for _ in range(5):
            out = network(library.from_numpy(draw(rng)))
            target = library.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
            loss = library.nn.functional.mse_loss(out, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
        network.eval()
        seen = network(library.from_numpy(draw(rng))).detach().numpy()
        finals.append({"output": seen} | {key: value.numpy() for key, value in network.state_dict().items()})
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-8)
    assert list(finals[0]) == list(finals[1])
    for key in finals[0]:
        np.testing.assert_allclose(finals[0][key], finals[1][key], rtol=1e-6, atol=1e-8, err_msg=key)
