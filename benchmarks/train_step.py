"""One training step (forward, loss, backward, Adam) of small networks, beside torch eager with fused Adam.

Run with ``python -m benchmarks.train_step``; torch is needed for the comparison.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved

CASES: list[tuple[tuple[int, ...], int, float]] = [
    ((4, 64, 64, 2), 1, 3.0),
    ((4, 64, 64, 2), 64, 3.0),
    ((1000, 100, 10), 64, 1.0),
    ((17, 256, 256, 6), 256, 1.0),
    ((2, 128, 128, 128, 1), 512, 1.0),
]
"""Layer sizes, batch, and the ratio to reach."""


def training_step(
    library: Any, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray, **options: Any
) -> Callable[[], None]:
    """The same program for either library: an MLP with ReLU, mean squared error and Adam."""
    layers: list[Any] = []
    for n, m in itertools.pairwise(sizes):
        layers += [library.nn.Linear(n, m), library.nn.ReLU()]
    net = library.nn.Sequential(*layers[:-1])
    loss_function = library.nn.MSELoss()
    optimizer = library.optim.Adam(net.parameters(), lr=1e-3, **options)
    inputs, targets = library.from_numpy(x.copy()), library.from_numpy(y.copy())

    def step() -> None:
        loss = loss_function(net(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=31, help="turns each library takes per network")
    parser.add_argument("--threads", type=int, default=2, help="torch's threads; set OMP_NUM_THREADS alike for NumPy")
    arguments = parser.parse_args()
    import torch

    import rlgrad

    torch.set_num_threads(arguments.threads)
    print(f"{'network':>20} {'batch':>5} {'rlgrad us':>10} {'torch us':>10} {'times torch':>12} {'goal':>5}")
    for sizes, batch, goal in CASES:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((batch, sizes[0]), np.float32)
        y = rng.standard_normal((batch, sizes[-1]), np.float32)
        times = interleaved(
            {
                "rlgrad": training_step(rlgrad, sizes, x, y),
                "torch": training_step(torch, sizes, x, y, fused=True),
            },
            arguments.repeats,
        )
        name = "-".join(map(str, sizes))
        ratio = times["torch"] / times["rlgrad"]
        print(
            f"{name:>20} {batch:>5} {times['rlgrad'] * 1e6:>10.0f} {times['torch'] * 1e6:>10.0f} {ratio:>12.2f} {goal:>5}"
        )


if __name__ == "__main__":
    main()
