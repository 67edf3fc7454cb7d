"""What a training step does besides the passes, on ten tensors: clipping, Adam, target networks; beside torch.

Run with ``python -m benchmarks.optim``; torch is needed for the comparison.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved

SIZES = {"4-64-64-64-64-2": (4, 64, 64, 64, 64, 2), "17-256-256-256-256-6": (17, 256, 256, 256, 256, 6)}
"""Five linear layers each: ten tensors."""

TAU = 0.005


def network(library: Any, sizes: tuple[int, ...]) -> Any:
    """The same stack of linear layers in either library, with a gradient on every parameter."""
    rng = np.random.default_rng(0)
    net = library.nn.Sequential(*[library.nn.Linear(n, m) for n, m in itertools.pairwise(sizes)])
    for p in net.parameters():
        p.grad = library.from_numpy(rng.standard_normal(tuple(p.shape), np.float32))
    return net


def clip_and_step(library: Any, sizes: tuple[int, ...], **options: Any) -> Callable[[], None]:
    """Clip the joint norm of the gradients, then one step of Adam; the limit falls, so that there is always something to clip."""
    parameters = list(network(library, sizes).parameters())
    optimizer = library.optim.Adam(parameters, lr=1e-4, **options)
    clip, limit = library.nn.utils.clip_grad_norm_, 0.5

    def step() -> None:
        nonlocal limit
        limit *= 0.9999
        clip(parameters, limit)
        optimizer.step()

    return step


def torch_loops(torch: Any, source: Any, target: Any) -> dict[str, Callable[[], None]]:
    """The target update as programs write it for torch, a tensor at a time: as a formula, and all in place."""

    def formula() -> None:
        for p, q in zip(source.parameters(), target.parameters(), strict=True):
            q.data.copy_(TAU * p.data + (1 - TAU) * q.data)

    def in_place() -> None:
        with torch.no_grad():
            for p, q in zip(source.parameters(), target.parameters(), strict=True):
                q.mul_(1 - TAU).add_(p, alpha=TAU)

    return {"polyak_update": formula, "polyak_update (in place)": in_place}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=31, help="turns each library takes")
    parser.add_argument("--threads", type=int, default=2, help="torch's threads; set OMP_NUM_THREADS alike for NumPy")
    arguments = parser.parse_args()
    import torch

    import rlgrad

    torch.set_num_threads(arguments.threads)
    print(f"{'what':>28} {'network':>20} {'rlgrad us':>10} {'torch us':>10} {'times torch':>12} {'goal':>5}")
    for name, sizes in SIZES.items():
        ours, theirs = [network(rlgrad, sizes) for _ in range(2)], [network(torch, sizes) for _ in range(2)]
        rows = {
            "clip_grad_norm_ and Adam": (clip_and_step(rlgrad, sizes), clip_and_step(torch, sizes, foreach=True), 3.0),
        }
        for what, loop in torch_loops(torch, *theirs).items():
            rows[what] = (lambda nets=ours: rlgrad.optim.polyak_update(nets[0], nets[1], TAU), loop, 5.0)
        for what, (mine, other, goal) in rows.items():
            times = interleaved({"rlgrad": mine, "torch": other}, arguments.repeats)
            print(
                f"{what:>28} {name:>20} {times['rlgrad'] * 1e6:>10.1f} {times['torch'] * 1e6:>10.1f} "
                f"{times['torch'] / times['rlgrad']:>12.2f} {goal:>5}"
            )


if __name__ == "__main__":
    main()
