"""The moving average of a generator's weights, from which samples are taken."""

from __future__ import annotations

import copy
from typing import TypeVar

from rlgrad import nn
from rlgrad.optim.targets import polyak_update

__all__ = ["make_average", "update_average"]

_RAMP_UP = 0.05
"""The half-life is at most this share of the samples seen (Karras et al. 2020, `ema_rampup`)."""


Network = TypeVar("Network", bound=nn.Module)


def make_average(generator: Network) -> Network:
    """A copy of the generator that is not trained."""
    average = copy.deepcopy(generator)
    average.requires_grad_(False)
    return average


def update_average(average: nn.Module, generator: nn.Module, samples: int, seen: int, half_life: float) -> None:
    """Move the average after the trained generator; batch normalisation's statistics are copied.

    A fixed half-life would hold on to the untrained generator for as long as it lasts, so it grows with the samples
    seen.

    Args:
        average: what :func:`make_average` made of ``generator``; changed in place.
        generator: after its latest step.
        samples: generated ones of that step.
        seen: generated ones of all steps so far, these included.
        half_life: samples after which a weight has forgotten half, in the long run.
    """
    half_life = min(half_life, _RAMP_UP * seen)
    polyak_update(generator, average, 1 - 0.5 ** (samples / half_life))
    for mine, trained in zip(average.buffers(), generator.buffers(), strict=True):
        mine.copy_(trained)
