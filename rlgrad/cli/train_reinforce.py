"""``rlgrad reinforce``: train REINFORCE in one environment."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlgrad.agents.reinforce import Reinforce, ReinforceConfig
from rlgrad.backend.devices import as_device
from rlgrad.backend.threads import set_num_threads
from rlgrad.cli.app import CHECKPOINT_NAME, EXIT_INTERRUPTED, Job, checkpoint_path, mistakes_of_the_user
from rlgrad.cli.groups import optimizer_schema
from rlgrad.cli.settings import EnvSettings, LoggerSettings
from rlgrad.training import Interrupt, MetricLogger


@dataclass
class ReinforceJob:
    """Settings of the job; each group's are under its name.

    Attributes:
        seed: start of every random stream of the run.
        device: ``"cpu"`` or ``"cuda"``.
        threads: for matrix products on the CPU; ``None`` takes ``OMP_NUM_THREADS``, or 1.
        total_timesteps: environment steps at which training stops, solved or not.
        evaluation_episodes: deterministic episodes played at the end.
        progress: show the progress line.
        resume: run folder or checkpoint to continue.
    """

    seed: int = 0
    device: str = "cpu"
    threads: int | None = None
    total_timesteps: int = 300_000
    evaluation_episodes: int = 100
    progress: bool = True
    resume: str | None = None
    env: EnvSettings = field(default_factory=EnvSettings)
    agent: ReinforceConfig = field(default_factory=ReinforceConfig)
    optimizer: Any = None
    logger: LoggerSettings = field(default_factory=LoggerSettings)

    def __post_init__(self) -> None:
        for name in ("total_timesteps", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")


def train(job: ReinforceJob, directory: Path) -> int:
    """Train, evaluate and save into ``directory``; returns the exit code."""
    checkpoint = directory / CHECKPOINT_NAME
    with mistakes_of_the_user():
        as_device(job.device)
        set_num_threads(job.threads)
        if job.resume is None:
            agent = Reinforce(
                job.env.id,
                job.agent,
                seed=job.seed,
                num_envs=job.env.num_envs,
                env_options=job.env.options,
                device=job.device,
                optimizer=job.optimizer,
            )
        else:
            agent = Reinforce.load(checkpoint_path(job.resume), device=job.device)
    print(f"REINFORCE in {job.env.id}, seed {job.seed}, on {job.device}: {directory}", flush=True)

    if job.resume is None:
        # So a run that fails in its first seconds leaves a checkpoint too.
        agent.save(checkpoint)
    purge_step = None if job.resume is None else agent.num_timesteps + 1
    began = time.perf_counter()
    with MetricLogger(directory, job.logger.tensorboard, job.logger.csv, purge_step) as logger:
        with Interrupt() as interrupt:
            agent.learn(job.total_timesteps, (), logger, job.progress, checkpoint, interrupt)
        if interrupt.requested:
            print(f"Interrupted after {agent.num_timesteps:,} steps. Checkpoint: {checkpoint}")
            print(f"Continue with resume={checkpoint.parent}")
            return EXIT_INTERRUPTED
        outcome = "Solved" if agent.solved else "Stopped"
        print(
            f"{outcome} after {agent.num_timesteps:,} steps in {time.perf_counter() - began:.1f} s",
            flush=True,
        )
        result = agent.evaluate(episodes=job.evaluation_episodes)
        logger.scalars({"evaluation/return": result.mean, "evaluation/return_std": result.std}, agent.num_timesteps)
    agent.close()
    print(f"Evaluation: mean return {result}, deterministic")
    print(f"Checkpoint: {checkpoint}")
    return 0


JOB = Job("reinforce", ReinforceJob, train, {"optimizer": optimizer_schema})
