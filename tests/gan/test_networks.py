import math

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.gan import ArraySource, GANConfig, MixtureSource, frozen, make_networks, ring
from rlgrad.gan.bodies import halvings
from rlgrad.gan.layers import MinibatchDiscrimination, MinibatchStdDev, pack


def images(size, channels=1, classes=0, n=12):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes if classes else None
    return ArraySource(rng.uniform(-1, 1, (n, channels, size, size)), labels, seed=0)


def players(source=None, **options):
    source = source or MixtureSource(ring())
    return make_networks(GANConfig(**({"hidden_sizes": (8, 4), "channels": 4} | options)), source)


def test_perceptrons_map_latents_to_samples_and_samples_to_logits():
    generator, discriminator = players(latent_dim=3)
    logits = discriminator(generator(rlgrad.randn(5, 3)))
    assert tuple(logits.shape) == (5, 1)
    assert [tuple(p.shape) for p in generator.parameters()] == [(8, 3), (8,), (4, 8), (4,), (2, 4), (2,)]
    assert [tuple(p.shape) for p in discriminator.parameters()] == [(8, 2), (8,), (4, 8), (4,), (1, 4), (1,)]


def test_the_discriminator_ends_in_a_logit_of_either_sign():
    rlgrad.manual_seed(0)
    logits = players(hidden_sizes=(16,))[1](100 * rlgrad.randn(200, 2)).detach().numpy()
    assert logits.min() < 0 < logits.max()
    assert np.abs(logits).max() > 1


@pytest.mark.parametrize("net", ["mlp", "dcgan", "resnet"])
@pytest.mark.parametrize("size", [8, 28, 32])
@pytest.mark.parametrize("conditional", ["none", "projection", "auxiliary"])
def test_every_family_makes_and_judges_images(net, size, conditional):
    source = images(size, channels=3, classes=4)
    generator, discriminator = players(source, net=net, latent_dim=5, conditional=conditional, minibatch_std=True)
    labels = None if conditional == "none" else rlgrad.tensor([0, 1, 2, 3])
    fake = generator(rlgrad.randn(4, 5), labels)
    assert tuple(fake.shape) == (4, 3, size, size)
    assert abs(fake.detach().numpy()).max() <= 1
    logits, classes = discriminator.judge(fake, labels)
    assert tuple(logits.shape) == (4, 1)
    assert (classes is None) == (conditional != "auxiliary")
    logits.sum().backward()
    assert all(p.grad is not None for p in generator.parameters())


@pytest.mark.parametrize(("net", "count"), [("mlp", 2), ("dcgan", 2), ("resnet", 5)])
def test_batch_normalisation_is_in_every_familys_discriminator_but_not_before_its_first_layer(net, count):
    options = {"net": net, "hidden_sizes": (8, 6, 4), "discriminator_norm": "batch", "r1_gamma": 0.0, "r2_gamma": 0.0}
    _, discriminator = players(images(32), **options)
    layers = [
        m for m in discriminator.modules() if isinstance(m, (nn.Linear, nn.Conv2d, nn.BatchNorm1d, nn.BatchNorm2d))
    ]
    assert sum(isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) for m in layers) == count
    if net == "mlp":
        assert [type(m).__name__ for m in layers] == [
            "Linear",
            "Linear",
            "BatchNorm1d",
            "Linear",
            "BatchNorm1d",
            "Linear",
        ]
        assert [m.num_features for m in layers if isinstance(m, nn.BatchNorm1d)] == [6, 4]


@pytest.mark.parametrize("net", ["mlp", "dcgan", "resnet"])
def test_the_discriminators_first_layer_sees_dark_pixels_as_they_are(net):
    _, discriminator = players(images(8), net=net)
    first = next(m for m in discriminator.modules() if isinstance(m, (nn.Linear, nn.Conv2d)))
    seen = []
    first.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].numpy().copy()))
    discriminator(rlgrad.full((2, 1, 8, 8), -0.5))
    np.testing.assert_array_equal(seen[0], -0.5)


