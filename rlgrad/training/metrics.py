"""Where a run's numbers and pictures go: TensorBoard events and a CSV file."""

from __future__ import annotations

import contextlib
import csv
import importlib
import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

CSV_NAME = "metrics.csv"
_COLUMNS = ["step", "wall_time", "tag", "value"]


class MetricLogger:
    """Write scalars and images of a run to TensorBoard events and to ``metrics.csv``.

    Tags are ``group/name``: ``rollout/return``, ``time/steps_per_second``, ``loss/policy``. The CSV file has
    one row per value (step, wall time in seconds since 1970, tag, value), so a run may add tags at any time.

    Args:
        directory: folder of the run, made at the first write.
        tensorboard: write TensorBoard events.
        csv: write ``metrics.csv``.
        purge_step: when a run continues, the step it continues from; what an earlier part of the run logged
            at this step or later is dropped.

    Example:
        >>> import tempfile
        >>> with MetricLogger(tempfile.mkdtemp(), tensorboard=False) as logger:
        ...     logger.scalars({"rollout/return": 21.0}, step=100)
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        tensorboard: bool = True,
        csv: bool = True,
        purge_step: int | None = None,
    ) -> None:
        self.directory = Path(directory)
        self._tensorboard = tensorboard
        self._csv = csv
        self._purge_step = purge_step
        self._events: Any = None
        self._file: Any = None
        self._rows: Any = None

    def __enter__(self) -> MetricLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Log ``values`` (tag to number) at ``step``."""
        now = time.time()
        numbers = {tag: float(value) for tag, value in values.items()}
        if self._tensorboard:
            summary = _tensorboardx("proto.summary_pb2").Summary()
            for tag, number in numbers.items():
                summary.value.add(tag=tag, simple_value=number)
            self._event_writer().add_summary(summary, int(step), now)
        if self._csv:
            self._row_writer().writerows([int(step), f"{now:.3f}", tag, repr(n)] for tag, n in numbers.items())

    def image(self, tag: str, image: np.ndarray, step: int) -> None:
        """Log a picture at ``step``, and keep the newest one as ``<tag>.png`` in the run's folder.

        Args:
            tag: name such as ``"samples/ring"``; a slash becomes an underscore in the file's name.
            image: (height, width, channels) unsigned bytes, with 1, 3 or 4 channels.
            step: the step it belongs to.

        Raises:
            ValueError: the array is of another shape or dtype.
        """
        png = encode_png(image)
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / f"{tag.replace('/', '_')}.png").write_bytes(png)
        if self._tensorboard:
            height, width, channels = image.shape
            summary = _tensorboardx("proto.summary_pb2").Summary()
            entry = summary.value.add(tag=tag).image
            entry.height, entry.width, entry.colorspace = height, width, channels
            entry.encoded_image_string = png
            self._event_writer().add_summary(summary, int(step))

    def flush(self) -> None:
        """Put everything logged so far on disk."""
        if self._events is not None:
            self._events.flush()
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write out what is pending and close the files; logging again opens them again."""
        if self._events is not None:
            self._events.close()
            self._events = None
        if self._file is not None:
            self._file.close()
            self._file = self._rows = None

    def _event_writer(self) -> Any:
        if self._events is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            # Event files are named after the second they start in, so one of the same second would be lost.
            suffix = f".{len(list(self.directory.glob('events.out.*'))):03d}"
            writer = _tensorboardx("writer").FileWriter
            self._events = writer(str(self.directory), flush_secs=10, filename_suffix=suffix)
            if self._purge_step is not None:
                protocol = _tensorboardx("proto.event_pb2")
                start = protocol.SessionLog(status=protocol.SessionLog.START)
                self._events.add_event(protocol.Event(session_log=start), self._purge_step)
        return self._events

    def _row_writer(self) -> Any:
        if self._rows is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            path = self.directory / CSV_NAME
            if self._purge_step is not None and path.exists():
                _drop_rows_from(path, self._purge_step)
            self._file = open(path, "a", newline="", buffering=1 << 16)  # noqa: SIM115
            self._rows = csv.writer(self._file)
            if self._file.tell() == 0:
                self._rows.writerow(_COLUMNS)
        return self._rows


def encode_png(image: np.ndarray) -> bytes:
    """Encode (height, width, channels) unsigned bytes as a PNG file's bytes.

    Example:
        >>> encode_png(np.zeros((4, 4, 3), dtype=np.uint8))[1:4]
        b'PNG'
    """
    _check_image(image)
    return _PNG + _header(image) + _chunk(b"IDAT", _pixels(image)) + _chunk(b"IEND", b"")


def encode_animation(frames: Sequence[np.ndarray], fps: int) -> bytes:
    """Encode pictures as an animated PNG's bytes, which browsers play and other programs show the first frame of.

    Args:
        frames: (height, width, channels) unsigned bytes each, of one shape.
        fps: frames per second.

    Example:
        >>> b"acTL" in encode_animation([np.zeros((4, 4, 3), dtype=np.uint8)] * 2, fps=30)
        True

    Source: Portable Network Graphics (PNG) Specification (W3C, third edition), section 11.3.4.
    """
    if not frames:
        raise ValueError("An animation needs at least one frame.")
    for frame in frames:
        _check_image(frame)
        if frame.shape != frames[0].shape:
            raise ValueError(f"All frames have one shape, got {frames[0].shape} and {frame.shape}.")
    height, width, _ = frames[0].shape
    parts = [_PNG, _header(frames[0]), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    sequence = 0
    for index, frame in enumerate(frames):
        parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", sequence, width, height, 0, 0, 1, fps, 0, 0)))
        sequence += 1
        if index == 0:
            parts.append(_chunk(b"IDAT", _pixels(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + _pixels(frame)))
            sequence += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


_PNG = b"\x89PNG\r\n\x1a\n"


def _check_image(image: np.ndarray) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3, 4):
        raise ValueError(
            "An image is (height, width, channels) with 1, 3 or 4 channels of dtype uint8; "
            f"got shape {image.shape} of dtype {image.dtype}"
        )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _header(image: np.ndarray) -> bytes:
    height, width, channels = image.shape
    return _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0))


def _pixels(image: np.ndarray) -> bytes:
    height, width, channels = image.shape
    # PNG wants a filter byte before each row; 0 means the row follows as it is.
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    rows[:, 1:] = image.reshape(height, width * channels)
    return zlib.compress(rows.tobytes(), 6)


def read_metrics(directory: str | os.PathLike[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Read a run's ``metrics.csv`` back as tag to ``(steps, values)``, both of shape ``(n,)``."""
    columns: dict[str, tuple[list[int], list[float]]] = {}
    with open(Path(directory) / CSV_NAME, newline="") as file:
        for row in csv.DictReader(file):
            steps, values = columns.setdefault(row["tag"], ([], []))
            steps.append(int(row["step"]))
            values.append(float(row["value"]))
    return {tag: (np.array(steps), np.array(values)) for tag, (steps, values) in columns.items()}


def _drop_rows_from(path: Path, step: int) -> None:
    """Drop rows of ``step`` and later, and a last row that a killed process left half-written."""
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) == len(_COLUMNS)]
    kept = rows[:1] + [row for row in rows[1:] if int(row[0]) < step]
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "w", newline="") as file:
        csv.writer(file).writerows(kept)
    os.replace(temporary, path)


def _tensorboardx(module: str) -> ModuleType:
    name = f"tensorboardX.{module}"
    loaded = sys.modules.get(name)
    if loaded is None:
        with _hidden("torch"):
            loaded = importlib.import_module(name)
    return loaded


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Keep tensorboardX from importing PyTorch where that is installed: near a second, for nothing here."""
    hide = name not in sys.modules
    if hide:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hide:
            del sys.modules[name]
