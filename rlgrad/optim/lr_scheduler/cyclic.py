"""Schedules of rates that rise and fall, and of the momentum that falls and rises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rlgrad.optim.lr_scheduler.base import LRScheduler, callable_state, checked, per_group, set_rate
from rlgrad.optim.optimizer import Optimizer


def _uses_betas(optimizer: Optimizer) -> bool:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{type(optimizer).__name__} has no momentum or betas to cycle; give the schedule cycle_momentum=False"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], value: float, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr`` and one fall to nearly nothing, momentum the other way (Smith and Topin 2019).

    Args:
        optimizer: whose rates are set.
        max_lr: highest rate, for all groups or each.
        total_steps: length of the cycle; or give ``epochs`` and ``steps_per_epoch``.
        pct_start: share of the cycle that rises.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: move the momentum or ``betas[0]`` between ``base_momentum`` and ``max_momentum``.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first over this.
        three_phase: fall to the first rate as fast as it rose, then on to the last.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        checked(optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        top = float(pct_start * total_steps) - 1
        ends = [top, float(2 * pct_start * total_steps) - 2] if three_phase else [top]
        lrs = ["initial_lr", "max_lr", *(["initial_lr"] if three_phase else []), "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": lrs[i],
                "end_lr": lrs[i + 1],
                "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate([*ends, total_steps - 1])
        ]
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_betas(optimizer)
            highs = per_group("max_momentum", optimizer, max_momentum)
            lows = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups, strict=True):
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if self.last_epoch <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        part = (self.last_epoch - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                value = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                _set_momentum(group, value, self.use_beta1)
        return rates


class CyclicLR(LRScheduler):
    """Rates that rise from ``base_lr`` to ``max_lr`` and fall again, over and over (Smith 2017).

    Args:
        optimizer: whose rates are set.
        base_lr: lowest rate, for all groups or each.
        max_lr: highest rate, for all groups or each.
        step_size_up: steps of a rise.
        step_size_down: steps of a fall, as many as of a rise unless given.
        mode: ``"triangular"``, ``"triangular2"`` (half the height every cycle) or ``"exp_range"`` (``gamma ** step``).
        scale_fn: height of a cycle, in place of ``mode``.
        scale_mode: whether ``scale_fn`` is given the ``"cycle"`` or the ``"iterations"``.
        cycle_momentum: move the momentum or ``betas[0]`` the other way.
    """

    hidden = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        groups = checked(optimizer).param_groups
        lowest = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(lowest, groups, strict=True):
                set_rate(group, lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode {mode!r} is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_betas(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for high, low, group in zip(self.max_momentums, self.base_momentums, groups, strict=True):
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """Height of a cycle or step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for i, group in enumerate(self.optimizer.param_groups):
                high, low = self.max_momentums[i], self.base_momentums[i]
                _set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        custom = self._scale_fn_custom
        return {**super().state_dict(), "_scale_fn_custom": None if custom is None else callable_state(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])