def test_labels_change_what_is_made_and_how_it_is_judged():
    generator, discriminator = players(images(8, classes=3), latent_dim=5, conditional="projection")
    latent = rlgrad.randn(1, 5)
    one, two = (generator(latent, rlgrad.tensor([label])).detach() for label in (0, 1))
    assert not rlgrad.equal(one, two)
    nn.init.normal_(discriminator.embedding.weight)
    assert discriminator(one, rlgrad.tensor([0])).item() != discriminator(one, rlgrad.tensor([1])).item()
    with pytest.raises(ValueError, match="conditional: it needs labels"):
        generator(latent)


def test_spectral_normalisation_bounds_every_layer():
    _, discriminator = players(images(8), net="dcgan", discriminator_norm="spectral")
    for _ in range(30):
        discriminator(rlgrad.randn(2, 1, 8, 8))
    discriminator.eval()
    for module in discriminator.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            weight = module.weight.detach().numpy()
            assert np.linalg.svd(weight.reshape(len(weight), -1))[1][0] == pytest.approx(1, rel=0.05)


def test_packs_lie_side_by_side_in_the_channels():
    x = rlgrad.arange(24).reshape(4, 2, 3)
    packed = pack(x, 2).numpy()
    np.testing.assert_array_equal(packed[1], np.concatenate([x.numpy()[2], x.numpy()[3]]))
    with pytest.raises(ValueError, match="pack=3 does not divide the batch of 4"):
        pack(x, 3)
    _, discriminator = players(pack=4, batch_size=16)
    assert tuple(discriminator(rlgrad.randn(16, 2)).shape) == (4, 1)


def test_minibatch_std_is_the_mean_over_places_of_the_std_within_groups():
    x = np.random.default_rng(0).normal(size=(8, 3, 2, 2)).astype(np.float32)
    out = MinibatchStdDev(4)(rlgrad.from_numpy(x)).numpy()
    np.testing.assert_array_equal(out[:, :3], x)
    for first in (0, 4):
        expected = x[first : first + 4].std(axis=0).mean()
        np.testing.assert_allclose(out[first : first + 4, 3], expected, rtol=1e-5)
    ragged = MinibatchStdDev(4)(rlgrad.from_numpy(x[:6])).numpy()
    np.testing.assert_allclose(ragged[:, 3], x[:6].std(axis=0).mean(), rtol=1e-5)


def test_minibatch_discrimination_is_its_formula():
    layer = MinibatchDiscrimination(3, 2, 4)
    x = rlgrad.randn(5, 3)
    found = layer(x).detach().numpy()[:, 3:]
    rows = (x.numpy() @ layer.kernel.detach().numpy()).reshape(5, 2, 4)
    for i in range(5):
        for b in range(2):
            others = [math.exp(-abs(rows[i, b] - rows[j, b]).sum()) for j in range(5) if j != i]
            assert found[i, b] == pytest.approx(sum(others), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("size", "expected"), [(8, (4, 1)), (28, (7, 2)), (32, (4, 3)), (10, (5, 1)), (64, (4, 4))])
def test_halvings_lead_to_the_smallest_side(size, expected):
    assert halvings(size) == expected


def test_what_a_family_cannot_make_is_refused_with_the_nearest_that_it_can():
    with pytest.raises(ValueError, match=r"25x25 cannot be made.*nearest is 24.*net=mlp"):
        players(images(25), net="dcgan")
    with pytest.raises(ValueError, match=r"square images.*\(2,\).*net=mlp"):
        players(net="resnet")
    with pytest.raises(ValueError, match="needs labels, and this data has none"):
        players(images(8), conditional="projection")


def test_a_frozen_network_passes_gradients_on_and_keeps_none():
    discriminator = players()[1]
    sample = rlgrad.randn(4, 2).requires_grad_()
    with frozen(discriminator):
        discriminator(sample).sum().backward()
    assert np.abs(sample.grad.numpy()).sum() > 0
    assert all(p.grad is None and p.requires_grad for p in discriminator.parameters())


def test_freezing_ends_even_when_the_block_raises_and_leaves_fixed_parameters_fixed():
    discriminator = players(hidden_sizes=(8,))[1]
    first = next(discriminator.parameters()).requires_grad_(False)
    with pytest.raises(RuntimeError, match="inside"), frozen(discriminator):
        raise RuntimeError("inside")
    assert [p.requires_grad for p in discriminator.parameters()] == [False, True, True, True]
    assert first.requires_grad is False
