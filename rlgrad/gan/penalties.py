"""Penalties on the discriminator's gradient with respect to its input, which keep it smooth.

Each is a scalar to add to the discriminator's loss before the one backward and the one step of that loss. The inner
gradient is taken with ``create_graph=True``, so that the penalty can itself be differentiated with respect to the
discriminator's parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rlgrad
from rlgrad import Tensor

__all__ = ["dragan_penalty", "gradient_penalty", "zero_centred_penalty"]


def zero_centred_penalty(logits: Tensor, samples: Tensor, gamma: float) -> Tensor:
    """``gamma / 2 * mean over the batch of |d logit / d sample|^2`` (Mescheder et al. 2018, equation 9).

    With real samples it is R1, with generated ones R2.

    Args:
        logits: (batch, 1), computed from ``samples``.
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
    return (gradient * gradient).sum() * (gamma / 2 / samples.shape[0])


def gradient_penalty(
    discriminator: Callable[[Tensor], Tensor],
    real: Tensor,
    fake: Tensor,
    weight: float,
    rng: np.random.Generator,
    target: float = 1.0,
) -> Tensor:
    """``weight * mean((|d logit / d x| - target)^2)`` at points between real and generated samples (Gulrajani et al. 2017).

    Each pair has a point of its own, uniform on the line between the two, and a gradient norm of its own.

    Args:
        discriminator: from (batch, ...) to (batch, 1).
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
    (gradient,) = rlgrad.autograd.grad(discriminator(points).sum(), points, create_graph=True)
    # The smallest float beside zero that a root can be differentiated at keeps a flat discriminator's gradient finite.
    norm = (gradient.flatten(1).square().sum(1) + 1e-12).sqrt()
    return (norm - target).square().mean() * weight
