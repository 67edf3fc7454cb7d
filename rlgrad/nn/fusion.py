"""Running a stack of linear layers and activations as one recorded operation.

Small networks cost a framework more than their arithmetic, and every operation saved counts. A Sequential of plain
layers without hooks is computed by :func:`rlgrad.autograd.ops.mlp.mlp`; anything else layer by layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlgrad.autograd.ops.mlp import Activation, LeakyReLU, mlp, relu, sigmoid, tanh
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import activation
from rlgrad.nn.hooks import is_hooked, on_every_call
from rlgrad.nn.linear import Linear

_ACTIVATIONS: dict[type, Activation] = {
    activation.ReLU: relu,
    activation.Tanh: tanh,
    activation.Sigmoid: sigmoid,
}


def fused_forward(modules: Mapping[str, Any], input: Tensor) -> Tensor | None:
    """The output of a stack of linear layers, each perhaps with an activation; ``None`` for any other stack."""
    if on_every_call:
        return None
    parameters: list[Any] = []
    activations: list[Activation | None] = []
    for module in modules.values():
        kind = module.__class__
        if kind is Linear:
            own = module._parameters
            weight, bias = own.get("weight"), own.get("bias")
            if weight is None or bias is None:  # without a bias, or one of them computed from others
                return None
            parameters.append(weight)
            parameters.append(bias)
            activations.append(None)
        else:
            found = _ACTIVATIONS.get(kind)
            if found is None:
                if kind is not activation.LeakyReLU or not 0 < module.negative_slope <= 1:
                    return None
                found = LeakyReLU(module.negative_slope)
            if not activations or activations[-1] is not None:
                return None
            activations[-1] = found
        if (module._hooks is not None and is_hooked(module)) or "forward" in module.__dict__:
            return None
    return mlp(input, parameters, activations) if len(activations) > 1 else None
