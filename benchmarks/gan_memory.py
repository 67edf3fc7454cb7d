"""Whether memory stays flat over a long training with Python's garbage collector off.

Run as ``python -m benchmarks.gan memory``. A graph that refers to itself is freed only by the collector: with that off,
one such graph per step, as penalties that differentiate twice easily leave behind, would add up to gigabytes.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

from rlgrad.gan import GANConfig, GANTrainer

CASES = {
    "relativistic, R1 and R2": GANConfig(),
    "WGAN-GP, five critic steps": GANConfig(
        loss="wasserstein", learning_rate=5e-4, n_critic=5, gradient_penalty=0.1, r1_gamma=0.0, r2_gamma=0.0
    ),
}
MIB = 2**20


def resident_bytes() -> int:
    """Memory of this process that is in RAM now; from Linux's /proc."""
    with open("/proc/self/smaps_rollup") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def grown(trainer: GANTrainer, marks: Sequence[int]) -> tuple[list[int], list[int], int]:
    """Train to the first mark, then with the collector off, and look at memory at each mark.

    Returns:
        Resident bytes and objects that the collector tracks, both at each mark; and how many objects of the time since
        the first one only it could have freed.
    """
    trainer.train(marks[0])
    gc.collect()
    gc.disable()
    try:
        resident, objects = [], []
        for mark in marks:
            trainer.train(mark - trainer.iteration)
            resident.append(resident_bytes())
            objects.append(len(gc.get_objects()))
        return resident, objects, gc.collect()
    finally:
        gc.enable()


def report(steps: int) -> None:
    """Print each case's memory at the start, at a tenth and at the end of ``steps`` iterations.

    Args:
        steps: 100 or more.
    """
    marks = (min(100, steps // 10), steps // 10, steps)
    head = "".join(f"{f'at {mark:,}':>12}" for mark in marks)
    print(f"{'MiB in RAM, collector off':>28}{head}   objects more since {marks[0]:,}   in cycles")
    for name, config in CASES.items():
        config.iterations = config.evaluate_every = steps
        resident, objects, cycles = grown(GANTrainer(config), marks)
        row = "".join(f"{size / MIB:>12.1f}" for size in resident)
        print(f"{name:>28}{row}{objects[-1] - objects[0]:>{22 + len(f'{marks[0]:,}')}}{cycles:>12}", flush=True)
