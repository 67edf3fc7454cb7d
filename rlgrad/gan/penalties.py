"""Penalties on the discriminator's gradient with respect to its input, which keep it smooth.

Each is a scalar to add to the discriminator's loss before the one backward and the one step of that loss. The inner
gradient is taken with ``create_graph=True``, so that the penalty can itself be differentiated with respect to the
discriminator's parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import rlgrad
from rlgrad import Tensor

if TYPE_CHECKING:
    from rlgrad.gan.config import GANConfig

__all__ = ["Penalties", "dragan_penalty", "gradient_penalty", "zero_centred_penalty"]


def zero_centred_penalty(logits: Tensor, samples: Tensor, gamma: float) -> Tensor:
    """``gamma / 2 * mean over the batch of |d logit / d sample|^2`` (Mescheder et al. 2018, equation 9).

    With real samples it is R1, with generated ones R2.

    Args:
        logits: (batch, 1), computed from ``samples``; or (batch / k, 1) where k samples are judged together, as one.
        samples: (batch, ...), requires grad.
        gamma: weight of the penalty.

    Raises:
        ValueError: ``samples`` does not require grad.
    """
    if not samples.requires_grad:
        raise ValueError(
            "the penalty differentiates with respect to samples, which do not require grad; "
            "call samples.requires_grad_() before passing them to the discriminator"
        )
    (gradient,) = rlgrad.autograd.grad(logits.sum(), samples, create_graph=True)
    return (gradient * gradient).sum() * (gamma / 2 / logits.shape[0])


def gradient_penalty(
    discriminator: Callable[[Tensor], Tensor],
    real: Tensor,
    fake: Tensor,
    weight: float,
    rng: np.random.Generator,
    target: float = 1.0,
) -> Tensor:
    """``weight * mean((|d logit / d x| - target)^2)`` at points between real and generated samples (Gulrajani et al.
    2017).

    Each pair has a point of its own, uniform on the line between the two, and a gradient norm of its own.

    Args:
        discriminator: from (batch, ...) to (batch, 1); or to (batch / k, 1), and then each k samples have one norm.
        real: (batch, ...).
        fake: of the same shape; no gradient flows to either.
        weight: lambda of the paper.
        rng: draws the points.
        target: the norm that is asked for.

    Raises:
        ValueError: the shapes differ.
    """
    if real.shape != fake.shape:
        raise ValueError(f"real has shape {tuple(real.shape)} and fake {tuple(fake.shape)}; they are paired off")
    alpha = _uniform(rng, real)
    between = (real.detach() + alpha * (fake.detach() - real.detach())).requires_grad_()
    return _slope_penalty(discriminator, between, weight, target)


def dragan_penalty(
    discriminator: Callable[[Tensor], Tensor], real: Tensor, weight: float, rng: np.random.Generator
) -> Tensor:
    """``weight * mean((|d logit / d x| - 1)^2)`` around the real samples (Kodali et al. 2017).

    Args:
        discriminator: from (batch, ...) to (batch, 1).
        real: (batch, ...); each sample is moved by up to half the batch's standard deviation in every coordinate.
        weight: lambda of the paper.
        rng: draws the points.
    """
    spread = 0.5 * float(real.detach().std(correction=0))
    noise = rlgrad.from_numpy(rng.random(tuple(real.shape), np.float32)).to(real.device)
    return _slope_penalty(discriminator, (real.detach() + spread * noise).requires_grad_(), weight, 1.0)


def _uniform(rng: np.random.Generator, like: Tensor) -> Tensor:
    shape = (like.shape[0], *[1] * (like.ndim - 1))
    return rlgrad.from_numpy(rng.random(shape, np.float32)).to(like.device)


def _slope_penalty(discriminator: Callable[[Tensor], Tensor], points: Tensor, weight: float, target: float) -> Tensor:
    logits = discriminator(points)
    (gradient,) = rlgrad.autograd.grad(logits.sum(), points, create_graph=True)
    # Samples that are judged together follow one another, and have one norm. The small number keeps the root's slope
    # finite where the discriminator is flat.
    norm = (gradient.reshape(logits.shape[0], -1).square().sum(1) + 1e-12).sqrt()
    return (norm - target).square().mean() * weight


class Penalties:
    """The penalties that the settings ask for, in the discriminator steps in which they are due.

    Args:
        config: its weights and ``penalty_every``.
        rng: draws the points of those penalties that are taken beside the samples.
    """

    def __init__(self, config: GANConfig, rng: np.random.Generator) -> None:
        self.config, self.rng = config, rng
        self.factor = 1

    def weigh(self, step: int) -> None:
        """Set the penalties' common factor for this step: they come every k steps with k times the weight."""
        every = self.config.penalty_every
        self.factor = 0 if step % every else every

    def watched(self, real: Tensor, fake: Tensor) -> tuple[Tensor, Tensor]:
        """The samples, which require grad if a penalty that is due differentiates with respect to them."""
        real.requires_grad_(self.factor * self.config.r1_gamma > 0)
        fake.requires_grad_(self.factor * self.config.r2_gamma > 0)
        return real, fake

    def __call__(
        self,
        discriminator: Callable[[Tensor], Tensor],
        real: Tensor,
        real_logits: Tensor,
        fake: Tensor,
        fake_logits: Tensor,
    ) -> dict[str, Tensor]:
        """The penalties that are due by name, to be added to the loss.

        Args:
            discriminator: gives the logits of other samples.
            real, fake: from :meth:`watched`.
            real_logits, fake_logits: of those samples.
        """
        config, due = self.config, {}
        if weight := self.factor * config.r1_gamma:
            due["r1_penalty"] = zero_centred_penalty(real_logits, real, weight)
        if weight := self.factor * config.r2_gamma:
            due["r2_penalty"] = zero_centred_penalty(fake_logits, fake, weight)
        if weight := self.factor * config.gradient_penalty:
            due["gradient_penalty"] = gradient_penalty(discriminator, real, fake, weight, self.rng)
        if weight := self.factor * config.dragan_penalty:
            due["dragan_penalty"] = dragan_penalty(discriminator, real, weight, self.rng)
        return due
