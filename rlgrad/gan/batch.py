"""What one step of either player is computed from."""

from __future__ import annotations

from dataclasses import dataclass

from rlgrad import Tensor

__all__ = ["Batch"]


@dataclass
class Batch:
    """Real and generated samples of one step.

    Attributes:
        real: (n, *shape).
        fake: (n, *shape), perhaps with the generator's graph behind it.
        labels: (n,), of both, where training is conditional: each pair is of one class, so that a loss that compares
            pairs, and a penalty between them, ask about that class.
    """

    real: Tensor
    fake: Tensor
    labels: Tensor | None = None
