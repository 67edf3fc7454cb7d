"""Adversarial losses on logits, chosen by name.

A discriminator here ends in a linear layer: it returns a logit ``a``, and ``sigmoid(a)`` is its probability
that the sample is real. ``-log sigmoid(a)`` is ``softplus(-a)`` and ``-log(1 - sigmoid(a))`` is
``softplus(a)``, which stay exact where a sigmoid followed by a logarithm has already rounded to 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rlgrad import Tensor
from rlgrad.backend.errors import nearest
from rlgrad.nn import functional as F

__all__ = ["LOSSES", "GANLoss", "make_loss", "register_loss"]


@dataclass(frozen=True)
class GANLoss:
    """The two sides of an adversarial game.

    Both sides take ``(real_logits, fake_logits)``, the discriminator's outputs for as many real samples as generated
    ones, and return the scalar that their player minimises.

    Args:
        name: what :func:`make_loss` finds it by.
        discriminator: the discriminator's side.
        generator: the generator's side; it gets ``None`` for ``real_logits`` unless it is relativistic.
        relativistic: the generator's side compares with real samples too.
        critic: the logit is a score that nothing bounds, so that a penalty or clipped weights must keep it smooth.

    Example:
        >>> import rlgrad
        >>> loss = make_loss("non_saturating")
        >>> round(loss.generator(None, rlgrad.zeros(4, 1)).item(), 4)
        0.6931
    """

    name: str
    discriminator: Callable[[Tensor, Tensor], Tensor]
    generator: Callable[[Tensor | None, Tensor], Tensor]
    relativistic: bool = False
    critic: bool = False

    def border(self, real_logits: Tensor, fake_logits: Tensor) -> float:
        """The logit above which a sample counts as taken for real.

        It is 0 where the logit is that of a probability. Scores and relativistic logits tell real from generated only
        beside each other: for these it lies midway between the two means.
        """
        if not (self.critic or self.relativistic):
            return 0.0
        return (real_logits.detach().mean().item() + fake_logits.detach().mean().item()) / 2


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


def _compared(real_logits: Tensor, fake_logits: Tensor, paired: bool = False) -> None:
    real, fake = tuple(real_logits.shape), tuple(fake_logits.shape)
    if real[1:] != fake[1:] or (paired and real != fake):
        may = "must be of one shape, since the loss compares pairs" if paired else "may differ in the batch alone"
        raise ValueError(
            f"real_logits has shape {real} and fake_logits {fake}: they {may}; both must come from the same discriminator"
        )


def _cross_entropy(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``mean(-log sigmoid(real)) + mean(-log(1 - sigmoid(fake)))`` (Goodfellow et al. 2014, equation 1)."""
    _compared(real_logits, fake_logits)
    return F.softplus(-real_logits).mean() + F.softplus(fake_logits).mean()


def _minimax_generator(real_logits: Tensor | None, fake_logits: Tensor) -> Tensor:
    """``mean(log(1 - sigmoid(fake)))`` (same equation), whose gradient vanishes while the discriminator wins."""
    return -F.softplus(fake_logits).mean()


def _non_saturating_generator(real_logits: Tensor | None, fake_logits: Tensor) -> Tensor:
    """``mean(-log sigmoid(fake))``, whose gradient does not (same paper, section 3)."""
    return F.softplus(-fake_logits).mean()


def _least_squares_discriminator(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``1/2 mean((real - 1)^2) + 1/2 mean(fake^2)`` (Mao et al. 2017, equation 9)."""
    _compared(real_logits, fake_logits)
    return 0.5 * ((real_logits - 1).square().mean() + fake_logits.square().mean())


def _least_squares_generator(real_logits: Tensor | None, fake_logits: Tensor) -> Tensor:
    """``1/2 mean((fake - 1)^2)`` (same equation)."""
    return 0.5 * (fake_logits - 1).square().mean()


def _wasserstein_discriminator(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``mean(fake) - mean(real)`` (Arjovsky et al. 2017, equation 2)."""
    _compared(real_logits, fake_logits)
    return fake_logits.mean() - real_logits.mean()


def _wasserstein_generator(real_logits: Tensor | None, fake_logits: Tensor) -> Tensor:
    """``-mean(fake)`` (same equation)."""
    return -fake_logits.mean()


def _hinge_discriminator(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``mean(max(0, 1 - real)) + mean(max(0, 1 + fake))`` (Lim and Ye 2017; Miyato et al. 2018, equation 16)."""
    _compared(real_logits, fake_logits)
    return F.relu(1 - real_logits).mean() + F.relu(1 + fake_logits).mean()


def _relativistic_discriminator(real_logits: Tensor, fake_logits: Tensor) -> Tensor:
    """``mean(softplus(fake - real))`` over pairs (Jolicoeur-Martineau 2019; Huang et al. 2024, equation 2)."""
    _compared(real_logits, fake_logits, paired=True)
    return F.softplus(fake_logits - real_logits).mean()


def _relativistic_generator(real_logits: Tensor | None, fake_logits: Tensor) -> Tensor:
    """``mean(softplus(real - fake))`` over pairs (same equation)."""
    if real_logits is None:
        raise ValueError("the relativistic loss compares generated samples with real ones: pass real_logits too")
    _compared(real_logits, fake_logits, paired=True)
    return F.softplus(real_logits - fake_logits).mean()


for _loss in (
    GANLoss("minimax", _cross_entropy, _minimax_generator),
    GANLoss("non_saturating", _cross_entropy, _non_saturating_generator),
    GANLoss("least_squares", _least_squares_discriminator, _least_squares_generator),
    GANLoss("wasserstein", _wasserstein_discriminator, _wasserstein_generator, critic=True),
    GANLoss("hinge", _hinge_discriminator, _wasserstein_generator),
    GANLoss("relativistic", _relativistic_discriminator, _relativistic_generator, relativistic=True),
):
    register_loss(_loss)
