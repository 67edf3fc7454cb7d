"""Module hooks on the backward pass: they see the gradients at a module's outputs and inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.autograd.function import Function
from rlgrad.autograd.tensor import Tensor


class _Boundary(Function):
    @staticmethod
    def forward(ctx: Any, on_gradients: Callable[[tuple[Any, ...]], Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.on_gradients = on_gradients
        return tuple([tensor.view_as(tensor) for tensor in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, *ctx.on_gradients(grads))


class BackwardBoundary:
    """One call of a hooked module: notes the gradients that come in at its outputs and go out at its inputs."""

    def __init__(self, module: Any, hooks: dict[int, Any], pre_hooks: dict[int, Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output: tuple[Any, ...] | None = None
        self.has_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not any(args[i].requires_grad for i in places):
            return args
        self.has_inputs = True
        wrapped = _Boundary.apply(self._at_inputs, *[args[i] for i in places])
        result = list(args)
        for place, tensor in zip(places, wrapped, strict=True):
            result[place] = tensor
        return tuple(result)

    def leave(self, output: Any) -> Any:
        outputs = output if isinstance(output, tuple) else (output,)
        if not all(isinstance(o, Tensor) for o in outputs):
            raise RuntimeError(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(output).__name__}"
            )
        wrapped = _Boundary.apply(self._at_outputs, *outputs)
        return wrapped if isinstance(output, tuple) else wrapped[0]

    def _at_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in tuple(self.pre_hooks.values()):
            result = hook(self.module, grads)
            if result is not None:
                grads = result if isinstance(result, tuple) else (result,)
        self.grad_output = grads
        if not self.has_inputs:
            for hook in tuple(self.hooks.values()):
                hook(self.module, (None,), grads)
        return grads

    def _at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in tuple(self.hooks.values()):
            result = hook(self.module, grads, self.grad_output)
            if result is not None:
                grads = result if isinstance(result, tuple) else (result,)
        return grads
