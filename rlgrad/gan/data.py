"""Where the real samples come from, by name, in the units that networks see."""

from __future__ import annotations

import hashlib
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rlgrad.backend.errors import nearest
from rlgrad.data.mixtures import GaussianMixture, grid, ring

__all__ = ["DATA", "ArraySource", "GaussianMixture", "MixtureSource", "Source", "grid", "make_data", "ring"]

Seed = int | np.random.Generator | None


class Source(ABC):
    """Real samples without end.

    Attributes:
        shape: of one sample: (features,) or (channels, height, width).
        num_classes: how many labels there are; 0 where samples have none.
    """

    shape: tuple[int, ...]
    num_classes: int = 0

    @abstractmethod
    def batch(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        """The next ``n`` samples, (n, *shape) float32 in the networks' units, and their labels (n,) int64."""

    @abstractmethod
    def restore(self, samples: np.ndarray) -> np.ndarray:
        """Samples in the networks' units, in the data's own."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """What the data is, and where in it the next batch starts."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` gave, on the same data.

        Raises:
            ValueError: the state belongs to other data.
        """


class MixtureSource(Source):
    """A mixture of Gaussians, divided by its scale."""

    def __init__(self, mixture: GaussianMixture) -> None:
        self.mixture = mixture
        self.shape = (mixture.features,)

    def batch(self, n: int) -> tuple[np.ndarray, None]:
        return self.mixture.sample(n) / np.float32(self.mixture.scale), None

    def restore(self, samples: np.ndarray) -> np.ndarray:
        return samples * np.float32(self.mixture.scale)

    def state_dict(self) -> dict[str, Any]:
        return {"kind": "mixture", **self.mixture.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.mixture.load_state_dict(state)


class ArraySource(Source):
    """Samples in memory, in a new order in every pass; a batch that runs past the end goes on in the next pass.

    Args:
        samples: (n, features) or (n, channels, height, width); images in [-1, 1].
        labels: (n,), whole numbers from 0.
        held_out: samples that training never sees, for evaluation.
        seed: of the order.
        name, options: what :func:`make_data` made it from, so that a checkpoint can make it again.

    Raises:
        ValueError: no samples, values that are not finite, images outside [-1, 1], or labels that do not fit.

    Example:
        >>> source = ArraySource(np.zeros((10, 2)), seed=0)
        >>> source.batch(4)[0].shape
        (4, 2)
    """

    def __init__(
        self,
        samples: np.ndarray,
        labels: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
        seed: Seed = None,
        name: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.samples = np.ascontiguousarray(samples, np.float32)
        if self.samples.ndim not in (2, 4) or 0 in self.samples.shape:
            raise ValueError(
                f"samples must have shape (n, features) or (n, channels, height, width); got {self.samples.shape}"
            )
        if not np.isfinite(self.samples).all():
            raise ValueError("samples must be finite; some are NaN or infinite")
        self.shape = self.samples.shape[1:]
        if self.is_image and abs(self.samples).max() > 1:
            raise ValueError(f"images must lie in [-1, 1]; the largest value is {abs(self.samples).max():g}")
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None:
            if (
                self.labels.shape != self.samples.shape[:1]
                or self.labels.dtype.kind not in "iu"
                or self.labels.min() < 0
            ):
                raise ValueError(
                    f"labels must be {len(self.samples)} whole numbers from 0; got shape {self.labels.shape}, "
                    f"{self.labels.dtype}"
                )
            self.labels = self.labels.astype(np.int64)
            self.num_classes = int(self.labels.max()) + 1
        self.held_out = None if held_out is None else np.asarray(held_out, np.float32)
        self.name, self.options = name, dict(options or {})
        self.rng = np.random.default_rng(seed)
        self._shuffle()

    @property
    def is_image(self) -> bool:
        """Whether samples are images."""
        return len(self.shape) == 3

    def _shuffle(self) -> None:
        self._before = self.rng.bit_generator.state
        self._order = self.rng.permutation(len(self.samples))
        self._position = 0

    def batch(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        rows = []
        while n > 0:
            rows.append(self._order[self._position : self._position + n])
            n -= len(rows[-1])
            self._position += len(rows[-1])
            if self._position == len(self._order):
                self._shuffle()
        chosen = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        return self.samples[chosen], None if self.labels is None else self.labels[chosen]

    def restore(self, samples: np.ndarray) -> np.ndarray:
        return samples

    @property
    def fingerprint(self) -> str:
        """SHA-256 of samples and labels."""
        found = hashlib.sha256(self.samples.tobytes())
        found.update(b"" if self.labels is None else self.labels.tobytes())
        return found.hexdigest()

    def state_dict(self) -> dict[str, Any]:
        return {
            "kind": "arrays",
            "name": self.name,
            "options": self.options,
            "fingerprint": self.fingerprint,
            "rng": self._before,
            "position": self._position,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("kind") != "arrays" or state["fingerprint"] != self.fingerprint:
            raise ValueError(
                f"the state belongs to other data ({state.get('name') or state.get('kind')}, SHA-256 "
                f"{state.get('fingerprint', '')[:12]}); this data's is {self.fingerprint[:12]}"
            )
        self.rng.bit_generator.state = state["rng"]
        self._shuffle()
        self._position = int(state["position"])


def _mixture(build: Callable[..., GaussianMixture]) -> Callable[..., Source]:
    def source(seed: Seed = None, **options: Any) -> Source:
        return MixtureSource(build(seed=seed, **options))

    source.__annotations__ = build.__annotations__
    source.__wrapped__ = build  # type: ignore[attr-defined]
    return source


def _bundled(name: str) -> Callable[..., Source]:
    def source(seed: Seed = None) -> Source:
        from rlgrad import data

        train, test = (getattr(data, name)(split, (-1.0, 1.0)).tensors for split in ("train", "test"))
        return ArraySource(train[0].numpy(), train[1].numpy(), test[0].numpy(), seed, name)

    return source


def _shape_in_the_plane(name: str) -> Callable[..., Source]:
    def source(n: int = 20_000, noise: float = 0.05, seed: Seed = None) -> Source:
        from rlgrad import data

        build = getattr(data, name)
        # The points are the same whatever the seed, which decides on their order alone.
        train, test = (build(n, noise, 0, split).tensors[0].numpy() for split in ("train", "test"))
        return ArraySource(train, None, test, seed, name, {"n": n, "noise": noise})

    return source


def npz(path: str, seed: Seed = None) -> Source:
    """Arrays ``samples`` and perhaps ``labels`` and ``held_out`` from a file of :func:`numpy.savez`; never runs code
    from it.

    Raises:
        ValueError: the file is missing, is no such file, or has no ``samples``.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("samples", "labels", "held_out") if name in file}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as an .npz file of plain arrays: {error}") from error
    if "samples" not in arrays:
        raise ValueError(f"{path} has no array 'samples': write it with np.savez(path, samples=..., labels=...)")
    return ArraySource(**arrays, seed=seed, name="npz", options={"path": path})


