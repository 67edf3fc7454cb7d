"""PyTorch's names for the files in which modules are defined, such as ``nn.modules.module`` and ``nn.modules.loss``."""

from rlgrad.nn import (
    activation,
    batchnorm,
    conv,
    distance,
    dropout,
    lazy,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    sparse,
    transformer,
)
from rlgrad.nn import containers as container
from rlgrad.nn import recurrent as rnn
from rlgrad.nn import upsampling as pixelshuffle
from rlgrad.nn.module import Module

__all__ = [
    "Module",
    "activation",
    "batchnorm",
    "container",
    "conv",
    "distance",
    "dropout",
    "lazy",
    "linear",
    "loss",
    "module",
    "normalization",
    "padding",
    "pixelshuffle",
    "pooling",
    "rnn",
    "sparse",
    "transformer",
]
