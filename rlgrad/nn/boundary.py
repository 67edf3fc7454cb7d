"""Where the backward pass enters and leaves a module that has backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rlgrad.autograd.function import Function
from rlgrad.autograd.modes import modes
from rlgrad.autograd.tensor import Tensor


class BackwardHookFunction(Function):
    """The identity, whose backward hands the gradients to a function."""

    @staticmethod
    def forward(
        ctx: Any, on_gradients: Callable[[tuple[Any, ...]], Any], materialize: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.on_gradients = on_gradients
        ctx.set_materialize_grads(materialize)
        outputs = tuple([tensor.view_as(tensor) for tensor in tensors])
        needed = ctx.needs_input_grad[2:]
        ctx.mark_non_differentiable(*[out for out, need in zip(outputs, needed, strict=True) if not need])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, None, *ctx.on_gradients(grads))


def _spread(values: Sequence[Any], places: Sequence[int], count: int) -> tuple[Any, ...]:
    """Gradients of the tensors among arguments, with ``None`` for all others."""
    result: list[Any] = [None] * count
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return tuple(result)


def _checked(hook: Any, result: Any, grads: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """A hook's gradients, or those from before it when it gives none."""
    if result is None:
        return grads
    result = result if isinstance(result, (tuple, list)) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(result)}, but expected {len(grads)}"
        )
    return tuple(result)


class BackwardBoundary:
    """One call of a hooked module: notes the gradients that come in at its outputs and go out at its inputs."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output: tuple[Any, ...] | None = None
        self.inputs: tuple[list[int], int] = ([], 0)
        self.outputs: tuple[list[int], int] = ([], 0)

    def _wrap(
        self, values: tuple[Any, ...], on_gradients: Callable[..., Any], materialize: bool
    ) -> tuple[tuple[Any, ...], list[int]]:
        places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        if not (modes.grad and any(values[i].requires_grad for i in places)):
            return values, []
        wrapped = BackwardHookFunction.apply(on_gradients, materialize, *[values[i] for i in places])
        result = list(values)
        for place, tensor in zip(places, wrapped, strict=True):
            result[place] = tensor
        return (tuple(result) if type(values) is tuple else type(values)(*result)), places

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        result, places = self._wrap(args, self._at_inputs, True)
        self.inputs = (places, len(args))
        return result

    def leave(self, output: Any) -> Any:
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(output).__name__}",
                stacklevel=4,
            )
        outputs = output if isinstance(output, tuple) else (output,)
        result, places = self._wrap(outputs, self._at_outputs, False)
        self.outputs = (places, len(outputs))
        return result if isinstance(output, tuple) else result[0]

    def _at_outputs(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        places, count = self.outputs
        grads = _spread(given, places, count)
        for hook in self.pre_hooks:
            grads = _checked(hook, hook.function(self.module, grads), grads, "grad_output")
        self.grad_output = grads
        if not self.inputs[0]:
            self._without_inputs(grads)
        return tuple([grads[i] for i in places])

    def _without_inputs(self, grads: tuple[Any, ...]) -> None:
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                "require gradients.",
                stacklevel=5,
            )
        nothing = (None,) * self.inputs[1]
        for hook in self.hooks:
            result = hook.function(self.module, nothing, grads)
            if result is not None and not (isinstance(result, tuple) and all(part is None for part in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_output = None

    def _at_inputs(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # the gradient came around the module's output, as in a second derivative
            return given
        places, count = self.inputs
        grads = _spread(given, places, count)
        for hook in self.hooks:
            grads = _checked(hook, hook.function(self.module, grads, self.grad_output), grads, "grad_input")
        self.grad_output = None
        return tuple([grads[i] for i in places])
