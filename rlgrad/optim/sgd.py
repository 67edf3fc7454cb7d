"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.optim.flat import Flat
from rlgrad.optim.optimizer import Optimizer, rate


class SGD(Optimizer):
    """Gradient descent with momentum, Nesterov's form (Sutskever et al. 2013) and weight decay.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        momentum: share of the last change that is kept.
        dampening: share of the gradient that does not enter the momentum.
        weight_decay: factor of the L2 penalty added to the gradient.
        nesterov: look ahead along the momentum.
        maximize: ascend.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        if group["momentum"] < 0:
            raise ValueError(f"Invalid momentum value: {group['momentum']}")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def group_state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _flat(self, index: int) -> list[Flat]:
        flats = self._flats[index]
        if flats and bool(flats[0].state) != bool(self.param_groups[index]["momentum"]):
            self._relay(index)  # momentum was switched on or off
        return super()._flat(index)

    @staticmethod
    def _restore(flat: Flat, position: int, known: dict[str, Any]) -> None:
        Optimizer._restore(flat, position, known)
        if known.get("momentum_buffer") is not None:  # PyTorch's SGD counts no steps; a buffer means there were some
            flat.steps[position] = max(flat.steps[position], 1)

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        if values is not None:
            values *= group["weight_decay"]
            grad += values
        momentum = group["momentum"]
        if not momentum:
            grad *= rate(group)
            return
        (buffer,) = state
        if step == 1:
            buffer[...] = grad
        else:
            buffer *= momentum
            if group["dampening"]:
                xp.multiply(grad, 1 - group["dampening"], scratch)
                buffer += scratch
            else:
                buffer += grad
        if group["nesterov"]:
            xp.multiply(buffer, momentum, scratch)
            grad += scratch
            grad *= rate(group)
        else:
            xp.multiply(buffer, rate(group), grad)

    def shown_state(self, group: dict[str, Any], step: int, arrays: dict[str, Tensor]) -> dict[str, Any]:
        return arrays
