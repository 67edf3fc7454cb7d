"""Generative adversarial networks: losses, networks, mixtures with known modes, coverage, one trainer."""

from rlgrad.gan.config import GANConfig
from rlgrad.gan.data import DATA, GaussianMixture, grid, make_data, ring
from rlgrad.gan.losses import LOSSES, GANLoss, make_loss, register_loss
from rlgrad.gan.metrics import ModeCoverage, mode_coverage
from rlgrad.gan.networks import MLPDiscriminator, MLPGenerator, frozen
from rlgrad.gan.penalties import dragan_penalty, gradient_penalty, zero_centred_penalty
from rlgrad.gan.trainer import GANTrainer
from rlgrad.gan.viz import scatter

__all__ = [
    "DATA",
    "LOSSES",
    "GANConfig",
    "GANLoss",
    "GANTrainer",
    "GaussianMixture",
    "MLPDiscriminator",
    "MLPGenerator",
    "ModeCoverage",
    "dragan_penalty",
    "frozen",
    "gradient_penalty",
    "grid",
    "make_data",
    "make_loss",
    "mode_coverage",
    "register_loss",
    "ring",
    "scatter",
    "zero_centred_penalty",
]