def images(path: str, size: int = 32, color: bool = True, seed: Seed = None) -> Source:
    """The PNG and JPEG files of a folder and its subfolders, cropped to squares and scaled; needs the extra ``images``.

    Args:
        path: folder. Subfolders directly in it are classes, if every picture lies in one.
        size: height and width to scale to.
        color: keep three channels; otherwise one of grey.
        seed: of the order.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: the folder does not exist, holds no pictures, or one cannot be read.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("reading pictures needs the extra 'images': pip install 'rlgrad[images]'") from error
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"data.path={path}: there is no folder {folder.absolute()}")
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in (".png", ".jpg", ".jpeg"))
    if not files:
        raise ValueError(f"data.path={path}: there are no .png, .jpg or .jpeg files in {folder.absolute()}")
    pixels = []
    for file in files:
        try:
            with Image.open(file) as picture:
                upright = ImageOps.exif_transpose(picture).convert("RGB" if color else "L")
                square = ImageOps.fit(upright, (size, size))
        except (OSError, SyntaxError, ValueError) as error:  # Pillow calls a broken PNG a syntax error
            raise ValueError(f"{file} cannot be read as a picture: {error}") from error
        pixels.append(np.asarray(square, np.float32).reshape(size, size, -1).transpose(2, 0, 1) / 127.5 - 1)
    classes = sorted({f.relative_to(folder).parts[0] for f in files if len(f.relative_to(folder).parts) > 1})
    labels = None
    if classes and all(len(f.relative_to(folder).parts) > 1 for f in files):
        labels = np.array([classes.index(f.relative_to(folder).parts[0]) for f in files])
    options = {"path": path, "size": size, "color": color}
    return ArraySource(np.stack(pixels), labels, None, seed, "images", options)


DATA: dict[str, Callable[..., Source]] = {
    "ring": _mixture(ring),
    "grid": _mixture(grid),
    "digits": _bundled("digits"),
    "mnist5k": _bundled("mnist5k"),
    "swiss_roll": _shape_in_the_plane("swiss_roll"),
    "two_moons": _shape_in_the_plane("two_moons"),
    "npz": npz,
    "images": images,
}


def make_data(name: str, seed: Seed = None, **options: Any) -> Source:
    """Build a data source by name.

    Args:
        name: a key of :data:`DATA`.
        seed: of its samples, or of their order.
        options: that source's own settings, for instance ``modes=12`` for the ring.

    Raises:
        ValueError: no source has that name, or it has no such setting.

    Example:
        >>> make_data("grid", seed=0, side=3).mixture
        GaussianMixture(modes=9, features=2, sigma=0.05)
    """
    if name not in DATA:
        raise ValueError(f"unknown data {name!r}; known data: {', '.join(sorted(DATA))}.{nearest(name, DATA)}")
    build = DATA[name]
    known = [parameter for parameter in build.__annotations__ if parameter not in ("seed", "return")]
    for option in options:
        if option not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"data {name!r} has no setting {option!r}; {has}.{nearest(option, known)}")
    return build(seed=seed, **options)
