"""Learning rates of the two optimizers over a run."""

from __future__ import annotations

from rlgrad import optim
from rlgrad.gan.config import GANConfig

__all__ = ["correct_lazy_betas", "learning_rate_at", "set_learning_rates"]


def learning_rate_at(config: GANConfig, iteration: int) -> float:
    """The generator's learning rate of an iteration, counted from 0."""
    if config.learning_rate_decay == "none":
        return config.learning_rate
    return config.learning_rate * (1 - iteration / config.iterations)


def set_learning_rates(
    generator: optim.Optimizer, discriminator: optim.Optimizer, learning_rate: float, penalty_every: int
) -> None:
    """Give both optimizers their learning rate, the discriminator's corrected for lazy penalties."""
    for optimizer, share in ((generator, 1.0), (discriminator, _correction(penalty_every))):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * share


def correct_lazy_betas(discriminator: optim.Optimizer, penalty_every: int) -> None:
    """Shorten the memory of the discriminator's optimizer for lazy penalties: betas to the power of the correction."""
    for group in discriminator.param_groups:
        if "betas" in group:
            group["betas"] = tuple(beta ** _correction(penalty_every) for beta in group["betas"])


def _correction(every: int) -> float:
    """What is penalised only every k steps takes k/(k+1) of the steps of an optimizer that sees each penalty apart.

    Karras et al. 2020, appendix B.
    """
    return every / (every + 1) if every > 1 else 1.0
