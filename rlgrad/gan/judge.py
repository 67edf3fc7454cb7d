"""A classifier trained here, whose opinion and features judge generated images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import rlgrad
from rlgrad import nn, optim
from rlgrad.nn import functional as F

__all__ = ["Judge", "frechet_distance"]


class Judge:
    """A perceptron that was trained to tell the classes of real images apart.

    Args:
        images: (n, ...), what it learns from.
        labels: (n,).
        seed: of its parameters and the order of the images.
        hidden_sizes: of its layers; the last is the features.
        epochs: passes over the images.

    Example:
        >>> x = np.concatenate([np.full((20, 2), -1.0), np.full((20, 2), 1.0)]).astype(np.float32)
        >>> float((Judge(x, np.repeat([0, 1], 20), epochs=20).classify(x) == np.repeat([0, 1], 20)).mean())
        1.0
    """

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        seed: int = 0,
        hidden_sizes: Sequence[int] = (128, 64),
        epochs: int = 30,
    ) -> None:
        rng = np.random.default_rng(seed)
        flat = images.reshape(len(images), -1)
        layers: list[nn.Module] = []
        width = flat.shape[1]
        with rlgrad.random.fork_rng(int(rng.integers(2**63))):
            for size in hidden_sizes:
                layers += [nn.Linear(width, size), nn.ReLU()]
                width = size
            self.body, self.head = nn.Sequential(*layers), nn.Linear(width, int(labels.max()) + 1)
        parameters = [*self.body.parameters(), *self.head.parameters()]
        optimizer = optim.AdamW(parameters, lr=1e-3, weight_decay=1e-2)
        for _ in range(epochs):
            order = rng.permutation(len(flat))
            for start in range(0, len(order), 64):
                rows = order[start : start + 64]
                optimizer.zero_grad()
                logits = self.head(self.body(rlgrad.from_numpy(flat[rows])))
                F.cross_entropy(logits, rlgrad.from_numpy(labels[rows])).backward()
                optimizer.step()

    def features(self, images: np.ndarray) -> np.ndarray:
        """(n, features) of images (n, ...)."""
        with rlgrad.no_grad():
            return self.body(rlgrad.from_numpy(np.ascontiguousarray(images.reshape(len(images), -1)))).numpy()

    def classify(self, images: np.ndarray) -> np.ndarray:
        """(n,) most probable classes of images (n, ...)."""
        with rlgrad.no_grad():
            return self.head(rlgrad.from_numpy(self.features(images))).numpy().argmax(axis=1)


def frechet_distance(a: np.ndarray, b: np.ndarray) -> float:
    r"""``|mu_a - mu_b|^2 + tr(S_a + S_b - 2 (S_a S_b)^{1/2})`` of two sets of features (Heusel et al. 2017, equation
    6).

    Args:
        a: (n, features).
        b: (m, features).

    Raises:
        ValueError: fewer than two rows, or different widths.
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise ValueError(f"features must be (2 or more, width) and (2 or more, width); got {a.shape} and {b.shape}")
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    first, second = np.cov(a, rowvar=False).reshape(a.shape[1], -1), np.cov(b, rowvar=False).reshape(a.shape[1], -1)
    # tr((S_a S_b)^{1/2}) is the sum of the roots of the eigenvalues of S_a^{1/2} S_b S_a^{1/2}, which is symmetric.
    values, vectors = np.linalg.eigh(first)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0.0)).sum()
    return float(((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(first) + np.trace(second) - 2 * shared)
