"""A schedule that looks at how training goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsFloat

from rlgrad.optim.lr_scheduler.base import LRScheduler, checked, per_group, rates_of, set_rate
from rlgrad.optim.optimizer import Optimizer, rate


class ReduceLROnPlateau(LRScheduler):
    """Rate times ``factor`` when a metric has not improved for more than ``patience`` steps.

    Args:
        optimizer: whose rates are set.
        mode: whether ``"min"`` or ``"max"`` is better.
        factor: below 1.
        patience: steps without improvement that are let pass.
        threshold: how much better is an improvement.
        threshold_mode: as a share of the best (``"rel"``) or as such (``"abs"``).
        cooldown: steps after a reduction that do not count.
        min_lr: lowest rate, for all groups or each.
        eps: reductions by less are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, but got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = checked(optimizer)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a metric."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                reduced = max(rate(group) * self.factor, least)
                if rate(group) - reduced > self.eps:
                    set_rate(group, reduced)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * value > sign * self.best * (1.0 + sign * self.threshold)
        return sign * value > sign * self.best + self.threshold
