"""Real samples without end, in the units that networks see."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from rlgrad.data.mixtures import GaussianMixture

__all__ = ["ArraySource", "MixtureSource", "RememberedSource", "Seed", "Source"]

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
        ValueError: no samples, what is no number or not finite, images of another layout or outside [-1, 1], labels or
            held-out samples that do not fit.

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
        self.samples = _numbers(samples, "samples")
        self.shape = self.samples.shape[1:]
        self.held_out = None if held_out is None else _numbers(held_out, "held_out")
        if self.held_out is not None and self.held_out.shape[1:] != self.shape:
            raise ValueError(f"held_out has samples of shape {self.held_out.shape[1:]}, and samples of {self.shape}")
        self.labels = None if labels is None else _class_numbers(labels, len(self.samples))
        if self.labels is not None:
            self.num_classes = int(self.labels.max()) + 1
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
            "shape": list(self.shape),
            "num_classes": self.num_classes,
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
                f"{state.get('fingerprint', '')[:12]}); this data's is {self.fingerprint[:12]}. Training goes on only with "
                "the very samples with which it began"
            )
        self.rng.bit_generator.state = state["rng"]
        self._shuffle()
        self._position = int(state["position"])


class RememberedSource(Source):
    """What a checkpoint tells of data that is not read: enough to draw samples, not to train.

    Args:
        state: of the :class:`ArraySource` that was trained on.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.shape, self.num_classes, self._state = tuple(state["shape"]), int(state["num_classes"]), state

    def batch(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        raise ValueError("this trainer was loaded with to_train=False and has no data to train on or to compare with")

    def restore(self, samples: np.ndarray) -> np.ndarray:
        return samples

    def state_dict(self) -> dict[str, Any]:
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._state = state


def _numbers(samples: np.ndarray, name: str) -> np.ndarray:
    """Samples as float32, side by side in memory."""
    given = np.asarray(samples)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers; got {given.dtype}")
    if given.ndim not in (2, 4) or 0 in given.shape:
        raise ValueError(f"{name} must have shape (n, features) or (n, channels, height, width); got {given.shape}")
    found = np.ascontiguousarray(given, np.float32)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite; some are NaN or infinite")
    if found.ndim == 4:
        if found.shape[1] not in (1, 3):
            last = found.shape[3] in (1, 3)
            hint = f"; if they come last, pass {name}.transpose(0, 3, 1, 2)" if last else ""
            raise ValueError(f"images have 1 or 3 channels, which come second; {name} has shape {found.shape}{hint}")
        if (largest := abs(found).max()) > 1:
            hint = (
                f"; from 0 to 255 they get there by {name} / 127.5 - 1" if largest <= 255 and found.min() >= 0 else ""
            )
            raise ValueError(f"images must lie in [-1, 1]; the largest value of {name} is {largest:g}{hint}")
    return found


def _class_numbers(labels: np.ndarray, n: int) -> np.ndarray:
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ValueError(f"labels must be {n} whole numbers from 0; got shape {given.shape}, {given.dtype}")
    if given.min() < 0 or given.max() >= n:
        raise ValueError(
            f"labels must number the classes from 0, of which {n} samples have {n} at the most; they go from "
            f"{given.min()} to {given.max()}"
        )
    return given.astype(np.int64)
