"""Fair timing on noisy machines: candidates take turns, medians of many short repeats are compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def interleaved(
    candidates: dict[str, Callable[[], object]], repeats: int = 31, target: float = 0.02
) -> dict[str, float]:
    """Median seconds per call of each candidate.

    Args:
        candidates: functions of no arguments.
        repeats: how many turns each takes.
        target: seconds that one turn should last.
    """
    counts = {}
    for name, function in candidates.items():
        function()
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < target:
            function()
            calls += 1
        counts[name] = max(calls, 1)
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, function in candidates.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                function()
            samples[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(times) for name, times in samples.items()}
