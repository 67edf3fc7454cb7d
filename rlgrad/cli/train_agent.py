"""``rlgrad train`` and ``rlgrad reinforce``: train an agent in one environment."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlgrad.agents import BY_NAME, Agent, Reinforce
from rlgrad.agents.off_policy import OffPolicyAgent
from rlgrad.backend.devices import as_device
from rlgrad.backend.threads import set_num_threads
from rlgrad.cli.app import CHECKPOINT_NAME, EXIT_INTERRUPTED, Job, checkpoint_path, mistakes_of_the_user
from rlgrad.cli.groups import agent_schema, optimizer_schema
from rlgrad.cli.settings import EnvSettings, LoggerSettings, settings_from
from rlgrad.training import Callback, CheckpointCallback, EvaluationCallback, Interrupt, MetricLogger


@dataclass
class AgentJob:
    """Settings of the job; each group's are under its name.

    Attributes:
        seed: start of every random stream of the run.
        device: ``"cpu"`` or ``"cuda"``.
        threads: for matrix products on the CPU; ``None`` takes ``OMP_NUM_THREADS``, or 1.
        total_timesteps: environment steps at which training stops, solved or not.
        evaluation_episodes: deterministic episodes played at the end, and at each evaluation before.
        evaluation_every: environment steps between evaluations that keep the best agent; 0 for none.
        checkpoint_every: environment steps between checkpoints that stay; 0 for none.
        checkpoint_keep: how many of these stay.
        video: film one episode at the end.
        progress: show the progress line.
        resume: run folder or checkpoint to continue.
    """

    seed: int = 0
    device: str = "cpu"
    threads: int | None = None
    total_timesteps: int = 300_000
    evaluation_episodes: int = 100
    evaluation_every: int = 0
    checkpoint_every: int = 0
    checkpoint_keep: int = 3
    video: bool = False
    progress: bool = True
    resume: str | None = None
    env: EnvSettings = field(default_factory=EnvSettings)
    agent: Any = None
    logger: LoggerSettings = field(default_factory=LoggerSettings)

    def __post_init__(self) -> None:
        for name in ("total_timesteps", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass
class TrainJob(AgentJob):
    """Settings of the job for any agent.

    Attributes:
        dataset: an ``.npz`` file of recorded steps, which an agent with a replay memory learns from instead of the
            environment, see :func:`rlgrad.agents.offline.read_dataset`; each timestep is then an update.
    """

    dataset: str | None = None


@dataclass
class ReinforceJob(AgentJob):
    """Settings of the job for REINFORCE, whose optimizer can be chosen."""

    optimizer: Any = None


def train(job: AgentJob, directory: Path) -> int:
    """Train, evaluate and save into ``directory``; returns the exit code."""
    checkpoint = directory / CHECKPOINT_NAME
    with mistakes_of_the_user():
        as_device(job.device)
        set_num_threads(job.threads)
        agent = make_agent(job)
        callbacks = _callbacks(job, directory)
    name = job.agent["name"]
    print(f"{name.upper()} in {job.env.id}, seed {job.seed}, on {job.device}: {directory}", flush=True)

    if job.resume is None:
        # So a run that fails in its first seconds leaves a checkpoint too.
        agent.save(checkpoint)
    purge_step = None if job.resume is None else agent.num_timesteps + 1
    began = time.perf_counter()
    with MetricLogger(directory, job.logger.tensorboard, job.logger.csv, purge_step) as logger:
        with Interrupt() as interrupt:
            agent.learn(job.total_timesteps, callbacks, logger, job.progress, checkpoint, interrupt)
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
    print(f"Evaluation: mean return {result}, deterministic")
    if job.video:
        from rlgrad.agents.video import record_video

        with mistakes_of_the_user():
            print(f"Film: {record_video(agent, directory / 'film.png', seed=job.seed)}")
    agent.close()
    print(f"Checkpoint: {checkpoint}")
    return 0


def make_agent(job: AgentJob) -> Agent:
    """The agent that a job's settings describe, new or as it was saved."""
    settings = dict(job.agent)
    agent_class, config_class = BY_NAME[settings.pop("name")]
    if isinstance(job, ReinforceJob) and agent_class is not Reinforce:
        raise ValueError(f"This job trains REINFORCE alone. Another agent: rlgrad train agent={job.agent['name']}.")
    options: dict[str, Any] = {}
    if isinstance(job, TrainJob) and job.dataset is not None:
        if not issubclass(agent_class, OffPolicyAgent):
            having = ", ".join(name for name, (kind, _) in BY_NAME.items() if issubclass(kind, OffPolicyAgent))
            raise ValueError(
                f"dataset={job.dataset}: {job.agent['name']} has no replay memory to learn from. These have: {having}."
            )
        options["dataset"] = job.dataset
    if job.resume is not None:
        return agent_class.load(checkpoint_path(job.resume), device=job.device, **options)
    config: Any = settings_from(config_class, settings, "agent")
    env_options = dict(job.env.options)
    if job.env.vectorization != "auto":
        env_options["vectorization"] = job.env.vectorization
    if isinstance(job, ReinforceJob):
        options["optimizer"] = job.optimizer
    return agent_class(
        job.env.id,
        config,
        seed=job.seed,
        num_envs=job.env.num_envs,
        env_options=env_options,
        device=job.device,
        **options,
    )


def _callbacks(job: AgentJob, directory: Path) -> list[Callback]:
    callbacks: list[Callback] = []
    if job.evaluation_every:
        best = directory / "best.safetensors"
        callbacks.append(EvaluationCallback(job.evaluation_every, job.evaluation_episodes, best))
    if job.checkpoint_every:
        callbacks.append(CheckpointCallback(directory / "checkpoints", job.checkpoint_every, job.checkpoint_keep))
    return callbacks


TRAIN = Job("train", "train", TrainJob, train, {"agent": agent_schema})
REINFORCE = Job(
    "reinforce", "train_reinforce", ReinforceJob, train, {"agent": agent_schema, "optimizer": optimizer_schema}
)
