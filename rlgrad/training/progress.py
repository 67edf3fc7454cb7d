"""The progress line of a run: live on a terminal, one plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO

_REDRAW_SECONDS = 0.125
_PLAIN_SECONDS = 5.0


class Progress:
    """Show how far a run is, its newest figures, its speed and the time left.

    Args:
        total: the count at which the run is complete.
        unit: what is counted, ``"steps"`` or ``"iterations"``.
        enabled: ``False`` shows nothing.
        completed: the count a continued run starts from; speed and time left count from here.
        file: where to write; standard error by default, so that a command's results stay alone on standard
            output.

    Example:
        >>> with Progress(100, enabled=False) as progress:
        ...     progress.update(50, **{"return": 21.0})
    """

    def __init__(
        self,
        total: int,
        unit: str = "steps",
        enabled: bool = True,
        completed: int = 0,
        file: TextIO | None = None,
    ) -> None:
        self.total = total
        self.unit = unit
        self.enabled = enabled
        self._start_count = self._completed = completed
        self._file = file
        self._fields: dict[str, float | str] = {}
        self._live: Any = None
        self._started = self._drawn = time.monotonic()

    def __enter__(self) -> Progress:
        self._started = self._drawn = time.monotonic()
        if self.enabled:
            self._file = self._file or sys.stderr
            if self._file.isatty():
                self._start_live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.enabled:
            return
        if self._live is not None:
            self._redraw()
            self._live.stop()
            self._live = None
        elif self._completed > self._start_count:
            self._print_plain()

    def update(self, completed: int, **fields: float | str) -> None:
        """Report that ``completed`` of the total are done, with the newest value of each named figure.

        Cheap enough for every update: it draws at most eight times a second.
        """
        self._completed = completed
        self._fields.update(fields)
        if not self.enabled:
            return
        now = time.monotonic()
        if now - self._drawn < (_REDRAW_SECONDS if self._live is not None else _PLAIN_SECONDS):
            return
        self._drawn = now
        if self._live is not None:
            self._redraw()
        else:
            self._print_plain()

    def note(self, text: str) -> None:
        """Print a line of its own that stays."""
        if not self.enabled:
            return
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._file, flush=True)

    @property
    def rate(self) -> float:
        """Counts per second since the run, or its continuation, started."""
        elapsed = time.monotonic() - self._started
        return (self._completed - self._start_count) / elapsed if elapsed > 0 else 0.0

    def _describe(self) -> str:
        rate = self.rate
        parts = [f"{name} {_short(value)}" for name, value in self._fields.items()]
        parts.append(f"{rate:,.0f} {self.unit}/s")
        left = max(self.total - self._completed, 0)
        parts.append(f"{_clock(left / rate)} left" if rate > 0 else "--:-- left")
        return "  ".join(parts)

    def _start_live(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Live

        self._live = Live(
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%  {task.description}", markup=False),
            console=Console(file=self._file),
            # The loop redraws by itself; rich's own thread would compete with training for the interpreter.
            auto_refresh=False,
            # Later prints belong on their own lines below, on the streams they were meant for.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._task = self._live.add_task("starting", total=self.total, completed=self._completed)
        self._live.refresh()

    def _redraw(self) -> None:
        self._live.update(self._task, completed=self._completed, description=self._describe())
        self._live.refresh()

    def _print_plain(self) -> None:
        percent = min(100 * self._completed / self.total, 100.0) if self.total else 100.0
        counts = f"{self._completed:,}/{self.total:,} {self.unit}"
        print(f"{percent:3.0f}%  {counts}  {self._describe()}", file=self._file, flush=True)


def _short(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
