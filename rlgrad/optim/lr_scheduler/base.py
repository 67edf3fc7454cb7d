"""What schedules share."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.optim.optimizer import Optimizer, rate


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each parameter group, from a list of them or one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} has {len(value)} values, but the optimizer has {count} parameter groups; give as many"
        )
    return list(value)


def checked(optimizer: Any) -> Optimizer:
    """The optimizer, or ``TypeError`` for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def rates_of(optimizer: Optimizer) -> list[float]:
    """The rate of each group now."""
    return [rate(group) for group in optimizer.param_groups]


def set_rate(group: dict[str, Any], value: float) -> None:
    """Give a group another rate; one that is a tensor is changed in place."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(value)
    else:
        group["lr"] = value


class LRScheduler:
    """Base class of schedules: :meth:`step` sets the rate of every group to what :meth:`get_lr` gives.

    Args:
        optimizer: whose rates are set.
        last_epoch: steps already taken, or -1 to start.

    Example:
        >>> from rlgrad import nn, optim
        >>> from rlgrad.optim.lr_scheduler import StepLR
        >>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.5)
        >>> schedule = StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.25]
    """

    hidden: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate(group))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                    "last_epoch >= 0; load the optimizer's state first, or leave last_epoch at -1"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._last_lr: list[float] = []
        self._initial_step()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "get_lr" in cls.__dict__:
            cls.get_lr = _inside_a_step(cls.__dict__["get_lr"])  # type: ignore[method-assign, assignment]

    def _initial_step(self) -> None:
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self.hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """The rate of each group that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """The rate of each group at ``last_epoch``, from the rates before it."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr")

    def _get_closed_form_lr(self) -> list[float]:
        return self.get_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go on by one, or to ``epoch``."""
        if self._step_count == 1 and not self._is_initial and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first rate of the schedule is "
                "skipped. Call `optimizer.step()` first.",
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates: list[float]) -> None:
        for group, value in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, value)
        self._last_lr = rates_of(self.optimizer)

    def _scaled(self, factor: float) -> list[float]:
        return [value * factor for value in rates_of(self.optimizer)]


def _inside_a_step(get_lr: Callable[[Any], list[float]]) -> Callable[[Any], list[float]]:
    """A ``get_lr`` that warns when it is not :meth:`LRScheduler.step` that calls it."""

    @functools.wraps(get_lr)
    def checked(self: Any) -> list[float]:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate of a schedule, use `get_last_lr()`.", stacklevel=2)
        return get_lr(self)

    return checked


def callable_state(function: Any) -> dict[str, Any] | None:
    """What there is to save of a callable: an object's attributes, nothing of a function."""
    return None if isinstance(function, types.FunctionType) else dict(getattr(function, "__dict__", {}))
