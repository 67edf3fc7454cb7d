"""What surrounds a run: a folder proved writable before any work, and a Ctrl-C that ends it in good order."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any


def prepare_run_directory(path: str | os.PathLike[str]) -> Path:
    """Make the folder for a run's files and prove that files can be written there.

    Args:
        path: the folder; missing parents are made too.

    Returns:
        The folder's absolute path.

    Raises:
        OSError: it cannot be made or written; the message says what to do.

    Example:
        >>> import tempfile
        >>> prepare_run_directory(tempfile.mkdtemp() + "/outputs/run").is_dir()
        True
    """
    folder = Path(path).absolute()
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            # An empty file can be made on a full disk, so the probe carries a byte and waits for the disk.
            with open(probe, "wb") as file:
                file.write(b"\0")
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno,
            f"The output folder {folder} cannot be written ({error.strerror or error}). Choose another, or "
            "make it writable; training has not started",
        ) from error
    return folder


class Interrupt:
    """Turn the first Ctrl-C into a request that a training loop answers between two updates.

    A loop checks :attr:`requested`, saves and returns. A second Ctrl-C raises :class:`KeyboardInterrupt` at
    once. Off the main thread, where Python delivers no signals, it does nothing.

    Example:
        >>> with Interrupt() as interrupt:
        ...     for step in range(3):
        ...         if interrupt.requested:
        ...             break
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        self._installed = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)
            self._installed = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
