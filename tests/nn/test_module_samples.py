"""Layers without recurrence or attention, on PyTorch's own module samples and on cases that those leave out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rlgrad import nn

from . import torch_modules

torch = pytest.importorskip("torch")

NAMES = [
    name
    for name in torch_modules.INFOS
    if name
    in {*nn.activation.__all__, *nn.conv.__all__, *nn.linear.__all__, *nn.normalization.__all__, *nn.batchnorm.__all__}
    or name in {*nn.padding.__all__, *nn.pooling.__all__, *nn.sparse.__all__}
]
REFUSING = [name for name in NAMES if torch_modules.INFOS[name].module_error_inputs_func is not None]


def test_every_such_module_of_torch_is_there():
    elsewhere = ("Loss", "Lazy", "Transformer", "MultiheadAttention", "RNN", "GRU", "LSTM")
    assert [n for n in torch_modules.INFOS if not any(word in n for word in elsewhere) and n not in NAMES] == []
    assert len(NAMES) == 77


@pytest.mark.parametrize("name", NAMES)
def test_values_gradients_state_and_repr_are_torchs(name):
    for training in (True, False):
        samples = torch_modules.samples(name, training)
        for sample in samples[:: max(len(samples) // 6, 1)]:
            torch_modules.check(name, sample, training)


@pytest.mark.parametrize("name", REFUSING)
def test_what_torch_refuses_is_refused(name):
    torch_modules.check_errors(name)


def x(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def ints(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, high, shape)


def case(name: str, *args: Any, given: Any = (), **kwargs: Any) -> tuple[str, Any, Any, Any]:
    return name, args, kwargs, given


UNPOOLED = np.array([[[[0, 2], [8, 10]], [[5, 7], [13, 15]]]])
OFFSETS = np.array([0, 2, 2, 5])
OWN = [
    case("Bilinear", 2, 3, 4, bias=False, given=[x(5, 2), x(5, 3)]),
    case("BatchNorm1d", 3, momentum=None, given=[x(4, 3)]),
    case("BatchNorm2d", 3, track_running_stats=False, bias=False, given=[x(2, 3, 2, 2)]),
    case("ChannelShuffle", 3, given=[x(2, 6, 2, 2)]),
    case("CosineSimilarity", given=[x(3, 4), x(3, 4, seed=1)]),
    case("CosineSimilarity", dim=0, eps=0.01, given=[x(3, 4), x(3, 4, seed=1)]),
    case("EmbeddingBag", 5, 3, given=[ints(5, 4, 2)]),
    case("EmbeddingBag", 5, 3, mode="max", given=[ints(5, 6), OFFSETS]),
    case("EmbeddingBag", 5, 3, mode="sum", max_norm=1.0, norm_type=1.0, given=[ints(5, 6), OFFSETS, x(6)]),
    case("EmbeddingBag", 5, 3, padding_idx=-2, given=[ints(5, 6), OFFSETS]),
    case("EmbeddingBag", 5, 3, include_last_offset=True, mode="sum", given=[ints(5, 5), OFFSETS]),
    case("Embedding", 5, 3, 1, 1.0, 3.0, True, given=[ints(5, 4, 2)]),
    case("Embedding", 5, 3, -1, given=[ints(5, 7)]),
    case("Flatten", given=[x(2, 3, 4)]),
    case("Flatten", 0, 1, given=[x(2, 3, 4)]),
    case("Fold", (4, 5), (2, 3), padding=(0, 1), stride=(2, 1), given=[x(2, 12, 10)]),
    case("Hardsigmoid", given=[x(3, 4) * 4]),
    case("Identity", 3, word=None, given=[x(2)]),
    case("InstanceNorm2d", 3, track_running_stats=True, given=[x(2, 3, 2, 2)]),
    case("MaxPool1d", 2, return_indices=True, given=[x(2, 3, 8)]),
    case("MaxPool2d", 3, 2, 1, 1, True, True, given=[x(2, 3, 6, 7)]),
    case("MaxUnpool1d", 2, 2, given=[x(1, 2, 2), np.array([[[0, 3], [1, 2]]])]),
    case("MaxUnpool2d", 2, given=[x(1, 2, 2, 2), UNPOOLED]),
    case("MaxUnpool2d", 2, given=[x(1, 2, 2, 2), UNPOOLED, (5, 4)]),
    case("PairwiseDistance", given=[x(3, 4), x(3, 4, seed=1)]),
    case("PairwiseDistance", 1.0, 1e-3, True, given=[x(3, 4), x(4)]),
    case("PixelShuffle", 2, given=[x(2, 8, 3, 2)]),
    case("PixelUnshuffle", 2, given=[x(2, 2, 4, 6)]),
    case("Unflatten", 1, (2, -1), given=[x(3, 4)]),
    case("Unfold", (2, 3), 1, (1, 0), 2, given=[x(2, 3, 5, 6)]),
    case("Upsample", scale_factor=2.5, given=[x(1, 2, 3, 4)]),
    case("Upsample", (3, 7), mode="bilinear", align_corners=True, given=[x(1, 2, 4, 4)]),
    case("Upsample", None, (2, 3), "bicubic", given=[x(1, 2, 4, 4)]),
    case("Upsample", 4, mode="trilinear", given=[x(1, 1, 2, 3, 2)]),
    case("Upsample", scale_factor=1.7, mode="linear", recompute_scale_factor=True, given=[x(1, 2, 5)]),
    case("UpsamplingBilinear2d", scale_factor=2, given=[x(1, 2, 3, 4)]),
    case("UpsamplingNearest2d", (5, 3), given=[x(1, 2, 3, 4)]),
    *[
        case(f"Conv{n}d", 2, 4, 3, 2, 1, 1, 2, padding_mode=mode, given=[x(2, 2, *[6, 5, 4][:n])])
        for n in (1, 2, 3)
        for mode in ("reflect", "replicate", "circular")
    ],
    case("Conv2d", 2, 3, (2, 4), padding="same", dilation=(1, 2), padding_mode="reflect", given=[x(1, 2, 6, 9)]),
    case("Conv2d", 2, 3, 3, padding="valid", padding_mode="circular", bias=False, given=[x(2, 6, 5)]),
    *[case(f"ConvTranspose{n}d", 2, 4, 3, 2, 1, 1, 2, True, 2, given=[x(2, 2, *[4, 3, 2][:n])]) for n in (1, 2, 3)],
    case("ConvTranspose2d", 2, 3, 3, 2, given=[x(1, 2, 3, 4), (8, 9)]),
    case("ConvTranspose2d", 2, 3, 3, 2, given=[x(1, 2, 3, 4), (1, 3, 7, 10)]),
]
IN_EVALUATION_ALONE = [
    case("Dropout", 0.3, given=[x(2, 3)]),
    case("Dropout1d", 0.3, given=[x(2, 3, 4)]),
    case("Dropout2d", 0.3, given=[x(2, 3, 4, 4)]),
    case("Dropout3d", 0.3, given=[x(2, 3, 4, 4, 4)]),
    case("AlphaDropout", 0.3, given=[x(2, 3)]),
    case("FeatureAlphaDropout", 0.3, True, given=[x(2, 3)]),
    case("RReLU", 0.2, 0.4, given=[x(2, 3)]),
]


def compare(name: str, args: Any, kwargs: Any, given: Any, training: bool) -> None:
    def leaf(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return torch.from_numpy(value.copy()).requires_grad_(value.dtype.kind == "f")

    forward = SimpleNamespace(args=tuple(leaf(value) for value in given), kwargs={})
    constructor = SimpleNamespace(args=args, kwargs=kwargs)
    torch_modules.check(name, SimpleNamespace(constructor_input=constructor, forward_input=forward), training)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("number", range(len(OWN)))
def test_cases_beyond_those_samples_are_torchs(number, training):
    name, args, kwargs, given = OWN[number]
    compare(name, args, kwargs, given, training)


@pytest.mark.parametrize("number", range(len(IN_EVALUATION_ALONE)))
def test_random_layers_are_torchs_in_evaluation(number):
    name, args, kwargs, given = IN_EVALUATION_ALONE[number]
    compare(name, args, kwargs, given, training=False)


@pytest.mark.parametrize(
    "text",
    [
        "Hardswish(True)",
        "Hardsigmoid(inplace=True)",
        "Hardtanh(-2, 2, True)",
        "ReLU6(True)",
        "RReLU(inplace=True)",
        "SELU(True)",
        "Mish(True)",
        "SiLU(True)",
        "Threshold(0.1, 20, True)",
        "CELU(0.5, True)",
        "LeakyReLU(0.2, True)",
        "ELU(0.2, True)",
        "Conv2d(3, 4, 3, padding='same', padding_mode='circular', bias=False)",
        "ConvTranspose2d(4, 6, (3, 2), 2, 1, 1, groups=2, dilation=(2, 1))",
        "EmbeddingBag(3, 4, 2.0, 3.0, True, 'sum', False)",
        "Embedding(3, 4, 1, 2.0, 3.0, True, True)",
        "FractionalMaxPool2d(2, 3)",
        "UpsamplingNearest2d(scale_factor=(2, 3))",
        "GroupNorm(2, 4, affine=False)",
        "InstanceNorm1d(3, affine=True, bias=False)",
    ],
)
def test_repr_with_options_is_torchs(text):
    assert repr(eval(f"nn.{text}")) == repr(eval(f"torch.nn.{text}"))
