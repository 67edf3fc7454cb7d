"""On a GPU the adversarial trainers take the steps that they take on the CPU."""

import numpy as np
import pytest

from rlgrad.gan import GANConfig, GANTrainer, make_data
from rlgrad.training.checkpoint import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.gpu

SMALL = {"iterations": 4, "batch_size": 16, "hidden_sizes": (8, 8), "channels": 4, "learning_rate": 1e-4}
CASES = {
    "ring": ("ring", {"ema_half_life": 100.0}),
    "wgan_gp": ("grid", {"loss": "wasserstein", "gradient_penalty": 10.0, "n_critic": 2, "r1_gamma": 0.0, "r2_gamma": 0.0}),
    "hinge": ("ring", {"loss": "hinge", "discriminator_norm": "spectral", "pack": 2, "r1_gamma": 0.0, "r2_gamma": 0.0}),
    "minibatch": ("ring", {"minibatch_std": True, "minibatch_discrimination": True, "penalty_every": 2}),
    "dcgan": ("mnist5k", {"net": "dcgan", "latent_dim": 8, "augment": ("color", "translation", "cutout"), "augment_target": 0.6}),
    "resnet": ("mnist5k", {"net": "resnet", "latent_dim": 8, "conditional": "projection", "discriminator_norm": "spectral"}),
    "auxiliary": ("digits", {"latent_dim": 8, "conditional": "auxiliary"}),
}  # fmt: skip


def parameters(trainer):
    networks = (trainer.generator, trainer.discriminator)
    return np.concatenate([p.detach().cpu().numpy().ravel() for net in networks for p in net.parameters()])


def trained(name, device, steps=3):
    data, options = CASES[name]
    source = make_data(name=data, seed=np.random.default_rng(0))
    trainer = GANTrainer(GANConfig(**{**SMALL, **options}), source, device=device)
    return trainer.train(steps)


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_cpu(name):
    for package in {"dcgan": ["mlxtend"], "resnet": ["mlxtend"], "auxiliary": ["sklearn"]}.get(name, []):
        pytest.importorskip(package)
    ours, theirs = (trained(name, device) for device in ("cuda", "cpu"))
    assert next(ours.generator.parameters()).is_cuda
    np.testing.assert_allclose(parameters(ours), parameters(theirs), atol=2e-3)
    assert ours.sample(4).shape == theirs.sample(4).shape


def test_a_checkpoint_of_the_gpu_goes_on_there_and_on_the_cpu(tmp_path):
    trainer = trained("ring", "cuda")
    save_checkpoint(tmp_path / "gan", trainer.state_dict())
    for device in ("cuda", "cpu"):
        resumed = GANTrainer(trainer.config, "ring", device=device)
        resumed.load_state_dict(load_checkpoint(tmp_path / "gan"))
        np.testing.assert_array_equal(parameters(resumed), parameters(trainer))
        resumed.train(1)
