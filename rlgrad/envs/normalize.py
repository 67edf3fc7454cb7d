"""Running mean and standard deviation, and rewards scaled by that of their discounted sums."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["RewardScaler", "RunningMeanStd"]


class RunningMeanStd:
    """Mean and standard deviation of everything seen so far, per element.

    Batches are merged by the parallel form of Welford's method (Chan, Golub and LeVeque, 1979), which does
    not lose precision where the mean is large against the spread. Before the first `update`, mean is 0 and
    std is 1.

    Args:
        shape: shape of one sample, `()` for scalars.

    Attributes:
        mean: (*shape) float64.
        variance: (*shape) float64, of the population.
        count: number of samples seen.
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.mean = np.zeros(shape, dtype=np.float64)
        self.variance = np.ones(shape, dtype=np.float64)
        self.count = 0

    @property
    def std(self) -> np.ndarray:
        """(*shape) standard deviation; 1 for an element that has never varied."""
        return np.where(self.variance > 1e-12, np.sqrt(self.variance), 1.0)

    def update(self, samples: np.ndarray) -> None:
        """Merges `samples: (n, *shape)` into the running figures."""
        if samples.shape[1:] != self.mean.shape:
            raise ValueError(f"Expected samples of shape (n, {self.mean.shape}), got {samples.shape}.")
        number = len(samples)
        if number == 0:
            return
        mean = samples.mean(axis=0, dtype=np.float64)
        squares = np.square(samples - mean, dtype=np.float64).sum(axis=0)
        total = self.count + number
        delta = mean - self.mean
        squares = squares + self.variance * self.count + np.square(delta) * (self.count * number / total)
        self.mean = self.mean + delta * (number / total)
        self.variance = squares / total
        self.count = total

    def normalize(self, samples: np.ndarray, clip: float = 10.0) -> np.ndarray:
        """`samples` shifted and scaled to mean 0 and std 1, clipped to [-clip, clip], as float32."""
        scaled = (samples - self.mean) / self.std
        return np.clip(scaled, -clip, clip).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """Everything that `load_state_dict` needs, as arrays and numbers."""
        return {"mean": self.mean.copy(), "variance": self.variance.copy(), "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self.mean = np.array(state["mean"], dtype=np.float64).reshape(self.mean.shape)
        self.variance = np.array(state["variance"], dtype=np.float64).reshape(self.variance.shape)
        self.count = int(state["count"])


class RewardScaler:
    """Divides rewards by the running standard deviation of their discounted sums, clipped to +-10.

    Rewards keep their sign, and value targets the size of a few units, in every environment.

    Args:
        num_envs: copies of the environment.
        gamma: discount per environment step.

    Source: Engstrom et al., Implementation Matters in Deep Policy Gradients (2020), section 3, reward scaling.
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        self.stats = RunningMeanStd()
        self.sums = np.zeros(num_envs)
        self.gamma = gamma

    def scale(self, rewards: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Takes in `rewards: (steps, num_envs)`, with the ends of episodes, and returns them scaled."""
        sums = np.empty(rewards.shape)
        for step in range(len(rewards)):
            self.sums = self.sums * self.gamma + rewards[step]
            sums[step] = self.sums
            self.sums[done[step]] = 0.0
        self.stats.update(sums.ravel())
        return np.clip(rewards / self.stats.std, -10.0, 10.0)

    def state_dict(self) -> dict[str, Any]:
        """Everything that `load_state_dict` needs."""
        return {"stats": self.stats.state_dict(), "sums": self.sums.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self.stats.load_state_dict(state["stats"])
        self.sums = np.array(state["sums"])
