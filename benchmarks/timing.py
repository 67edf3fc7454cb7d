"""Fair timing on noisy machines: candidates take turns, medians of many short repeats are compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def interleaved(
    candidates: dict[str, Callable[[], object]],
    repeats: int = 31,
    target: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds per call of each candidate.

    Args:
        candidates: functions of no arguments.
        repeats: how many turns each takes.
        target: seconds that one turn should last.
        clock: where others share the cores, ``time.process_time`` is steadier, for candidates of one thread.
    """
    counts = {}
    for name, function in candidates.items():
        function()
        start, calls = clock(), 0
        while clock() - start < target:
            function()
            calls += 1
        counts[name] = max(calls, 1)
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, function in candidates.items():
            start = clock()
            for _ in range(counts[name]):
                function()
            samples[name].append((clock() - start) / counts[name])
    return {name: statistics.median(times) for name, times in samples.items()}
