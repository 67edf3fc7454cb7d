"""Adversarial losses on logits, chosen by name.

A discriminator here ends in a linear layer: it returns a logit ``a``, and ``sigmoid(a)`` is its probability
that the sample is real. ``-log sigmoid(a)`` is ``softplus(-a)`` and ``-log(1 - sigmoid(a))`` is
``softplus(a)``, which stay exact where a sigmoid followed by a logarithm has already rounded to 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import rlgrad
from rlgrad import Tensor
from rlgrad.backend.errors import nearest
from rlgrad.nn import functional as F


@dataclass(frozen=True)
class GANLoss:
    """The two sides of an adversarial game.

    Args:
        name: what :func:`make_loss` finds it by.
        discriminator: ``(real_logits, fake_logits) -> scalar`` that the discriminator minimises.
        generator: ``(fake_logits) -> scalar`` that the generator minimises.

    Example:
        >>> import rlgrad
        >>> loss = make_loss("non_saturating")
        >>> round(loss.generator(rlgrad.zeros(4, 1)).item(), 4)
        0.6931
    """

    name: str
    discriminator: Callable[[Tensor, Tensor], Tensor]
    generator: Callable[[Tensor], Tensor]


LOSSES: dict[str, GANLoss] = {}


def register_loss(loss: GANLoss) -> GANLoss:
    """Make ``loss`` available to :func:`make_loss` and to ``gan.loss=<name>``.

    Raises:
        ValueError: a loss of that name is registered already.
    """
    if loss.name in LOSSES:
        raise ValueError(f"a GAN loss named {loss.name!r} is registered already; choose another name")
    LOSSES[loss.name] = loss
    return loss


def make_loss(name: str) -> GANLoss:
    """The registered loss of that name.

    Raises:
        ValueError: no loss has that name; the message lists those that exist.
    """
    if name not in LOSSES:
        raise ValueError(
            f"unknown GAN loss {name!r}; known losses: {', '.join(sorted(LOSSES))}.{nearest(name, LOSSES)}"
        )
    return LOSSES[name]


def non_saturating_discriminator(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``mean(-log sigmoid(real)) + mean(-log(1 - sigmoid(fake)))`` (Goodfellow et al. 2014, equation 1).

    Args:
        real_logits: discriminator's output for real samples, any shape.
        fake_logits: discriminator's output for generated samples, of the same shape but for the batch.

    Raises:
        ValueError: the shapes differ beyond the batch.
    """
    if real_logits.shape[1:] != fake_logits.shape[1:]:
        raise ValueError(
            f"real_logits has shape {tuple(real_logits.shape)} and fake_logits {tuple(fake_logits.shape)}: "
            "they may differ in the first (batch) dimension only; both must come from the same discriminator"
        )
    return F.softplus(-real_logits).mean() + F.softplus(fake_logits).mean()


def non_saturating_generator(fake_logits: Tensor) -> Tensor:
    """``mean(-log sigmoid(fake))``, whose gradient does not vanish while the discriminator wins (same
    paper, section 3).

    Args:
        fake_logits: discriminator's output for generated samples, any shape.
    """
    return F.softplus(-fake_logits).mean()


register_loss(GANLoss("non_saturating", non_saturating_discriminator, non_saturating_generator))


def r1_penalty(real_logits: Tensor, real: Tensor, gamma: float) -> Tensor:
    """``gamma / 2 * mean over the batch of |d logit / d real|^2`` (Mescheder et al. 2018, equation 9).

    The gradient is taken with ``create_graph=True``, so that the penalty can itself be differentiated with
    respect to the discriminator's parameters.

    Args:
        real_logits: (batch, 1), computed from ``real``.
        real: (batch, ...), requires grad.
        gamma: weight of the penalty.

    Raises:
        ValueError: ``real`` does not require grad.
    """
    if not real.requires_grad:
        raise ValueError(
            "r1_penalty differentiates with respect to real, which does not require grad; "
            "call real.requires_grad_() before passing it to the discriminator"
        )
    (gradient,) = rlgrad.autograd.grad(real_logits.sum(), real, create_graph=True)
    return (gradient * gradient).sum() * (gamma / 2 / real.shape[0])
