"""What happens beside training: evaluation, checkpoints, early stops, schedules, videos.

Callbacks know no algorithm: they use what every agent has, `num_timesteps`, `progress`, `config`, `evaluate` and
`save`. They compose: each is called in turn, and sees the figures that earlier ones added.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rlgrad.backend.errors import nearest
from rlgrad.training.schedules import Linear

__all__ = [
    "Callback",
    "CheckpointCallback",
    "EvaluationCallback",
    "PeriodicCallback",
    "ScheduleCallback",
    "StopOnReward",
]


class Callback:
    """Hooks that `Agent.learn` calls; a callback overrides the ones it needs.

    Example:
        >>> class Print(Callback):
        ...     def on_iteration(self, agent, metrics):
        ...         print(agent.num_timesteps, metrics.get("rollout/return"))
    """

    def on_start(self, agent: Any) -> None:
        """Called once before the first iteration of a `learn`."""

    def on_iteration(self, agent: Any, metrics: dict[str, float]) -> bool | None:
        """Called after every iteration.

        Args:
            agent: the agent, with `num_timesteps` up to date.
            metrics: the iteration's figures, under "group/name"; what is added here is logged too.

        Returns:
            True to stop training.
        """
        return None

    def on_end(self, agent: Any) -> None:
        """Called once when `learn` returns, stopped early or not."""


class PeriodicCallback(Callback):
    """Does something each time `every` environment steps have passed, at the end of that iteration.

    Args:
        every: environment steps.
    """

    def __init__(self, every: int) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1 environment step, got {every}.")
        self.every = every
        self._done = 0

    def on_start(self, agent: Any) -> None:
        self._done = agent.num_timesteps // self.every

    def on_iteration(self, agent: Any, metrics: dict[str, float]) -> bool | None:
        periods = agent.num_timesteps // self.every
        if periods > self._done:
            self._done = periods
            self.act(agent, metrics)
        return None

    def act(self, agent: Any, metrics: dict[str, float]) -> None:
        """Called when it is time."""


class EvaluationCallback(PeriodicCallback):
    """Evaluates the agent from time to time, and keeps the best one.

    Adds "evaluation/return", "evaluation/return_std" and "evaluation/length" to the figures.

    Args:
        every: environment steps between two evaluations.
        episodes: deterministic episodes each time. They are the same ones each time, so figures compare.
        path: where to save the best agent; its figures stand beside it in a JSON file, and a resumed run goes on
            to beat them. None does not save.
        deterministic: take the most probable actions; otherwise draw them.

    Attributes:
        best: the best mean return so far; None before the first evaluation.
        history: (environment steps, mean return) of each evaluation.
    """

    def __init__(
        self, every: int, episodes: int = 20, path: str | os.PathLike[str] | None = None, deterministic: bool = True
    ) -> None:
        super().__init__(every)
        self.episodes = episodes
        self.path = None if path is None else Path(path)
        self.deterministic = deterministic
        self.best: float | None = None
        self.history: list[tuple[int, float]] = []

    def on_start(self, agent: Any) -> None:
        super().on_start(agent)
        if agent.num_timesteps and self._record is not None and self._record.exists():
            self.best = json.loads(self._record.read_text())["return"]

    def act(self, agent: Any, metrics: dict[str, float]) -> None:
        result = agent.evaluate(episodes=self.episodes, deterministic=self.deterministic)
        metrics["evaluation/return"] = result.mean
        metrics["evaluation/return_std"] = result.std
        metrics["evaluation/length"] = float(result.lengths.mean())
        self.history.append((agent.num_timesteps, result.mean))
        if self.best is None or result.mean > self.best:
            self.best = result.mean
            if self.path is not None and self._record is not None:
                agent.save(self.path)
                self._record.write_text(json.dumps({"return": result.mean, "step": agent.num_timesteps}))

    @property
    def _record(self) -> Path | None:
        return None if self.path is None else self.path.with_suffix(".json")


class CheckpointCallback(PeriodicCallback):
    """Saves the agent from time to time, under names that carry the step, and keeps the newest ones.

    Args:
        directory: folder for the files, made if it is not there.
        every: environment steps between two of them.
        keep: how many stay.
    """

    def __init__(self, directory: str | os.PathLike[str], every: int, keep: int = 3) -> None:
        super().__init__(every)
        if keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep}.")
        self.directory = Path(directory)
        self.keep = keep

    def act(self, agent: Any, metrics: dict[str, float]) -> None:
        agent.save(self.directory / f"step_{agent.num_timesteps:012d}.safetensors")
        for old in sorted(self.directory.glob("step_*.safetensors"))[: -self.keep]:
            old.unlink()


class StopOnReward(Callback):
    """Stops training once a mean return reaches a threshold.

    Args:
        threshold: the mean return.
        figure: which one: "rollout/return" of the newest training episodes, or "evaluation/return" after an
            `EvaluationCallback` that comes before this one.
    """

    def __init__(self, threshold: float, figure: str = "rollout/return") -> None:
        self.threshold = threshold
        self.figure = figure

    def on_iteration(self, agent: Any, metrics: dict[str, float]) -> bool | None:
        return metrics.get(self.figure, float("-inf")) >= self.threshold


class ScheduleCallback(Callback):
    """Moves a number in the agent's settings along with its progress.

    Args:
        setting: its name, such as "entropy_coef".
        schedule: the values from the beginning to the end of `learn`.

    Example:
        >>> schedule = ScheduleCallback("entropy_coef", Linear(0.01, 0.0))
    """

    def __init__(self, setting: str, schedule: Linear) -> None:
        self.setting = setting
        self.schedule = schedule

    def on_start(self, agent: Any) -> None:
        settings = vars(agent.config)
        if self.setting not in settings:
            raise ValueError(
                f"{type(agent.config).__name__} has no setting {self.setting!r}.{nearest(self.setting, settings)}"
            )
        setattr(agent.config, self.setting, self.schedule(agent.progress))

    def on_iteration(self, agent: Any, metrics: dict[str, float]) -> bool | None:
        setattr(agent.config, self.setting, self.schedule(agent.progress))
        return None
