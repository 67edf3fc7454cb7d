"""The two players: a body of one of the families below, between a latent and a sample, or a sample and a logit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.gan.bodies import BODIES
from rlgrad.gan.config import GANConfig
from rlgrad.gan.layers import MinibatchDiscrimination, pack
from rlgrad.gan.sources import Source
from rlgrad.nn.utils.parametrizations import spectral_norm

__all__ = ["Discriminator", "Generator", "class_labels", "generate", "make_networks"]

_AT_A_TIME = 512


class Generator(nn.Module):
    """``(latent, label) -> sample``: the label joins the latent as an embedding of its length.

    Args:
        body: from (batch, latent_dim), or twice that where it is conditional, to samples.
        latent_dim: length of the latent.
        num_classes: 0 for samples without labels.
    """

    def __init__(self, body: nn.Module, latent_dim: int, num_classes: int = 0) -> None:
        super().__init__()
        self.body, self.num_classes = body, num_classes
        if num_classes:
            self.embedding = nn.Embedding(num_classes, latent_dim)

    def forward(self, latent: Tensor, labels: Tensor | None = None) -> Tensor:
        """Samples for latents (batch, latent_dim), and labels (batch,) where it is conditional."""
        if self.num_classes:
            latent = rlgrad.cat([latent, self.embedding(_labelled(labels))], dim=1)
        return self.body(latent)


class Discriminator(nn.Module):
    """``(sample, label) -> logit``; it ends in the logit, without a sigmoid.

    Args:
        body: from samples, or packs of them, to (batch, features).
        features: width of the body's output.
        num_classes: 0 for samples without labels.
        conditional: how a label is judged: ``"projection"`` adds its inner product with the features to the logit
            (Miyato and Koyama 2018), ``"auxiliary"`` asks for the label too (AC-GAN, Odena et al. 2017).
        minibatch: add similarities within the batch to the features (:class:`MinibatchDiscrimination`).
        spectral: normalise the head's weight too.
        packed: samples that are judged together.
    """

    def __init__(
        self,
        body: nn.Module,
        features: int,
        num_classes: int = 0,
        conditional: str = "projection",
        minibatch: bool = False,
        spectral: bool = False,
        packed: int = 1,
    ) -> None:
        super().__init__()
        self.body, self.packed, self.conditional = body, packed, conditional if num_classes else "none"
        self.minibatch = MinibatchDiscrimination(features) if minibatch else nn.Identity()
        features += self.minibatch.out_features if minibatch else 0
        normalised = spectral_norm if spectral else _unchanged
        self.head = normalised(nn.Linear(features, 1))
        if self.conditional == "projection":
            embedding = nn.Embedding(num_classes, features)
            # Rows of length 1: longer ones would drown what the head says of the sample itself.
            nn.init.normal_(embedding.weight, 0.0, features**-0.5)
            self.embedding = normalised(embedding)
        elif self.conditional == "auxiliary":
            self.classifier = normalised(nn.Linear(features, num_classes))

    def forward(self, sample: Tensor, labels: Tensor | None = None) -> Tensor:
        """Logits (batch / packed, 1) for samples of shape (batch, ...), with labels (batch,) where it is conditional."""
        return self.judge(sample, labels)[0]

    def judge(self, sample: Tensor, labels: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The logits, and the logits of the classes (batch, num_classes) if it is an auxiliary classifier."""
        features = self.body(sample if self.packed == 1 else pack(sample, self.packed))
        features = self.minibatch(features)
        logits = self.head(features)
        if self.conditional == "projection":
            logits = logits + (self.embedding(_labelled(labels)) * features).sum(1, keepdim=True)
        return logits, self.classifier(features) if self.conditional == "auxiliary" else None


def _labelled(labels: Tensor | None) -> Tensor:
    if labels is None:
        raise ValueError("this network is conditional: it needs labels")
    return labels


def _unchanged(module: nn.Module) -> nn.Module:
    return module


def make_networks(config: GANConfig, source: Source) -> tuple[Generator, Discriminator]:
    """The two players that the settings describe, for samples of a source.

    Raises:
        ValueError: the family cannot make samples of that shape, labels are asked for and there are none, or what are no
            images shall be augmented.
    """
    conditional = config.conditional != "none"
    if conditional and not source.num_classes:
        raise ValueError(
            f"conditional={config.conditional!r} needs labels, and this data has none: set conditional=none"
        )
    classes = source.num_classes if conditional else 0
    if config.augment and len(source.shape) != 3:
        raise ValueError(f"augment={list(config.augment)} is for images; samples have the shape {source.shape}")
    build_generator, build_discriminator = BODIES[config.net]
    latent = config.latent_dim + (config.latent_dim if classes else 0)
    channels, *rest = source.shape
    body, features = build_discriminator((channels * config.pack, *rest), config)
    return (
        Generator(build_generator(latent, source.shape, config), config.latent_dim, classes),
        Discriminator(
            body,
            features,
            classes,
            config.conditional,
            config.minibatch_discrimination,
            config.discriminator_norm == "spectral",
            config.pack,
        ),
    )


def class_labels(n: int, labels: ArrayLike | None, num_classes: int) -> np.ndarray | None:
    """(n,) int64 labels: those given, or each class in turn; ``None`` without classes.

    Raises:
        ValueError: another number of labels, one that is no class, or any where there are no classes.
    """
    if num_classes == 0:
        if labels is not None:
            raise ValueError("labels are for conditional generators, and this one was trained without")
        return None
    found = np.arange(n) % num_classes if labels is None else np.asarray(labels)
    if found.shape != (n,) or found.dtype.kind not in "iu" or not ((found >= 0) & (found < num_classes)).all():
        raise ValueError(f"labels must be {n} whole numbers from 0 to {num_classes - 1}; got {found!r}")
    return found.astype(np.int64)


def generate(
    generator: nn.Module, latent: np.ndarray, labels: np.ndarray | None, device: rlgrad.device | str = "cpu"
) -> np.ndarray:
    """Samples for latents (n, latent_dim), each independent of the others: batch normalisation uses running statistics.

    Args:
        generator: left in the mode in which it was.
        latent: float32.
        labels: (n,), for a conditional generator.
        device: where the generator is.
    """
    was_training = generator.training
    generator.eval()
    parts = []
    try:
        with rlgrad.no_grad():
            for start in range(0, len(latent), _AT_A_TIME):
                rows = slice(start, start + _AT_A_TIME)
                given = [latent[rows]] if labels is None else [latent[rows], labels[rows]]
                parts.append(generator(*[rlgrad.from_numpy(a).to(device) for a in given]).cpu().numpy())
    finally:
        generator.train(was_training)
    return np.concatenate(parts)
