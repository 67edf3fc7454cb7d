"""On a GPU layers and losses compute what they compute on the CPU, gradients included."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn

pytestmark = pytest.mark.gpu

LAYERS = {
    "Linear": (lambda: nn.Linear(5, 4), (3, 5)),
    "Bilinear": (lambda: nn.Bilinear(5, 4, 3), (6, 5), (6, 4)),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, padding="same", padding_mode="reflect"), (2, 3, 6, 6)),
    "Conv2d 4x4 / 2": (lambda: nn.Conv2d(3, 8, 4, 2, 1), (2, 3, 8, 8)),
    "Conv2d dilated": (lambda: nn.Conv2d(2, 4, 3, dilation=2, groups=2), (2, 2, 8, 7)),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 2, 4, 2, 1, output_padding=1), (2, 3, 4, 4)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 8)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 8, 8)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), (2, 3, 8, 8)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 8, 7)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(3), (2, 3, 8, 7)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(5), (8, 5)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "LayerNorm": (lambda: nn.LayerNorm(5), (4, 5)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 5)),
    "RMSNorm": (lambda: nn.RMSNorm(5), (4, 5)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), (2, 4, 5)),
    "RNN": (lambda: nn.RNN(4, 3, 2, bidirectional=True), (5, 2, 4)),
    "LSTM": (lambda: nn.LSTM(4, 3, batch_first=True), (2, 5, 4)),
    "GRU": (lambda: nn.GRU(4, 3), (5, 2, 4)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), (2, 5, 8)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 4)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3)),
    "Fold": (lambda: nn.Fold((4, 5), (2, 2)), (2, 12, 12)),
    "Unfold": (lambda: nn.Unfold(2, padding=1), (2, 3, 4, 4)),
    "CircularPad2d": (lambda: nn.CircularPad2d(1), (2, 3, 4, 4)),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)), (3, 5)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 3)), (2, 3, 5, 5)),
    "PReLU": (lambda: nn.PReLU(), (3, 5)),
    "GELU": (lambda: nn.GELU(), (3, 5)),
    "Softplus": (lambda: nn.Softplus(), (3, 5)),
    "Mish": (lambda: nn.Mish(), (3, 5)),
    "Hardswish": (lambda: nn.Hardswish(), (3, 5)),
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), (3, 5)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), (3, 5), (3, 5)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(), (3, 5), (3, 5)),
}  # fmt: skip
"""A layer and the shapes of its inputs."""

CLASSES = rlgrad.tensor([1, 0, 3])
LOSSES = {
    "MSELoss": rlgrad.linspace(-1, 1, 15).view(3, 5),
    "SmoothL1Loss": rlgrad.linspace(-1, 1, 15).view(3, 5),
    "HuberLoss": rlgrad.linspace(-1, 1, 15).view(3, 5),
    "CrossEntropyLoss": CLASSES,
    "NLLLoss": CLASSES,
    "KLDivLoss": rlgrad.linspace(0.1, 1, 15).view(3, 5),
    "BCEWithLogitsLoss": rlgrad.linspace(0, 1, 15).view(3, 5),
    "PoissonNLLLoss": rlgrad.linspace(0, 1, 15).view(3, 5),
    "SoftMarginLoss": rlgrad.linspace(-1, 1, 15).view(3, 5).sign(),
    "MultiMarginLoss": CLASSES,
    "MultiLabelMarginLoss": rlgrad.tensor([[1, 0, -1, 2, 2], [3, -1, 0, 0, 0], [0, 1, 2, 3, 4]]),
    "MultiLabelSoftMarginLoss": (rlgrad.arange(15).view(3, 5) % 2).float(),
}


def made(build, shapes):
    rlgrad.manual_seed(0)
    return build().double(), [rlgrad.randn(*shape, dtype=rlgrad.float64) for shape in shapes]


def results(module, inputs, device):
    """Output, gradients of inputs and parameters, and gradients of those gradients' squares."""
    module, inputs = module.to(device), [x.to(device).requires_grad_() for x in inputs]
    output = module(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    assert output.is_cuda == (device == "cuda")
    leaves = [*inputs, *module.parameters()]
    first = rlgrad.autograd.grad((output * output).sum(), leaves, create_graph=True, allow_unused=True)
    squares = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    second = rlgrad.autograd.grad(sum(squares), leaves, allow_unused=True) if squares else ()
    return [None if t is None else t.detach().cpu().numpy() for t in (output, *first, *second)]


def compare(build, *shapes):
    ours, theirs = (results(*made(build, shapes), device) for device in ("cuda", "cpu"))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_the_cpu(name):
    compare(*LAYERS[name])


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_the_cpu(name):
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.loss = getattr(nn, name)()
            self.register_buffer("target", LOSSES[name])

        def forward(self, x):
            return self.loss(x, self.target)

    compare(Loss, (3, 5))


def test_dropout_and_initialisation_draw_on_the_gpu():
    with rlgrad.device("cuda"):
        layer = nn.Linear(4, 400)
    assert layer.weight.is_cuda
    dropped = nn.Dropout(0.25)(layer(rlgrad.ones(8, 4, device="cuda")))
    assert dropped.is_cuda
    assert 0.15 < float((dropped == 0).float().mean()) < 0.35
    nn.init.orthogonal_(layer.weight)
    product = (layer.weight.t() @ layer.weight).cpu().detach().numpy()
    np.testing.assert_allclose(product, np.eye(4), atol=1e-5)


def test_embeddings_and_attention_masks_follow():
    for device in ("cpu", "cuda"):
        rlgrad.manual_seed(0)
        embedding, attention = nn.Embedding(7, 8).to(device), nn.MultiheadAttention(8, 2, batch_first=True).to(device)
        tokens = rlgrad.tensor([[1, 2, 0], [6, 0, 3]], device=device)
        x = embedding(tokens)
        out, weights = attention(x, x, x, key_padding_mask=tokens == 0)
        out.square().mean().backward()
        found = [out, weights, embedding.weight.grad, attention.in_proj_weight.grad]
        found = [t.detach().cpu().numpy() for t in found]
        if device == "cpu":
            wanted = found
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
