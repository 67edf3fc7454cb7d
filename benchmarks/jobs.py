"""The two main jobs from command to prompt, over several seeds: ``python -m benchmarks.jobs [cartpole] [ring]``."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time

JOBS = {
    "cartpole": (["scripts/train_reinforce.py", "env=CartPole"], 10, r"after ([\d,]+) steps.*mean return ([\d.]+)"),
    "ring": (["scripts/train_gan.py"], 5, r"(\d) of 8 modes, ([\d.]+) % high quality, reverse KL ([\d.]+)"),
}
"""For each job its command, how many seeds, and what to read from its output."""


def run(command: list[str], seed: int, pattern: str) -> tuple[float, tuple[str, ...]]:
    """Wall seconds of one run, and the figures it printed."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = subprocess.run(
            [sys.executable, *command, f"seed={seed}", f"hydra.run.dir={folder}/run", "progress=false"],
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - start
    found = re.search(pattern, result.stdout, re.DOTALL)
    if result.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} seed={seed} failed:\n{result.stdout}\n{result.stderr}")
    return seconds, found.groups()


def main() -> None:
    for name in sys.argv[1:] or JOBS:
        command, seeds, pattern = JOBS[name]
        print(f"python {' '.join(command)} seed=0..{seeds - 1}")
        times = []
        for seed in range(seeds):
            seconds, figures = run(command, seed, pattern)
            times.append(seconds)
            print(f"  seed {seed}: {seconds:5.1f} s  {'  '.join(figures)}", flush=True)
        print(f"  median {statistics.median(times):.1f} s, longest {max(times):.1f} s")


if __name__ == "__main__":
    main()
