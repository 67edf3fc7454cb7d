"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rlgrad.optim.optimizer import Optimizer, constant, rate


class Adam(Optimizer):
    """Adaptive moments (Kingma and Ba 2015, algorithm 1; AMSGrad after Reddi et al. 2018).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the running means of the gradient and of its square.
        eps: added to the root of the second moment.
        weight_decay: factor of the L2 penalty added to the gradient.
        amsgrad: divide by the largest second moment seen so far.
        maximize: ascend.
        decoupled_weight_decay: shrink the parameters instead, as :class:`AdamW`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def group_state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        names = ("exp_avg", "exp_avg_sq")
        return (*names, "max_exp_avg_sq") if group["amsgrad"] else names

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, delta: Any, scratch: Any, *state: Any
    ) -> None:
        lr, (beta1, beta2), decay = rate(group), group["betas"], group["weight_decay"]
        decoupled = group["decoupled_weight_decay"]
        mean, square = state[0], state[1]
        if decay and not decoupled:
            xp.multiply(values, decay, scratch)
            grad += scratch
        mean *= constant(beta1, mean)
        xp.multiply(grad, constant(1 - beta1, grad), scratch)
        mean += scratch
        xp.multiply(grad, grad, scratch)
        scratch *= constant(1 - beta2, grad)
        square *= constant(beta2, square)
        square += scratch
        if group["amsgrad"]:
            xp.maximum(state[2], square, state[2])
            square = state[2]
        xp.sqrt(square, scratch)
        scratch *= 1 / math.sqrt(1 - beta2**step)
        scratch += constant(group["eps"], scratch)
        xp.divide(mean, scratch, delta)
        delta *= lr / (1 - beta1**step)
        if decay and decoupled:
            xp.multiply(values, lr * decay, scratch)
            delta += scratch


class AdamW(Adam):
    """:class:`Adam` with decoupled weight decay (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
