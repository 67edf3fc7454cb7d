"""The learning loop: iterations of an agent, and what is done between them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rlgrad.training import Callback, Interrupt, MetricLogger, Progress

if TYPE_CHECKING:
    from rlgrad.agents.base import Agent

__all__ = ["train"]

_SECONDS_BETWEEN_CHECKPOINTS = 30.0


def train(
    agent: Agent,
    callbacks: Sequence[Callback],
    logger: MetricLogger | None,
    progress: bool,
    checkpoint_path: str | os.PathLike[str] | None,
    interrupt: Interrupt | None,
) -> None:
    """Iterates until the agent's `total_timesteps` are reached or something stops it; see `Agent.learn`."""
    total, saved = agent.total_timesteps, float("-inf")
    journal = _Journal(agent, logger)
    for callback in callbacks:
        callback.on_start(agent)
    with Progress(total, unit="steps", enabled=progress, completed=agent.num_timesteps) as line:
        while agent.num_timesteps < total and not agent.solved:
            figures = agent.iterate()
            metrics = {**agent.runner.tracker.metrics(), **figures}
            agent.solved = _is_solved(agent, metrics.get("rollout/return"))
            shown = {"return": metrics["rollout/return"]} if "rollout/return" in metrics else {}
            line.update(agent.num_timesteps, **shown)
            # Every callback hears of every iteration, also of the one in which another asks to stop.
            stops = [callback.on_iteration(agent, metrics) for callback in callbacks]
            journal.add(metrics)
            if any(stops) or (interrupt is not None and interrupt.requested):
                break
            if checkpoint_path is not None and time.perf_counter() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                agent.save(checkpoint_path)
                saved = time.perf_counter()
    journal.write()
    for callback in callbacks:
        callback.on_end(agent)
    if checkpoint_path is not None:
        agent.save(checkpoint_path)


def _is_solved(agent: Agent, mean_return: float | None) -> bool:
    """Whether deterministic episodes confirm, at two standard errors, what training returns suggest."""
    threshold = agent.config.solved_return
    if threshold is None:
        threshold = agent.reward_threshold
    finished = agent.runner.tracker.finished
    if threshold is None or mean_return is None or mean_return < threshold or finished < agent.next_check:
        return False
    agent.next_check = finished + agent.check_every
    # Episodes of their own for each check: meeting the same ones again and again would select for luck in them.
    result = agent.evaluate(episodes=agent.config.solved_episodes, seed=int(agent.generators["check"].integers(2**31)))
    return result.mean - 2 * result.standard_error >= threshold


class _Journal:
    """Gathers the figures of iterations and hands their means to the logger, with where the time went."""

    def __init__(self, agent: Agent, logger: MetricLogger | None) -> None:
        self.agent = agent
        self.logger = logger
        self.gathered: dict[str, list[float]] = {}
        self.first = agent.num_timesteps
        self.next = self.first + agent.log_every
        self.began = time.perf_counter()
        self.before = {"env": agent.runner.seconds, "inference": agent.seconds}

    def add(self, metrics: Mapping[str, float]) -> None:
        if self.logger is None:
            return
        for name, value in metrics.items():
            self.gathered.setdefault(name, []).append(value)
        if self.agent.num_timesteps >= self.next:
            self.write()

    def write(self) -> None:
        """Writes what was gathered; times are shares of the time since the loop began."""
        if self.logger is None or not self.gathered:
            return
        agent, elapsed = self.agent, time.perf_counter() - self.began
        entry = {name: float(np.mean(values)) for name, values in self.gathered.items()}
        seconds = {"env": agent.runner.seconds, "inference": agent.seconds}
        shares = {name: (value - self.before[name]) / elapsed for name, value in seconds.items()}
        shares["update"] = 1.0 - sum(shares.values())
        entry |= {f"time/{name}": share for name, share in shares.items()}
        entry["time/steps_per_second"] = (agent.num_timesteps - self.first) / elapsed
        self.logger.scalars(entry, agent.num_timesteps)
        self.gathered.clear()
        self.next = agent.num_timesteps + agent.log_every
