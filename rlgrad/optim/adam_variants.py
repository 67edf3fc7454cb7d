"""Relatives of Adam: Adamax, NAdam, RAdam and Lion."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rlgrad.optim.optimizer import Optimizer, average, average_square, rate


class Adamax(Optimizer):
    """Adam with the infinity norm of past gradients (Kingma and Ba 2015, algorithm 2).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the running mean of the gradient and of its largest size.
        eps: added to the gradient's size.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: ascend.
    """

    state_names = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        beta1, beta2 = group["betas"]
        mean, largest = state
        average(xp, mean, grad, beta1, scratch)
        xp.abs(grad, scratch)
        scratch += group["eps"]
        largest *= beta2
        xp.maximum(largest, scratch, out=largest)
        xp.divide(mean, largest, grad)
        grad *= rate(group) / (1 - beta1**step)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the root of the second moment.
        weight_decay: factor of the L2 penalty added to the gradient.
        momentum_decay: how fast the momentum's schedule approaches ``betas[0]``.
        decoupled_weight_decay: shrink the parameters instead, as AdamW does.
        maximize: ascend.
    """

    state_names = ("exp_avg", "exp_avg_sq")
    scalar_names = {"mu_product": 1.0}  # noqa: RUF012 - declared a ClassVar in the base

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        if not group["momentum_decay"] >= 0:
            raise ValueError(f"Invalid momentum_decay value: {group['momentum_decay']}")

    @staticmethod
    def _momentum(group: dict[str, Any], step: int) -> float:
        return float(group["betas"][0] * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"]))))

    def advance(
        self, group: dict[str, Any], step: int, scalars: dict[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        product = np.float32(scalars["mu_product"]) * np.float32(self._momentum(group, step))
        now = {"mu_product": float(product)}
        return now, now

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        lr, (beta1, beta2) = rate(group), group["betas"]
        if values is not None:
            values *= group["weight_decay"]
            if not group["decoupled_weight_decay"]:
                grad += values
        mean, square = state
        average(xp, mean, grad, beta1, scratch)
        average_square(xp, square, grad, beta2, scratch)
        momentum, following = self._momentum(group, step), self._momentum(group, step + 1)
        product = self.scalars["mu_product"]
        grad *= lr * (1 - momentum) / (1 - product)
        xp.multiply(mean, lr * following / (1 - product * following), scratch)
        grad += scratch
        xp.divide(square, 1 - beta2**step, scratch)
        xp.sqrt(scratch, scratch)
        scratch += group["eps"]
        grad /= scratch
        if values is not None and group["decoupled_weight_decay"]:
            values *= lr
            grad += values


class RAdam(Optimizer):
    """Adam that waits for its second moment to settle (Liu et al. 2020).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the root of the second moment.
        weight_decay: factor of the L2 penalty added to the gradient.
        decoupled_weight_decay: shrink the parameters instead, as AdamW does.
        maximize: ascend.
    """

    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        lr, (beta1, beta2) = rate(group), group["betas"]
        if values is not None:
            values *= group["weight_decay"]
            if not group["decoupled_weight_decay"]:
                grad += values
        mean, square = state
        average(xp, mean, grad, beta1, scratch)
        average_square(xp, square, grad, beta2, scratch)
        bias2 = 1 - beta2**step
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * beta2**step / bias2
        xp.multiply(mean, lr / (1 - beta1**step), grad)
        if length > 5:
            rectified = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            xp.sqrt(square, scratch)
            scratch += group["eps"]
            grad /= scratch
            grad *= math.sqrt(bias2 * rectified)
        if values is not None and group["decoupled_weight_decay"]:
            values *= lr
            grad += values


class Lion(Optimizer):
    """Sign of an interpolated momentum (Chen et al. 2023, algorithm 2).

    Args:
        params: parameters or groups of them.
        lr: learning rate; every element moves by it.
        betas: share of the momentum in the direction, and decay of the momentum.
        weight_decay: decoupled decay, times the learning rate.
        maximize: ascend.

    Example:
        >>> from rlgrad import nn, optim
        >>> optimizer = optim.Lion(nn.Linear(2, 1).parameters(), lr=1e-4)
    """

    state_names = ("exp_avg",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        (mean,), (beta1, beta2) = state, group["betas"]
        xp.subtract(mean, grad, scratch)
        mean *= beta2
        scratch *= beta1
        scratch += grad
        grad *= 1 - beta2
        mean += grad
        xp.sign(scratch, grad)
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        grad *= rate(group)
