"""Convolutional and recurrent training steps, and the layers they consist of, beside torch with as many threads.

Run with ``OMP_NUM_THREADS=1 python -m benchmarks.layers --threads 1``; torch is needed for the comparison. A ratio of 2 says
that torch takes twice as long. A step is forward, loss, backward and Adam; a layer is forward and backward.
``RLGRAD_JIT=0`` leaves the compiled kernels out. Matrix products follow ``OPENBLAS_CORETYPE`` where it is set.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved

Step = Callable[[], Any]


def tensors(library: Any, *shapes: tuple[int, ...], seed: int = 0, scale: float = 1.0) -> list[Any]:
    """Random tensors, the same for either library."""
    rng = np.random.default_rng(seed)
    return [library.from_numpy(rng.standard_normal(shape, np.float32) * np.float32(scale)) for shape in shapes]


def training(library: Any, network: Any, loss: Callable[[], Any], fused: bool) -> Step:
    """One training step on ``loss`` with Adam over the network's parameters."""
    optimizer = library.optim.Adam(network.parameters(), lr=2e-4, **({"fused": True} if fused else {}))

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def discriminator(library: Any, fused: bool) -> Step:
    """DCGAN's discriminator (Radford et al., 2016) on images of 32x32, batch 64."""
    nn = library.nn
    layers = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
    for n in (64, 128):
        layers += [nn.Conv2d(n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.LeakyReLU(0.2)]
    network = nn.Sequential(*layers, nn.Conv2d(256, 1, 4, 1, 0, bias=False), nn.Flatten())
    images, labels = tensors(library, (64, 3, 32, 32), (64, 1))
    labels = (labels > 0).float()
    criterion = nn.BCEWithLogitsLoss()
    return training(library, network, lambda: criterion(network(images), labels), fused)


def generator(library: Any, fused: bool) -> Step:
    """DCGAN's generator of images of 32x32 from 100 numbers, batch 64."""
    nn = library.nn
    layers = [nn.ConvTranspose2d(100, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU()]
    for n in (256, 128):
        layers += [nn.ConvTranspose2d(n, n // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(n // 2), nn.ReLU()]
    network = nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())
    noise, target = tensors(library, (64, 100, 1, 1), (64, 3, 32, 32))
    return training(library, network, lambda: (network(noise) * target).mean(), fused)


def nature(library: Any, fused: bool) -> Step:
    """The network of Mnih et al. (2015) on four frames of 84x84, batch 32."""
    nn = library.nn
    layers: list[Any] = []
    for before, after, kernel, stride in ((4, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)):
        layers += [nn.Conv2d(before, after, kernel, stride), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6))
    frames = library.from_numpy(np.random.default_rng(0).integers(0, 256, (32, 4, 84, 84), np.uint8))
    (target,) = tensors(library, (32, 6))
    criterion = nn.SmoothL1Loss()
    return training(library, network, lambda: criterion(network(frames.float() / 255), target), fused)


def recurrent(name: str) -> Callable[[Any, bool], Step]:
    """64 units over 16 steps, batch 32."""

    def build(library: Any, fused: bool) -> Step:
        network = getattr(library.nn, name)(64, 64)
        x, target = tensors(library, (16, 32, 64), (16, 32, 64))
        criterion = library.nn.MSELoss()
        return training(library, network, lambda: criterion(network(x)[0], target), fused)

    return build


def layer(call: Callable[[Any, Any], Any], *shapes: tuple[int, ...]) -> Callable[[Any, bool], Step]:
    """``call(functional, *tensors)`` forward and backward for tensors of these shapes, all of which want a gradient."""

    def build(library: Any, fused: bool) -> Step:
        inputs = [t.requires_grad_() for t in tensors(library, *shapes, scale=0.1)]
        functional = library.nn.functional
        (g,) = tensors(library, tuple(call(functional, *inputs).shape))

        def step() -> None:
            call(functional, *inputs).backward(g)
            for t in inputs:
                t.grad = None

        return step

    return build


STEPS: dict[str, tuple[Callable[[Any, bool], Step], float]] = {
    "DCGAN discriminator": (discriminator, 0.7),
    "DCGAN generator": (generator, 0.7),
    "Nature-CNN": (nature, 0.8),
    "LSTM": (recurrent("LSTM"), 1.0),
    "GRU": (recurrent("GRU"), 1.0),
}
"""Training steps, and the ratio to reach."""

IMAGES = (64, 64, 16, 16)
LAYERS: dict[str, Callable[[Any, bool], Step]] = {
    "conv2d 3x3": layer(lambda f, x, w: f.conv2d(x, w, padding=1), (32, 32, 32, 32), (32, 32, 3, 3)),
    "conv2d 4x4 / 2": layer(lambda f, x, w: f.conv2d(x, w, None, 2, 1), IMAGES, (128, 64, 4, 4)),
    "conv_transpose2d 4x4 / 2": layer(lambda f, x, w: f.conv_transpose2d(x, w, None, 2, 1), IMAGES, (64, 32, 4, 4)),
    "batch_norm": layer(lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), IMAGES, (64,), (64,)),
    "layer_norm": layer(lambda f, x, w, b: f.layer_norm(x, (256,), w, b), (512, 256), (256,), (256,)),
    "group_norm": layer(lambda f, x, w, b: f.group_norm(x, 8, w, b), IMAGES, (64,), (64,)),
    "max_pool2d 2": layer(lambda f, x: f.max_pool2d(x, 2), IMAGES),
    "max_pool2d 3 / 2": layer(lambda f, x: f.max_pool2d(x, 3, 2, 1), IMAGES),
    "avg_pool2d 2": layer(lambda f, x: f.avg_pool2d(x, 2), IMAGES),
    "leaky_relu": layer(lambda f, x: f.leaky_relu(x, 0.2), IMAGES),
}
"""Layers alone, forward and backward."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="threads of either library")
    parser.add_argument("--repeats", type=int, default=15, help="turns each library takes")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time, for one thread on a busy machine")
    arguments = parser.parse_args()
    import torch

    import rlgrad
    from rlgrad.backend.kernels import jit

    torch.set_num_threads(arguments.threads)
    rlgrad.set_num_threads(arguments.threads)
    clock = time.process_time if arguments.cpu else time.perf_counter
    kernels = "NumPy alone" if jit.compiled() is None else "compiled kernels"
    print(f"{arguments.threads} threads, {kernels}, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')!r}")
    print(f"{'':>26} {'rlgrad us':>10} {'torch us':>10} {'times torch':>12} {'goal':>5}")
    for name, entry in {**STEPS, **LAYERS}.items():
        if not any(part in name for part in arguments.only):
            continue
        build, goal = entry if isinstance(entry, tuple) else (entry, math.nan)
        pair = {"rlgrad": build(rlgrad, False), "torch": build(torch, True)}
        times = interleaved(pair, arguments.repeats, clock=clock)
        ours, theirs = times["rlgrad"], times["torch"]
        shown = "" if math.isnan(goal) else str(goal)
        print(f"{name:>26} {ours * 1e6:>10.0f} {theirs * 1e6:>10.0f} {theirs / ours:>12.2f} {shown:>5}", flush=True)


if __name__ == "__main__":
    main()
