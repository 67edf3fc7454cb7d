"""RMSprop and Adagrad: steps scaled by the size of past gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rlgrad.optim.flat import Flat
from rlgrad.optim.optimizer import Optimizer, average, average_square, rate


class RMSprop(Optimizer):
    """Gradient over the root of its mean square (Hinton, lecture 6e; centered after Graves 2013).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        alpha: decay of the running mean of squares.
        eps: added outside the root.
        weight_decay: factor of the L2 penalty added to the gradient.
        momentum: share of the last change that is kept.
        centered: divide by the standard deviation instead.
        maximize: ascend.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        for name in ("momentum", "alpha"):
            if not group[name] >= 0:
                raise ValueError(f"Invalid {name} value: {group[name]}")

    def group_state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return tuple(names)

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        alpha, square = group["alpha"], state[0]
        average_square(xp, square, grad, alpha, scratch)
        if group["centered"]:
            mean = state[-1]
            average(xp, mean, grad, alpha, scratch)
            xp.multiply(mean, mean, scratch)
            xp.subtract(square, scratch, scratch)
            xp.sqrt(scratch, scratch)
        else:
            xp.sqrt(square, scratch)
        scratch += group["eps"]
        grad /= scratch
        if group["momentum"] > 0:
            buffer = state[1]
            buffer *= group["momentum"]
            buffer += grad
            grad[...] = buffer
        grad *= rate(group)


class Adagrad(Optimizer):
    """Gradient over the root of the sum of its squares (Duchi et al. 2011).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        lr_decay: the rate at step t is ``lr / (1 + (t - 1) * lr_decay)``.
        weight_decay: factor of the L2 penalty added to the gradient.
        initial_accumulator_value: where the sum of squares starts.
        eps: added outside the root.
        maximize: ascend.
    """

    state_names = ("sum",)
    state_from_start = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        for name in ("lr_decay", "initial_accumulator_value"):
            if not group[name] >= 0:
                raise ValueError(f"Invalid {name} value: {group[name]}")

    def initial_state(self, group: dict[str, Any], flat: Flat, position: int) -> None:
        flat.slices(position)["sum"][...] = group["initial_accumulator_value"]

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        (total,) = state
        xp.multiply(grad, grad, scratch)
        total += scratch
        xp.sqrt(total, scratch)
        scratch += group["eps"]
        grad /= scratch
        grad *= rate(group) / (1 + (step - 1) * group["lr_decay"])
