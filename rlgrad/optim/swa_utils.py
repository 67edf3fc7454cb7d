"""Averages of a network's weights along training: equal (SWA) or exponential (EMA), with PyTorch's names."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.nn.batchnorm import _BatchNorm
from rlgrad.nn.module import Module
from rlgrad.optim.lr_scheduler.base import LRScheduler, per_group
from rlgrad.optim.optimizer import Optimizer, rate
from rlgrad.optim.targets import move_towards

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _checked_decay(decay: float) -> float:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """An exponential moving average of all tensors at once: ``average = decay * average + (1 - decay) * current``."""
    share = 1 - _checked_decay(decay)
    return lambda averages, currents, num_averaged: move_towards(currents, averages, share)


def get_swa_multi_avg_fn() -> MultiAverage:
    """An equally weighted average of all tensors at once (Izmailov et al. 2018, section 3)."""
    return lambda averages, currents, num_averaged: move_towards(currents, averages, 1 / (float(num_averaged) + 1))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An exponential moving average of one tensor."""
    _checked_decay(decay)
    return lambda average, current, num_averaged: decay * average + (1 - decay) * current


def get_swa_avg_fn() -> Average:
    """An equally weighted average of one tensor."""
    return lambda average, current, num_averaged: average + (current - average) / (num_averaged + 1)


class AveragedModel(Module):
    """A copy of a network whose weights are an average of those it had at each :meth:`update_parameters`.

    The first update copies. Without an averaging function the average is equally weighted.

    Args:
        model: the network; it is copied.
        device: where the copy lives, if elsewhere.
        avg_fn: ``avg_fn(average, current, num_averaged)`` gives the new average of one tensor.
        multi_avg_fn: ``multi_avg_fn(averages, currents, num_averaged)`` changes a list of averages in place.
        use_buffers: average buffers too; otherwise they are copied from the network.

    Example:
        >>> from rlgrad import nn, optim
        >>> generator = nn.Linear(2, 2)
        >>> average = optim.swa_utils.AveragedModel(generator, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.99))
        >>> average.update_parameters(generator)
        >>> average.n_averaged.item()
        1
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        count = wrap(np.zeros((), np.int64))
        if device is not None:
            self.module, count = self.module.to(device), count.to(device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _tensors(self, model: Module) -> list[Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]

    def update_parameters(self, model: Module) -> None:
        """Take the weights that ``model`` has now into the average."""
        averages, currents = self._tensors(self.module), self._tensors(model)
        with no_grad():
            if self.n_averaged == 0:
                move_towards(currents, averages, 1.0)
            elif self.avg_fn is not None:
                for average, current in zip(averages, currents, strict=True):
                    there = current.detach().to(average.device)
                    average.detach().copy_(self.avg_fn(average.detach(), there, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, self.n_averaged)
            if not self.use_buffers:
                for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                    mine.copy_(theirs)
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Set the running statistics of batch normalization to those of a pass over data, each batch weighing the same.

    Args:
        loader: batches, or tuples of which the first is the input.
        model: the network, called once for each batch.
        device: where batches are moved to first.
    """
    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not layers:
        return
    momenta, training = [layer.momentum for layer in layers], model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    with no_grad():
        for batch in loader:
            given = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(given if device is None else given.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Rates that go from where they are to ``swa_lr`` and stay there.

    Args:
        optimizer: whose rates are set.
        swa_lr: last rate, for all groups or each.
        anneal_epochs: steps until it is reached.
        anneal_strategy: along a cosine (``"cos"``) or a line (``"linear"``).
        last_epoch: steps already taken, or -1 to start.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for value, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = value
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """Share of the way to ``swa_lr`` after some steps."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            start = last if before == 1 else (rate(group) - before * last) / (1 - before)
            rates.append(last * now + start * (1 - now))
        return rates
