"""Settings of adversarial training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rlgrad.backend.errors import nearest
from rlgrad.gan.losses import make_loss

DECAYS = ("linear", "none")
DEFAULT_OPTIMIZER = {"name": "adam", "betas": (0.0, 0.99)}
"""A first moment would average gradients against opponents that are gone (Mescheder et al. 2018 use none)."""


@dataclass
class GANConfig:
    """Settings of adversarial training.

    Args:
        loss: name of a registered loss (:data:`rlgrad.gan.losses.LOSSES`).
        iterations: length of the whole run; one iteration is one discriminator step and one generator step.
        batch_size: real samples, and generated ones, per step.
        latent_dim: length of the generator's standard normal input.
        hidden_sizes: widths of both networks' hidden layers.
        learning_rate: of both optimizers, at the start.
        learning_rate_decay: ``"linear"`` (to zero at the last iteration) or ``"none"``.
        r1_gamma: weight of the R1 penalty on the discriminator's gradient at real samples (Mescheder et al. 2018), which
            makes training converge where the loss alone may not; 0 leaves it out.
        log_every: iterations between two logged rows of losses.
        evaluate_every: iterations between two evaluations, pictures and checkpoints.
    """

    loss: str = "non_saturating"
    iterations: int = 10_000
    batch_size: int = 256
    latent_dim: int = 2
    hidden_sizes: tuple[int, ...] = (128, 128, 128)
    learning_rate: float = 1e-3
    learning_rate_decay: Literal["linear", "none"] = "linear"
    r1_gamma: float = 0.1
    log_every: int = 50
    evaluate_every: int = 1000

    def __post_init__(self) -> None:
        make_loss(self.loss)
        self.hidden_sizes = tuple(self.hidden_sizes)
        for name in ("iterations", "batch_size", "latent_dim", "log_every", "evaluate_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1; got {value!r}")
        if not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be a positive number; got {self.learning_rate!r}")
        if not 0 <= self.r1_gamma < float("inf"):
            raise ValueError(f"r1_gamma must be at least 0 (0 leaves the penalty out); got {self.r1_gamma!r}")
        if self.learning_rate_decay not in DECAYS:
            raise ValueError(
                f"learning_rate_decay must be one of {', '.join(DECAYS)}; got {self.learning_rate_decay!r}."
                f"{nearest(self.learning_rate_decay, DECAYS)}"
            )
