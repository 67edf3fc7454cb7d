"""Generative adversarial networks: losses, networks, mixtures with known modes, coverage, one trainer."""

from rlgrad.gan.config import GANConfig
from rlgrad.gan.data import DATA, GaussianMixture, grid, make_data, ring
from rlgrad.gan.losses import LOSSES, GANLoss, make_loss, r1_penalty, register_loss
from rlgrad.gan.metrics import ModeCoverage, mode_coverage
from rlgrad.gan.networks import MLPDiscriminator, MLPGenerator, frozen
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
    "frozen",
    "grid",
    "make_data",
    "make_loss",
    "mode_coverage",
    "r1_penalty",
    "register_loss",
    "ring",
    "scatter",
]
