"""Layers: how they start, what they refuse, and what they do at random or over several calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn.utils import parametrize

torch = pytest.importorskip("torch")

STARTING = [
    ("Conv2d", (4, 50, 3), {}),
    ("Conv2d", (8, 40, (3, 5)), {"groups": 4}),
    ("Conv1d", (5, 90, 7), {}),
    ("ConvTranspose2d", (40, 12, 3), {}),
    ("Bilinear", (9, 8, 30), {}),
    ("Linear", (25, 60), {}),
]


@pytest.mark.parametrize(("name", "args", "options"), STARTING)
def test_parameters_start_uniform_within_torchs_bounds(name, args, options):
    rlgrad.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = getattr(nn, name)(*args, **options), getattr(torch.nn, name)(*args, **options)
    for (key, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        values, expected = mine.detach().numpy(), other.detach().numpy()
        bound = np.abs(expected).max()  # within one element's spacing of the true bound
        spacing = 8 * bound / values.size
        assert abs(np.abs(values).max() - bound) < spacing, key
        assert abs(values.std() - bound / math.sqrt(3)) < 4 * bound / math.sqrt(values.size), key


def test_lookup_tables_start_normal_with_a_zero_for_padding():
    rlgrad.manual_seed(0)
    for kind in (nn.Embedding, nn.EmbeddingBag):
        table = kind(200, 50, padding_idx=-3).weight.detach().numpy()
        assert not table[197].any()
        rest = np.delete(table, 197, 0)
        assert abs(rest.mean()) < 0.05
        assert abs(rest.std() - 1) < 0.05


def test_pretrained_tables_share_memory_and_do_not_learn_unless_told():
    vectors = rlgrad.arange(12.0).reshape(4, 3)
    frozen = nn.Embedding.from_pretrained(vectors, padding_idx=1)
    assert not frozen.weight.requires_grad
    assert frozen(rlgrad.tensor([2])).tolist() == [[6.0, 7.0, 8.0]]
    assert np.shares_memory(frozen.weight.detach().numpy(), vectors.numpy())
    assert nn.Embedding.from_pretrained(vectors, freeze=False).weight.requires_grad
    bag = nn.EmbeddingBag.from_pretrained(vectors, mode="max", freeze=True)
    assert not bag.weight.requires_grad
    assert bag(rlgrad.tensor([[0, 3], [1, 1]])).tolist() == [[9.0, 10.0, 11.0], [3.0, 4.0, 5.0]]


def test_rows_beyond_the_largest_norm_are_scaled_in_place():
    results = []
    for library in (rlgrad, torch):
        layer = library.nn.Embedding(4, 3, max_norm=1.0)
        with library.no_grad():
            layer.weight.copy_(library.arange(12.0).reshape(4, 3) * 0.2)
        layer(library.tensor([0, 2, 2]))
        results.append(layer.weight.detach().numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    assert np.linalg.norm(results[0][2]) < 1 + 1e-5 < np.linalg.norm(results[0][3])


@pytest.mark.parametrize("momentum", [0.1, None, 0.0])
@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
def test_running_statistics_follow_torchs_over_several_batches(name, momentum):
    results = []
    for library in (rlgrad, torch):
        layer = getattr(library.nn, name)(3, momentum=momentum, track_running_stats=True).double()
        rng = np.random.default_rng(0)
        for _ in range(4):
            layer(library.from_numpy(rng.standard_normal((5, 3, 4)) * 2 + 1))
        layer.eval()
        seen = layer(library.from_numpy(rng.standard_normal((2, 3, 4))))
        state = [value.numpy() for value in layer.state_dict().values()]
        layer.reset_running_stats()
        results.append([seen.detach().numpy(), *state, *[value.numpy() for value in layer.state_dict().values()]])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_a_state_without_the_count_of_batches_loads_unless_it_says_that_it_should_have_one():
    for library in (rlgrad, torch):
        network = library.nn.Sequential(library.nn.Conv1d(2, 3, 1), library.nn.BatchNorm1d(3))
        network(library.ones(2, 2, 4))
        state = network.state_dict()
        plain = {key: value.numpy() * 0 + 1 for key, value in state.items() if "num" not in key}
        network.load_state_dict({key: library.from_numpy(value) for key, value in plain.items()})
        assert int(network[1].num_batches_tracked) == 1
        assert network[1].running_mean.tolist() == [1.0, 1.0, 1.0]
        del state["1.num_batches_tracked"]
        with pytest.raises(RuntimeError, match="num_batches_tracked"):
            network.load_state_dict(state)


DROPS = {
    "Dropout": ((40, 30, 20), ()),
    "Dropout1d": ((60, 40, 6), (2,)),
    "Dropout2d": ((60, 40, 3, 2), (2, 3)),
    "Dropout3d": ((60, 40, 2, 1, 3), (2, 3, 4)),
}


@pytest.mark.parametrize("name", DROPS)
def test_dropout_zeroes_whole_blocks_with_its_probability_and_keeps_the_mean(name):
    shape, block = DROPS[name]
    rlgrad.manual_seed(0)
    out = getattr(nn, name)(0.3)(rlgrad.ones(*shape)).numpy()
    assert set(np.unique(out.round(5))) == {0.0, np.float32(1 / 0.7).round(5)}
    first = out.max(axis=block) if block else out
    np.testing.assert_array_equal(first, out.min(axis=block) if block else out)
    count = first.size
    assert abs((first == 0).mean() - 0.3) < 4 * math.sqrt(0.21 / count)
    assert getattr(nn, name)(1.0)(rlgrad.ones(*shape)).numpy().any() == np.False_


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance_of_normal_inputs(name):
    rlgrad.manual_seed(0)
    values = rlgrad.randn(400, 50, 4).requires_grad_()
    out = getattr(nn, name)(0.2)(values)
    assert abs(float(out.mean())) < 0.03
    assert abs(float(out.var()) - 1) < 0.05
    out.sum().backward()
    kept = values.grad.numpy() != 0
    assert abs(kept.mean() - 0.8) < 0.02
    if name.startswith("Feature"):
        np.testing.assert_array_equal(kept.all(2), kept.any(2))


def test_dropout_in_place_writes_into_its_input():
    rlgrad.manual_seed(0)
    values = rlgrad.ones(100)
    assert nn.Dropout(0.5, inplace=True)(values) is values
    assert 0 < float((values == 0).sum()) < 100


REFUSED = {
    "conv groups": lambda lib: lib.nn.Conv2d(3, 4, 2, groups=2),
    "conv groups of the output": lambda lib: lib.nn.Conv2d(4, 3, 2, groups=2),
    "conv no groups": lambda lib: lib.nn.Conv2d(4, 4, 2, groups=0),
    "conv padding word": lambda lib: lib.nn.Conv2d(4, 4, 2, padding="sames"),
    "conv same with stride": lambda lib: lib.nn.Conv1d(4, 4, 2, stride=2, padding="same"),
    "conv padding mode": lambda lib: lib.nn.Conv1d(4, 4, 2, padding_mode="mirror"),
    "transposed conv padding mode": lambda lib: lib.nn.ConvTranspose1d(4, 4, 2, padding_mode="circular"),
    "transposed conv output size": lambda lib: lib.nn.ConvTranspose1d(2, 2, 3, 2)(lib.ones(1, 2, 4), [12]),
    "transposed conv output rank": lambda lib: lib.nn.ConvTranspose2d(2, 2, 3)(lib.ones(1, 2, 4, 4), [6]),
    "conv channels": lambda lib: lib.nn.Conv1d(3, 4, 2)(lib.ones(1, 2, 5)),
    "conv dims": lambda lib: lib.nn.Conv1d(3, 4, 2)(lib.ones(1, 3, 5, 5)),
    "conv kernel": lambda lib: lib.nn.Conv1d(3, 4, 7)(lib.ones(1, 3, 5)),
    "bilinear features": lambda lib: lib.nn.Bilinear(0, 2, 3),
    "bilinear batch": lambda lib: lib.nn.Bilinear(2, 2, 3)(lib.ones(4, 2), lib.ones(3, 2)),
    "bilinear width": lambda lib: lib.nn.Bilinear(2, 2, 3)(lib.ones(4, 2), lib.ones(4, 3)),
    "group norm groups": lambda lib: lib.nn.GroupNorm(3, 4),
    "batch norm dims": lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(2, 3, 4)),
    "batch norm one value": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(1, 3)),
    "batch norm channels": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(4, 2)),
    "instance norm channels": lambda lib: lib.nn.InstanceNorm1d(3, affine=True)(lib.ones(2, 4, 5)),
    "instance norm one value": lambda lib: lib.nn.InstanceNorm1d(3)(lib.ones(2, 3, 1)),
    "layer norm shape": lambda lib: lib.nn.LayerNorm(3)(lib.ones(2, 4)),
    "local response dims": lambda lib: lib.nn.LocalResponseNorm(2)(lib.ones(2, 4)),
    "dropout probability": lambda lib: lib.nn.Dropout(1.5),
    "dropout1d dims": lambda lib: lib.nn.Dropout1d()(lib.ones(2, 3, 4, 5)),
    "feature dropout dims": lambda lib: lib.nn.FeatureAlphaDropout()(lib.ones(4)),
    "hardtanh limits": lambda lib: lib.nn.Hardtanh(1, -1),
    "softmax2d dims": lambda lib: lib.nn.Softmax2d()(lib.ones(2, 3)),
    "embedding padding": lambda lib: lib.nn.Embedding(3, 2, padding_idx=3),
    "embedding weight": lambda lib: lib.nn.Embedding(3, 2, _weight=lib.ones(2, 2)),
    "embedding index": lambda lib: lib.nn.Embedding(3, 2)(lib.tensor([3])),
    "embedding floats": lambda lib: lib.nn.Embedding(3, 2)(lib.tensor([1.0])),
    "embedding pretrained": lambda lib: lib.nn.Embedding.from_pretrained(lib.ones(3)),
    "bag offsets missing": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([1])),
    "bag offsets unwanted": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([[1]]), lib.tensor([0])),
    "bag offsets start": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([1, 2]), lib.tensor([1])),
    "bag offsets end": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([1, 2]), lib.tensor([0, 3])),
    "bag mode": lambda lib: lib.nn.EmbeddingBag(3, 2, mode="min")(lib.tensor([[1]])),
    "bag weights of means": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([[1]]), None, lib.ones(1, 1)),
    "bag weights shape": lambda lib: lib.nn.EmbeddingBag(3, 2, mode="sum")(lib.tensor([[1]]), None, lib.ones(1)),
    "bag dims": lambda lib: lib.nn.EmbeddingBag(3, 2)(lib.tensor([[[1]]])),
    "unflatten size": lambda lib: lib.nn.Unflatten(1, 3),
    "unflatten element": lambda lib: lib.nn.Unflatten(1, (2, 1.5)),
    "unpool size": lambda lib: lib.nn.MaxUnpool1d(2)(lib.ones(1, 1, 2), lib.tensor([[[0, 3]]]), [7]),
    "unpool index": lambda lib: lib.nn.MaxUnpool1d(2)(lib.ones(1, 1, 2), lib.tensor([[[0, 9]]])),
    "unpool shape": lambda lib: lib.nn.MaxUnpool1d(2)(lib.ones(1, 1, 2), lib.tensor([[[0]]])),
    "unpool dtype": lambda lib: lib.nn.MaxUnpool2d(2)(lib.ones(1, 1, 2, 2), lib.ones(1, 1, 2, 2)),
    "fractional pool size": lambda lib: lib.nn.FractionalMaxPool2d(2),
    "fractional pool ratio": lambda lib: lib.nn.FractionalMaxPool2d(2, output_ratio=1.5),
    "fractional pool both": lambda lib: lib.nn.FractionalMaxPool2d(2, 2, 0.5),
    "upsample nothing": lambda lib: lib.nn.Upsample()(lib.ones(1, 1, 2)),
    "upsample mode": lambda lib: lib.nn.Upsample(3, mode="bilinear")(lib.ones(1, 1, 2)),
    "upsample corners": lambda lib: lib.nn.Upsample(3, align_corners=True)(lib.ones(1, 1, 2)),
    "pixel shuffle": lambda lib: lib.nn.PixelShuffle(2)(lib.ones(1, 3, 2, 2)),
    "pixel unshuffle": lambda lib: lib.nn.PixelUnshuffle(2)(lib.ones(1, 3, 3, 2)),
    "channel shuffle": lambda lib: lib.nn.ChannelShuffle(2)(lib.ones(1, 3, 2, 2)),
    "fold": lambda lib: lib.nn.Fold((3, 3), 2)(lib.ones(1, 4, 5)),
    "reflection": lambda lib: lib.nn.ReflectionPad1d(3)(lib.ones(1, 1, 3)),
    "circular dims": lambda lib: lib.nn.CircularPad1d(3)(lib.ones(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_raise_torchs_class_of_error(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        REFUSED[name](torch)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        REFUSED[name](rlgrad)
    assert issubclass(theirs.type, ours.type) or issubclass(ours.type, theirs.type), (theirs.value, ours.value)


PARAMETRIZED = [
    lambda lib: (lib.nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    lambda lib: (lib.nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
    lambda lib: (lib.nn.LayerNorm(4), (3, 4)),
    lambda lib: (lib.nn.BatchNorm1d(4), (3, 4)),
    lambda lib: (lib.nn.PReLU(), (3, 4)),
    lambda lib: (lib.nn.Linear(4, 3), (3, 4)),
]


@pytest.mark.parametrize("number", range(len(PARAMETRIZED)))
def test_layers_use_a_parametrized_weight(number):
    layer, shape = PARAMETRIZED[number](rlgrad)

    class Doubled(nn.Module):
        def forward(self, weight):
            return 2 * weight

    inputs = rlgrad.randn(*shape)
    parametrize.register_parametrization(layer, "weight", Doubled())
    out = layer(inputs)
    out.sum().backward()
    original = layer.parametrizations.weight.original
    assert original.grad is not None
    plain, _ = PARAMETRIZED[number](rlgrad)
    with rlgrad.no_grad():
        plain.weight.copy_(original * 2)
        if getattr(plain, "bias", None) is not None:
            plain.bias.copy_(layer.bias)
    np.testing.assert_allclose(out.detach().numpy(), plain(inputs).detach().numpy(), rtol=1e-6)


def test_settings_can_be_changed_after_construction():
    layer = nn.LeakyReLU(0.1)
    layer.negative_slope = 0.5
    assert layer(rlgrad.tensor([-2.0])).item() == -1.0
    assert repr(layer) == "LeakyReLU(negative_slope=0.5)"
