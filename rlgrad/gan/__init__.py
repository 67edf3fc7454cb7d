"""Generative adversarial networks: losses, networks, mixtures with known modes, coverage, one trainer."""

from rlgrad.data.mixtures import GaussianMixture, grid, ring
from rlgrad.gan.batch import Batch
from rlgrad.gan.config import GANConfig
from rlgrad.gan.data import DATA, make_data
from rlgrad.gan.layers import frozen
from rlgrad.gan.losses import LOSSES, GANLoss, make_loss, register_loss
from rlgrad.gan.metrics import ModeCoverage, mode_coverage
from rlgrad.gan.neighbours import neighbourhood_figures, share_of_copies
from rlgrad.gan.networks import Discriminator, Generator, make_networks
from rlgrad.gan.penalties import dragan_penalty, gradient_penalty, zero_centred_penalty
from rlgrad.gan.sources import ArraySource, MixtureSource, Source
from rlgrad.gan.trainer import GANTrainer
from rlgrad.gan.viz import picture_grid, scatter, scatter_points

__all__ = [
    "DATA",
    "LOSSES",
    "ArraySource",
    "Batch",
    "Discriminator",
    "GANConfig",
    "GANLoss",
    "GANTrainer",
    "GaussianMixture",
    "Generator",
    "MixtureSource",
    "ModeCoverage",
    "Source",
    "dragan_penalty",
    "frozen",
    "gradient_penalty",
    "grid",
    "make_data",
    "make_loss",
    "make_networks",
    "mode_coverage",
    "neighbourhood_figures",
    "picture_grid",
    "register_loss",
    "ring",
    "scatter",
    "scatter_points",
    "share_of_copies",
    "zero_centred_penalty",
]
