"""One shuffled pass of the loader over images in memory and over a data set in Python, beside torch's.

Run with ``python -m benchmarks.data``; torch is needed for the comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved

IMAGES = (5000, 1, 28, 28)


class Squares:
    """Samples that Python makes one by one."""

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return np.full(16, index, np.float32), index


def one_pass(loader: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in loader:
            pass

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=11, help="turns each library takes")
    arguments = parser.parse_args()
    import torch

    import rlgrad

    torch.set_num_threads(1)
    x, y = np.random.default_rng(0).random(IMAGES, np.float32), np.arange(IMAGES[0])
    sets: dict[str, Callable[[Any], Any]] = {
        "images": lambda library: library.utils.data.TensorDataset(library.from_numpy(x), library.from_numpy(y)),
        "samples of Python": lambda library: Squares(),
    }
    print(f"{'data set':>18} {'batch':>6} {'rlgrad ms':>10} {'torch ms':>9} {'times torch':>12}")
    for name, build in sets.items():
        for batch in (64, 256):
            passes = {
                title: one_pass(library.utils.data.DataLoader(build(library), batch, shuffle=True))
                for title, library in (("rlgrad", rlgrad), ("torch", torch))
            }
            times = interleaved(passes, arguments.repeats)
            ratio = times["torch"] / times["rlgrad"]
            print(f"{name:>18} {batch:>6} {times['rlgrad'] * 1e3:>10.2f} {times['torch'] * 1e3:>9.2f} {ratio:>12.1f}")


if __name__ == "__main__":
    main()
