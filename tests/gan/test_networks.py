import numpy as np
import pytest

import rlgrad
from rlgrad.gan import MLPDiscriminator, MLPGenerator, frozen


def test_players_map_latents_to_samples_and_samples_to_logits():
    generator, discriminator = MLPGenerator(3, 2, (8, 4)), MLPDiscriminator(2, (8, 4))
    logits = discriminator(generator(rlgrad.randn(5, 3)))
    assert tuple(logits.shape) == (5, 1)
    assert [tuple(p.shape) for p in generator.parameters()] == [(8, 3), (8,), (4, 8), (4,), (2, 4), (2,)]
    assert [tuple(p.shape) for p in discriminator.parameters()] == [(8, 2), (8,), (4, 8), (4,), (1, 4), (1,)]


def test_the_discriminator_ends_in_a_logit_of_either_sign():
    rlgrad.manual_seed(0)
    logits = MLPDiscriminator(2, (16,))(100 * rlgrad.randn(200, 2)).detach().numpy()
    assert logits.min() < 0 < logits.max()
    assert np.abs(logits).max() > 1


def test_hidden_layers_may_be_left_out():
    assert tuple(MLPGenerator(2, 3, ())(rlgrad.zeros(1, 2)).shape) == (1, 3)


def test_a_frozen_network_passes_gradients_on_and_keeps_none():
    discriminator = MLPDiscriminator(2, (8,))
    sample = rlgrad.randn(4, 2).requires_grad_()
    with frozen(discriminator):
        discriminator(sample).sum().backward()
    assert np.abs(sample.grad.numpy()).sum() > 0
    assert all(p.grad is None and p.requires_grad for p in discriminator.parameters())


def test_freezing_ends_even_when_the_block_raises_and_leaves_fixed_parameters_fixed():
    discriminator = MLPDiscriminator(2, (8,))
    first = next(discriminator.parameters()).requires_grad_(False)
    with pytest.raises(RuntimeError, match="inside"), frozen(discriminator):
        raise RuntimeError("inside")
    assert [p.requires_grad for p in discriminator.parameters()] == [False, True, True, True]
    assert first.requires_grad is False


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MLPGenerator(0, 2), "latent_dim must be at least 1; got 0"),
        (lambda: MLPGenerator(2, 2, (8, -1)), r"hidden_sizes must be at least 1; got \(8, -1\)"),
        (lambda: MLPDiscriminator(0), "in_features must be at least 1; got 0"),
    ],
)
def test_impossible_sizes_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
