"""What the adversarial trainers reach and what a step costs.

    python -m benchmarks.gan results ring grid --seeds 5     (train what is not stored yet, then write docs/results_gan.md)
    python -m benchmarks.gan results                         (only write the tables)
    python -m benchmarks.gan speed                           (beside PyTorch, see benchmarks.gan_speed)
    python -m benchmarks.gan memory                          (over 10,000 steps, see benchmarks.gan_memory)

Every run is one of the command line, ``python scripts/train_gan.py <overrides> seed=<seed>``, stored with its figures,
settings and commit in ``benchmarks/results/gan``; runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning import commit

RESULTS = Path(__file__).parent / "results" / "gan"

LOSSES = ("minimax", "non_saturating", "non_saturating_plain", "least_squares", "hinge", "wgan", "wgan_gp", "dragan")
TASKS: dict[str, list[str]] = {
    "ring": [],
    "grid": ["data=grid"],
    "digits": ["data=digits"],
    "mnist5k": ["data=mnist5k", "net=dcgan"],
    **{f"ring_{loss}": [f"gan={loss}"] for loss in LOSSES},
    **{f"grid_{loss}": [f"gan={loss}", "data=grid"] for loss in LOSSES},
}
"""Overrides of each task's run."""

COMPONENTS = 10


def train(task: str, seed: int) -> dict[str, Any]:
    """One run of a task: figures of 2,500 samples, or of as many as there are held-out images, and the settings."""
    from rlgrad.cli.app import compose_job
    from rlgrad.cli.train_gan import JOB
    from rlgrad.gan import GANTrainer, make_data
    from rlgrad.training import spawn_generators

    job = compose_job(JOB, [*TASKS[task], f"seed={seed}", "progress=false"])
    data = make_data(**job.data, seed=spawn_generators(seed, "data")["data"])
    trainer = GANTrainer(job.gan, data, seed=seed, optimizer=job.optimizer)
    cpu = time.process_time()
    trainer.train()
    cpu = time.process_time() - cpu
    return {
        "seed": seed,
        "figures": trainer.evaluate(),
        **({} if task.startswith(("ring", "grid")) else references(trainer)),
        "cpu_seconds": round(cpu, 1),
        "commit": commit(),
        "overrides": TASKS[task],
        "settings": {"data": job.data, "gan": dataclasses.asdict(job.gan), "optimizer": job.optimizer},
    }


def references(trainer: Any) -> dict[str, Any]:
    """What the same metrics say of real data and of a Gaussian mixture with full covariances, fitted to the same data."""
    from sklearn.mixture import GaussianMixture  # type: ignore[import-untyped]

    source, evaluator = trainer.data, trainer.evaluator
    flat = source.samples.reshape(len(source.samples), -1).astype(np.float64)
    mixture = GaussianMixture(COMPONENTS, covariance_type="full", random_state=0).fit(flat)
    drawn = mixture.sample(len(source.held_out))[0].reshape(-1, *source.shape)
    return {
        "real": evaluator.floor(),
        "mixture": evaluator.compare(np.clip(drawn, -1, 1).astype(np.float32)),
    }


def load(task: str) -> list[dict[str, Any]]:
    """The stored runs of a task."""
    path = RESULTS / f"{task}.json"
    return json.loads(path.read_text()) if path.exists() else []


def store(task: str, runs: list[dict[str, Any]]) -> None:
    """Write the runs of a task, one a line."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(run) for run in sorted(runs, key=lambda run: run["seed"]))
    (RESULTS / f"{task}.json").write_text(f"[\n{lines}\n]\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    results = commands.add_parser("results", help="train, store, and write the tables")
    results.add_argument("tasks", nargs="*", metavar="task", help=", ".join(TASKS))
    results.add_argument("--seeds", type=int, default=5, help="train with seeds 0 to this, less one")
    speed = commands.add_parser("speed", help="the time of a step beside PyTorch's")
    speed.add_argument("--repeats", type=int, default=15)
    memory = commands.add_parser("memory", help="memory over a long training with the garbage collector off")
    memory.add_argument("--steps", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.command == "speed":
        from benchmarks import gan_speed

        gan_speed.report(arguments.repeats)
        return
    if arguments.command == "memory":
        from benchmarks import gan_memory

        gan_memory.report(arguments.steps)
        return
    if unknown := [task for task in arguments.tasks if task not in TASKS]:
        sys.exit(f"unknown tasks {', '.join(unknown)}; known: {', '.join(TASKS)}")
    for task in arguments.tasks:
        for seed in range(arguments.seeds):
            runs = load(task)
            if any(run["seed"] == seed for run in runs):
                continue
            runs.append(train(task, seed))
            store(task, runs)
            figures = "  ".join(f"{name} {value:.4g}" for name, value in runs[-1]["figures"].items())
            print(f"{task} seed {seed}: {figures}  ({runs[-1]['cpu_seconds']} CPU s)", flush=True)
    from benchmarks import gan_tables

    gan_tables.write()


if __name__ == "__main__":
    main()
