"""Adadelta, Rprop and averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rlgrad.optim.optimizer import Optimizer, average_square, rate


class Adadelta(Optimizer):
    """Steps scaled by the ratio of past changes to past gradients (Zeiler 2012).

    Args:
        params: parameters or groups of them.
        lr: factor of the change.
        rho: decay of the running means of squares.
        eps: added inside the roots.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: ascend.
    """

    state_names = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        if not 0.0 <= group["rho"] <= 1.0:
            raise ValueError(f"Invalid rho value: {group['rho']}")

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        rho, eps = group["rho"], group["eps"]
        square, changes = state
        average_square(xp, square, grad, rho, scratch)
        xp.add(changes, eps, scratch)
        xp.sqrt(scratch, scratch)
        grad *= scratch
        xp.add(square, eps, scratch)
        xp.sqrt(scratch, scratch)
        grad /= scratch
        average_square(xp, changes, grad, rho, scratch)
        grad *= rate(group)


class Rprop(Optimizer):
    """Steps that grow while the gradient keeps its sign (Riedmiller and Braun 1993).

    Args:
        params: parameters or groups of them.
        lr: first step of every element.
        etas: factors of a step when the sign changed and when it stayed.
        step_sizes: smallest and largest step.
        maximize: ascend.
    """

    state_names = ("prev", "step_size")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "etas": tuple(etas),
            "step_sizes": tuple(step_sizes),
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        smaller, larger = group["etas"]
        if not 0.0 < smaller < 1.0 < larger:
            raise ValueError(f"Invalid eta values: {smaller}, {larger}")

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        (smaller, larger), (least, most) = group["etas"], group["step_sizes"]
        previous, size = state
        if step == 1:
            size[...] = rate(group)
        xp.multiply(grad, previous, scratch)
        turned = scratch < 0
        size *= xp.where(turned, smaller, xp.where(scratch > 0, larger, 1.0))
        xp.clip(size, least, most, out=size)
        grad[turned] = 0
        previous[...] = grad
        xp.sign(grad, grad)
        grad *= size


class ASGD(Optimizer):
    """Gradient descent that also averages its iterates, in the state ``ax`` (Polyak and Juditsky 1992).

    Args:
        params: parameters or groups of them.
        lr: learning rate at the start.
        lambd: decay of the parameters.
        alpha: power of the rate's decrease.
        t0: step at which averaging starts.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: ascend.
    """

    state_names = ("ax",)
    scalar_names = {"eta": 0.0, "mu": 1.0}  # noqa: RUF012 - declared a ClassVar in the base

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def needs_values(self, group: dict[str, Any]) -> bool:
        return True

    def advance(
        self, group: dict[str, Any], step: int, scalars: dict[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        lr = rate(group)
        now = {**scalars, "eta": _single(lr)} if step == 1 else scalars
        count = np.float32(step) if group["foreach"] else step  # PyTorch counts in single precision then
        eta = lr / ((1 + group["lambd"] * lr * count) ** group["alpha"])
        return now, {"eta": eta, "mu": 1 / max(1, step - group["t0"])}

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        (average,), eta, mu = state, self.scalars["eta"], self.scalars["mu"]
        xp.multiply(values, group["lambd"] + group["weight_decay"], scratch)
        grad += scratch
        grad *= eta
        xp.subtract(values, grad, scratch)
        if mu == 1:
            average[...] = scratch
        else:
            scratch -= average
            scratch *= mu
            average += scratch


def _single(value: float) -> float:
    """A number rounded to single precision."""
    return float(np.float32(value))
