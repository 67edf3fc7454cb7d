"""Augmentation that both real and generated images go through before the discriminator sees them.

The generator's gradient flows back through it, so that it learns images, not augmented ones (Zhao et al. 2020). With a
target it is adaptive: each image is left as it is with a probability that follows how sure the discriminator is of the
real images (Karras et al. 2020b, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.nn import functional as F

__all__ = ["AUGMENTATIONS", "Augmentation"]

_SHIFT, _HOLE = 0.125, 0.5
"""How far images are moved, and how wide the hole in them is, in shares of their side (Zhao et al. 2020)."""


def _color(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Brightness, saturation and contrast."""
    n = x.shape[0]
    brightness, saturation, contrast = (_draw(x, rng.random((n, 1, 1, 1))) for _ in range(3))
    x = x + (brightness - 0.5)
    if x.shape[1] > 1:
        grey = x.mean(1, keepdim=True)
        x = (x - grey) * (saturation * 2) + grey
    middle = x.mean((1, 2, 3), keepdim=True)
    return (x - middle) * (contrast + 0.5) + middle


def _translation(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Moved by up to an eighth of the side; black comes in."""
    n, _, height, width = x.shape
    reach = max(int(width * _SHIFT + 0.5), 1)
    moves = rng.integers(-reach, reach + 1, size=(2, n))
    rows = np.arange(height)[None, :] + moves[0][:, None] + reach
    columns = np.arange(width)[None, :] + moves[1][:, None] + reach
    padded = F.pad(x, (reach, reach, reach, reach), value=-1.0).permute(0, 2, 3, 1)
    batch = np.arange(n)[:, None, None]
    moved = padded[
        tuple(
            rlgrad.from_numpy(np.ascontiguousarray(i)).to(x.device)
            for i in np.broadcast_arrays(batch, rows[:, :, None], columns[:, None, :])
        )
    ]
    return moved.permute(0, 3, 1, 2)


def _cutout(x: Tensor, rng: np.random.Generator) -> Tensor:
    """A square of half the side is made grey."""
    n, _, height, width = x.shape
    half = max(int(width * _HOLE / 2 + 0.5), 1)
    centers = rng.integers(0, (height, width), size=(n, 2))
    across = abs(np.arange(height)[None, :] - centers[:, :1]) < half
    along = abs(np.arange(width)[None, :] - centers[:, 1:]) < half
    return x * _draw(x, ~(across[:, None, :, None] & along[:, None, None, :]))


AUGMENTATIONS: dict[str, Callable[[Tensor, np.random.Generator], Tensor]] = {
    "color": _color,
    "translation": _translation,
    "cutout": _cutout,
}


def _draw(like: Tensor, values: np.ndarray) -> Tensor:
    return rlgrad.from_numpy(values.astype(np.float32)).to(like.device)


class Augmentation:
    """A chain of augmentations with a probability.

    Args:
        names: keys of :data:`AUGMENTATIONS`, applied in order.
        target: share by which the discriminator may be sure of real images, such as 0.6, for the adaptive form, which
            starts at probability 0; 0 augments every image.
        rng: draws what is done to which image.
        samples_to_certain: real images in which the probability may rise from 0 to 1.

    Attributes:
        probability: that an image is augmented.
    """

    def __init__(
        self, names: Sequence[str], target: float, rng: np.random.Generator, samples_to_certain: int = 100_000
    ) -> None:
        self.steps = [AUGMENTATIONS[name] for name in names]
        self.target, self.rng, self.samples_to_certain = target, rng, samples_to_certain
        self.probability = 0.0 if target else 1.0

    def __call__(self, images: Tensor) -> Tensor:
        """Augmented images (n, channels, height, width)."""
        if not self.steps or self.probability == 0.0:
            return images
        augmented = images
        for step in self.steps:
            augmented = step(augmented, self.rng)
        if self.probability == 1.0:
            return augmented
        chosen = _draw(images, self.rng.random((images.shape[0], 1, 1, 1)) < self.probability)
        return augmented * chosen + images * (1 - chosen)

    def adapt(self, real_logits: Tensor, border: float = 0.0) -> None:
        """Move the probability by what the discriminator says of a batch of real images.

        Args:
            real_logits: of the real images.
            border: the logit above which an image counts as taken for real.
        """
        if self.target:
            step = real_logits.shape[0] / self.samples_to_certain
            sure = float((real_logits.detach() - border).sign().mean())
            move = step if sure > self.target else -step
            self.probability = min(max(self.probability + move, 0.0), 1.0)

    def state_dict(self) -> dict[str, Any]:
        """The probability and where the generator stands."""
        return {"probability": self.probability, "rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` gave."""
        self.probability = float(state["probability"])
        self.rng.bit_generator.state = state["rng"]
