"""``rlgrad gan``: train a generator and a discriminator against each other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlgrad.backend.devices import as_device
from rlgrad.backend.threads import set_num_threads
from rlgrad.cli.app import CHECKPOINT_NAME, EXIT_INTERRUPTED, Job, checkpoint_path, mistakes_of_the_user
from rlgrad.cli.groups import data_schema, optimizer_schema
from rlgrad.cli.settings import LoggerSettings
from rlgrad.gan import ArraySource, GANConfig, GANTrainer, Source, make_data
from rlgrad.training import Interrupt, MetricLogger, spawn_generators


@dataclass
class GANJob:
    """Settings of the job; each group's are under its name.

    Attributes:
        seed: start of every random stream of the run.
        device: ``"cpu"`` or ``"cuda"``.
        threads: for matrix products on the CPU; ``None`` takes ``OMP_NUM_THREADS``, or 1.
        progress: show the progress line.
        resume: run folder or checkpoint to continue.
    """

    seed: int = 0
    device: str = "cpu"
    threads: int | None = None
    progress: bool = True
    resume: str | None = None
    data: Any = None
    gan: GANConfig = field(default_factory=GANConfig)
    optimizer: Any = None
    logger: LoggerSettings = field(default_factory=LoggerSettings)


def train(job: GANJob, directory: Path) -> int:
    """Train, evaluate and save into ``directory``; returns the exit code."""
    checkpoint = directory / CHECKPOINT_NAME
    with mistakes_of_the_user():
        as_device(job.device)
        set_num_threads(job.threads)
        if job.resume is None:
            data = make_data(**job.data, seed=spawn_generators(job.seed, "data")["data"])
            trainer = GANTrainer(job.gan, data, seed=job.seed, device=job.device, optimizer=job.optimizer)
        else:
            trainer = GANTrainer.load(checkpoint_path(job.resume), device=job.device)
    if job.resume is None:
        # So a run that fails in its first seconds leaves a checkpoint too.
        trainer.save(checkpoint)
    purge_step = None if job.resume is None else trainer.iteration + 1
    print(
        f"GAN on {job.data['name']}{_extent(trainer.data)}, seed {job.seed}, on {job.device}: {directory}", flush=True
    )

    began = time.perf_counter()
    with MetricLogger(directory, job.logger.tensorboard, job.logger.csv, purge_step) as logger:
        with Interrupt() as interrupt:
            trainer.train(logger=logger, progress=job.progress, checkpoint_path=checkpoint, interrupt=interrupt)
        if interrupt.requested:
            print(f"Interrupted after {trainer.iteration:,} iterations. Checkpoint: {checkpoint}")
            print(f"Continue with resume={checkpoint.parent}")
            return EXIT_INTERRUPTED
        print(
            f"Stopped after {trainer.iteration:,} iterations in {time.perf_counter() - began:.1f} s",
            flush=True,
        )
        figures = trainer.evaluate()
    print(trainer.evaluator.summary(figures))
    if diagnosis := trainer.evaluator.diagnosis(figures):
        print(f"Diagnosis: {diagnosis}")
    print(f"Checkpoint: {checkpoint}")
    return 0


def _extent(data: Source) -> str:
    if not isinstance(data, ArraySource):
        return ""
    return f" ({len(data.samples):,} samples of {'x'.join(map(str, data.shape))})"


def with_data_of_path(arguments: list[str]) -> list[str]:
    """``data.path`` without ``data`` means a folder of images, or an .npz file by its ending.

    Example:
        >>> with_data_of_path(["data.path=my_images", "seed=1"])
        ['data=images', 'data.path=my_images', 'seed=1']
    """
    names = {item.partition("=")[0]: item.partition("=")[2].strip("'\"") for item in arguments}
    if "data.path" not in names or "data" in names:
        return arguments
    return ["data=npz" if names["data.path"].lower().endswith(".npz") else "data=images", *arguments]


JOB = Job("gan", "train_gan", GANJob, train, {"optimizer": optimizer_schema, "data": data_schema}, with_data_of_path)
