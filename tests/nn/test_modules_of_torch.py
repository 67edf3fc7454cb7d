"""Losses, recurrent layers, attention and lazy layers on PyTorch's own module samples."""

import pytest

from . import torch_modules

pytest.importorskip("torch")

LOSSES = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
]
RECURRENT = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]
ATTENTION = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
LAZY = [f"Lazy{kind}{rank}d" for kind in ("Conv", "ConvTranspose") for rank in (1, 2, 3)]
EVERY = {"LinearCrossEntropyLoss": 20, "CrossEntropyLoss": 2}
"""Which of the many samples are taken."""
REFUSING = ["CrossEntropyLoss", "LinearCrossEntropyLoss", "HuberLoss", "MultiMarginLoss", "NLLLoss", *RECURRENT]


@pytest.mark.parametrize("name", LOSSES + RECURRENT + ATTENTION + LAZY)
def test_values_and_gradients_are_torchs(name):
    for sample in torch_modules.samples(name)[:: EVERY.get(name, 3 if name in ATTENTION else 1)]:
        torch_modules.check(name, sample)


@pytest.mark.parametrize("name", REFUSING)
def test_what_torch_refuses_is_refused(name):
    torch_modules.check_errors(name)
