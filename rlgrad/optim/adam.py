"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.kernels import jit
from rlgrad.optim.flat import Flat
from rlgrad.optim.optimizer import Optimizer, constants, number, rate

TOGETHER = 1 << 17
"""Elements up to which it is quicker to join the gradients for one pass than to make a pass for each parameter."""


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
            "betas": _numbers(betas, foreach=bool(foreach) and not capturable),
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

    def check_options(self, group: dict[str, Any]) -> None:
        super().check_options(group)
        if isinstance(group["lr"], Tensor) and group["foreach"] and not group["capturable"]:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True; give a number")

    def group_state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        names = ("exp_avg", "exp_avg_sq")
        return (*names, "max_exp_avg_sq") if group["amsgrad"] else names

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        lr, (beta1, beta2), decay = rate(group), group["betas"], group["weight_decay"]
        keep1, take1, keep2, take2 = constants((beta1, 1 - beta1, beta2, 1 - beta2), grad)
        decoupled = group["decoupled_weight_decay"]
        mean, square = state[0], state[1]
        if decay and not decoupled:
            xp.multiply(values, decay, scratch)
            grad += scratch
        mean *= keep1
        xp.multiply(grad, take1, scratch)
        mean += scratch
        xp.multiply(grad, grad, scratch)
        scratch *= take2
        square *= keep2
        square += scratch
        if group["amsgrad"]:
            xp.maximum(state[2], square, out=state[2])
            square = state[2]
        # lr / bias1 * mean / (sqrt(square) / root + eps), with the scale moved under the fraction: a pass less.
        scale, root = (1 - beta1**step) / lr if lr else 0.0, math.sqrt(1 - beta2**step)
        xp.sqrt(square, scratch)
        scratch *= number(scale / root, grad)
        scratch += number(scale * group["eps"], grad)
        if lr:
            xp.divide(mean, scratch, grad)
        else:
            grad[...] = 0
        if decay and decoupled:
            xp.multiply(values, lr * decay, scratch)
            grad += scratch

    def update_compiled(self, group: dict[str, Any], flat: Flat, grads: list[Any], runs: list[tuple[int, int]]) -> bool:
        kernel = jit.kernels().amsgrad if group["amsgrad"] else jit.kernels().adam
        state = tuple(flat.state.values())
        if flat.joined is not None and flat.bounds[-1] <= TOGETHER:
            flat.join(grads, runs)
            for first, last in runs:
                numbers = self._numbers(group, flat.advance(first, last))
                kernel(flat.joined, flat.grad, *state, numbers, flat.bounds[first], flat.bounds[last])
                flat.changed(first, last)
            return True
        rows = flat.rows()
        if rows is None:
            return False
        remaining = iter(grads)
        for first, last in runs:
            numbers = self._numbers(group, flat.advance(first, last))
            for index in range(first, last):
                values, *own = rows[index]
                jit.shared(kernel, values.size, values.size, values, next(remaining), *own, numbers)
            flat.changed(first, last)
        return True

    @staticmethod
    def _numbers(group: dict[str, Any], step: int) -> tuple[float, ...]:
        """What :func:`rlgrad.backend.compiled.updates.adam` computes with."""
        lr, (beta1, beta2), decay = rate(group), group["betas"], float(group["weight_decay"])
        decoupled = group["decoupled_weight_decay"]
        return (
            float(beta1),
            1.0 - beta1,
            float(beta2),
            1.0 - beta2,
            lr / (1 - beta1**step),
            1 / math.sqrt(1 - beta2**step),
            float(group["eps"]),
            0.0 if decoupled else decay,
            lr * decay if decoupled else 0.0,
            -1.0 if group["maximize"] else 1.0,
        )


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


def _numbers(betas: tuple[Any, Any], foreach: bool) -> tuple[float, float]:
    """Both betas as numbers."""
    if not (all(isinstance(b, Tensor) for b in betas) or all(isinstance(b, (int, float)) for b in betas)):
        raise ValueError(f"betas must be either both floats or both Tensors, but got {betas}")
    for index, beta in enumerate(betas):
        if isinstance(beta, Tensor) and foreach:
            raise ValueError(
                f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True; give a number"
            )
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element, but got shape {tuple(beta.shape)}")
    first, second = (float(beta) for beta in betas)
    return first, second
