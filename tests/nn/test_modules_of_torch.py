"""Losses, recurrent layers, attention and lazy layers on PyTorch's own module samples."""

import pytest

from . import torch_modules

pytest.importorskip("torch")

LOSSES = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]
RECURRENT = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]


@pytest.mark.parametrize("name", RECURRENT)
def test_values_and_gradients_are_torchs(name):
    for training in (True, False):
        for sample in torch_modules.samples(name, training):
            torch_modules.check(name, sample, training)
