"""Settings of adversarial training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rlgrad.backend.errors import nearest
from rlgrad.gan.augment import AUGMENTATIONS
from rlgrad.gan.losses import make_loss

_CHOICES = {
    "learning_rate_decay": ("linear", "none"),
    "net": ("mlp", "dcgan", "resnet"),
    "discriminator_norm": ("none", "batch", "spectral"),
    "conditional": ("none", "projection", "auxiliary"),
}
PENALTIES = ("r1_gamma", "r2_gamma", "gradient_penalty", "dragan_penalty")
_COUNTS = (
    *("iterations", "batch_size", "latent_dim", "channels", "pack", "accumulate"),
    *("n_critic", "penalty_every", "log_every", "evaluate_every"),
)
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
        net: family of both networks: ``"mlp"``, ``"dcgan"`` or ``"resnet"``.
        hidden_sizes: widths of the hidden layers of perceptrons.
        channels: of the convolutions beside the image.
        discriminator_norm: ``"none"``, ``"batch"`` or ``"spectral"``.
        conditional: whether and how labels are used: ``"none"``, ``"projection"`` or ``"auxiliary"``.
        minibatch_std: tell the discriminator how much the samples of a group differ.
        minibatch_discrimination: tell it how close each sample is to the others.
        pack: samples that it judges together (PacGAN).
        augment: what images go through before it sees them, of ``"color"``, ``"translation"`` and ``"cutout"``.
        augment_target: above 0, augment no more than keeps the discriminator this sure of real images; 0.6 is usual.
        accumulate: batches whose gradients make one step.
        learning_rate: of both optimizers, at the start.
        learning_rate_decay: ``"linear"`` (to zero at the last iteration) or ``"none"``.
        n_critic: discriminator steps per generator step.
        r1_gamma: weight of the R1 penalty on the discriminator's gradient at real samples (Mescheder et al. 2018),
            which makes training converge where the loss alone may not; 0 leaves it out, as for the other penalties.
        r2_gamma: weight of the same penalty at generated samples, R2.
        gradient_penalty: weight of WGAN-GP's penalty on gradients between real and generated samples whose norm is not
            1.
        dragan_penalty: weight of DRAGAN's penalty on gradients around real samples whose norm is not 1.
        penalty_every: discriminator steps from one with penalties to the next; above 1 they are lazy: applied with so
            many times the weight, and the discriminator's optimizer corrected for it (Karras et al. 2020, appendix B).
        clip_weights: the discriminator's parameters are kept within plus and minus this; 0 leaves them free.
        ema_half_life: generated samples after which a weight of the averaged generator has forgotten half; 0 keeps no
            average. It starts short and grows with the samples seen. Sampling uses the average where there is one.
        log_every: iterations between two logged rows of losses.
        evaluate_every: iterations between two evaluations, pictures and checkpoints.
    """

    loss: str = "relativistic"
    iterations: int = 10_000
    batch_size: int = 256
    latent_dim: int = 2
    net: Literal["mlp", "dcgan", "resnet"] = "mlp"
    hidden_sizes: tuple[int, ...] = (128, 128, 128)
    channels: int = 64
    discriminator_norm: Literal["none", "batch", "spectral"] = "none"
    conditional: Literal["none", "projection", "auxiliary"] = "none"
    minibatch_std: bool = False
    minibatch_discrimination: bool = False
    pack: int = 1
    augment: tuple[str, ...] = ()
    augment_target: float = 0.0
    accumulate: int = 1
    learning_rate: float = 1e-3
    learning_rate_decay: Literal["linear", "none"] = "linear"
    n_critic: int = 1
    r1_gamma: float = 0.1
    r2_gamma: float = 0.1
    gradient_penalty: float = 0.0
    dragan_penalty: float = 0.0
    penalty_every: int = 1
    clip_weights: float = 0.0
    ema_half_life: float = 0.0
    log_every: int = 50
    evaluate_every: int = 1000

    def __post_init__(self) -> None:
        self.hidden_sizes, self.augment = tuple(self.hidden_sizes), tuple(self.augment)
        self._check_values()
        self._check_combinations()

    def _check_values(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1; got {value!r}")
        if not all(isinstance(width, int) and width >= 1 for width in self.hidden_sizes):
            raise ValueError(f"hidden_sizes must be at least 1; got {self.hidden_sizes}")
        if not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be a positive number; got {self.learning_rate!r}")
        for name in (*PENALTIES, "clip_weights", "ema_half_life"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be at least 0 (0 leaves it out); got {value!r}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                given = getattr(self, name)
                raise ValueError(f"{name} must be one of {', '.join(choices)}; got {given!r}.{nearest(given, choices)}")
        for name in self.augment:
            if name not in AUGMENTATIONS:
                known = ", ".join(AUGMENTATIONS)
                raise ValueError(f"augment knows {known}; got {name!r}.{nearest(name, AUGMENTATIONS)}")
        if not 0 <= self.augment_target < 1:
            raise ValueError(f"augment_target must be at least 0 and below 1; got {self.augment_target!r}")

    def _check_combinations(self) -> None:
        penalised = any(getattr(self, name) for name in PENALTIES)
        if make_loss(self.loss).critic and not (self.clip_weights or penalised):
            raise ValueError(
                f"loss={self.loss!r} is unbounded without a limit on the discriminator's slope: set gradient_penalty "
                "(WGAN-GP: 10, or 0.1 for the mixtures), another penalty, or clip_weights (WGAN: 0.01 to 0.1)"
            )
        if self.augment_target and not self.augment:
            raise ValueError(
                f"augment_target={self.augment_target} adapts how often images are augmented, and augment names nothing: "
                f"set augment=[{','.join(AUGMENTATIONS)}], or augment_target=0"
            )
        if self.penalty_every > 1 and not penalised:
            raise ValueError(
                f"penalty_every={self.penalty_every} spaces out penalties, and there are none: set one of "
                f"{', '.join(PENALTIES)}, or penalty_every=1"
            )
        if self.batch_size % self.pack:
            raise ValueError(f"pack={self.pack} must divide batch_size={self.batch_size}")
        if self.discriminator_norm == "batch" and penalised:
            raise ValueError(
                "discriminator_norm='batch' mixes the samples of a batch, so that a penalty on each sample's own gradient "
                "means nothing: use 'spectral' or 'none', or set the penalties to 0"
            )
        if self.conditional != "none" and self.pack > 1:
            raise ValueError(
                f"conditional={self.conditional!r} has one label per sample and does not go with pack={self.pack}"
            )
