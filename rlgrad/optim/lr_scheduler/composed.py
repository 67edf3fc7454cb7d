"""Schedules made of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from rlgrad.optim.lr_scheduler.base import LRScheduler, rates_of, set_rate
from rlgrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from rlgrad.optim.optimizer import Optimizer


class _Composed(LRScheduler):
    """Schedules made of others."""

    hidden = ("optimizer", "_schedulers")
    _schedulers: list[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{type(self).__name__} got {scheduler!r} at index {index}, which is no scheduler")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{type(self).__name__} cannot give ReduceLROnPlateau (at index {index}) its metric")
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(f"{type(self).__name__}: the scheduler at index {index} has another optimizer")
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class SequentialLR(_Composed):
    """One schedule after another, the next from each of ``milestones``.

    Args:
        optimizer: whose rates are set.
        schedulers: one after the other.
        milestones: the step from which on each but the first acts, in order.
        last_epoch: steps already taken, or -1 to start.

    Example:
        >>> from rlgrad import nn, optim
        >>> from rlgrad.optim.lr_scheduler import ExponentialLR, LinearLR
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=1.0)
        >>> warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> schedule = SequentialLR(optimizer, [warmup, ExponentialLR(optimizer, gamma=0.5)], milestones=[2])
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(schedulers)} schedulers take {len(schedulers) - 1} milestones, not {len(milestones)}"
            )
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _undo(self)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(scheduler: LRScheduler) -> None:
    """Take back the first step that each part of a schedule made when it was built."""
    if isinstance(scheduler, _Composed):
        for part in scheduler._schedulers:
            _undo(part)
    else:
        scheduler.last_epoch -= 1


class ChainedScheduler(_Composed):
    """Several schedules that act on the same rates, one after the other in each step.

    Args:
        schedulers: of one optimizer; each changes the rates that those before it left.
        optimizer: theirs.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = rates_of(self.optimizer)

    def step(self, epoch: int | None = None) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)
