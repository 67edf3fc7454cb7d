"""Values that change over a run: learning rates, clip ranges, exploration."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Linear"]


@dataclass(frozen=True)
class Linear:
    """A value that moves in a straight line from `start` to `end`, and stays there.

    Args:
        start: value at the run's beginning.
        end: value at the end of the line; None keeps `start` throughout.
        fraction: the part of the run that the line takes, above 0 and at most 1.

    Example:
        >>> epsilon = Linear(1.0, 0.1, fraction=0.5)
        >>> epsilon(0.0), epsilon(0.25), epsilon(0.9)
        (1.0, 0.55, 0.1)
    """

    start: float
    end: float | None = None
    fraction: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.fraction <= 1.0:
            raise ValueError(f"fraction must be above 0 and at most 1, got {self.fraction}.")

    def __call__(self, progress: float) -> float:
        """The value where `progress`, from 0 to 1, of the run is done."""
        if self.end is None:
            return self.start
        part = min(max(progress / self.fraction, 0.0), 1.0)
        # In this form it is exact at both ends.
        return (1.0 - part) * self.start + part * self.end
