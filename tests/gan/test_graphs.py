"""What adversarial training asks of graphs: shared ones, stale ones, and none left behind."""

import gc
import tracemalloc

import numpy as np
import pytest

import rlgrad
from rlgrad.gan import ArraySource, GANConfig, GANTrainer
from rlgrad.nn import functional as F


def players():
    rlgrad.manual_seed(0)
    nn = rlgrad.nn
    return nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))


def gradients(module):
    return [p.grad.numpy().copy() for p in module.parameters()]


def test_one_shared_graph_with_retain_graph_gives_both_players_the_gradients_of_separate_ones():
    generator, discriminator = players()
    latent = rlgrad.randn(8, 2)
    fake = generator(latent)
    logits = discriminator(fake)
    F.softplus(logits).mean().backward(retain_graph=True)  # the discriminator's side, without detach
    shared_d = gradients(discriminator)
    generator.zero_grad()  # or the discriminator's side would be part of the generator's gradient
    F.softplus(-logits).mean().backward()
    shared_g = gradients(generator)

    discriminator.zero_grad()
    generator.zero_grad()
    fake = generator(latent)
    F.softplus(discriminator(fake.detach())).mean().backward()
    for one, other in zip(shared_d, gradients(discriminator), strict=True):
        np.testing.assert_array_equal(one, other)
    F.softplus(-discriminator(fake)).mean().backward()
    for one, other in zip(shared_g, gradients(generator), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_shared_graph_without_retain_graph_is_freed_by_the_first_backward():
    generator, discriminator = players()
    logits = discriminator(generator(rlgrad.randn(8, 2)))
    F.softplus(logits).mean().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        F.softplus(-logits).mean().backward()


def test_a_step_of_the_discriminator_between_the_two_backwards_of_a_shared_graph_is_noticed():
    generator, discriminator = players()
    logits = discriminator(generator(rlgrad.randn(8, 2)))
    F.softplus(logits).mean().backward(retain_graph=True)
    rlgrad.optim.SGD(discriminator.parameters(), lr=0.1).step()
    with pytest.raises(RuntimeError, match=r"(?i)in-?place"):
        F.softplus(-logits).mean().backward()


@pytest.mark.parametrize("net", ["mlp", "dcgan"])
def test_memory_stays_flat_with_the_collector_off(net):
    images = np.random.default_rng(0).uniform(-1, 1, (40, 1, 8, 8))
    config = GANConfig(
        net=net, channels=4, hidden_sizes=(16, 16), batch_size=8, gradient_penalty=1.0, ema_half_life=10.0
    )
    trainer = GANTrainer(config, "ring" if net == "mlp" else ArraySource(images, seed=0), seed=0)
    trainer.train(30)  # fills the caches of constants: the half-life is at its end after 25
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        objects, memory = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
        trainer.train(120)
        objects, memory = len(gc.get_objects()) - objects, tracemalloc.get_traced_memory()[0] - memory
        in_cycles = gc.collect()
    finally:
        tracemalloc.stop()
        gc.enable()
    # A step's graph has hundreds of objects and ten times as many bytes: what grows are NumPy's own bounded caches.
    assert in_cycles < 120
    assert objects < 120
    assert memory < 120 * 3000
