"""Several modules of one kind as one function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.module import Module


def stack_module_state(models: Sequence[Module] | Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one class, stacked by name along a first dimension.

    The stacked parameters are leaves of their own, which an optimizer can update; :func:`vmap` over
    :func:`functional_call` runs all the modules.

    Raises:
        RuntimeError: for no modules, or such that differ in class, in training mode or in what requires grad.

    Example:
        >>> import rlgrad
        >>> from rlgrad.func import functional_call, stack_module_state, vmap
        >>> models = [rlgrad.nn.Linear(2, 3) for _ in range(4)]
        >>> state = stack_module_state(models)
        >>> run = lambda params, buffers, x: functional_call(models[0], (params, buffers), x)
        >>> vmap(run, (0, 0, None))(*state, rlgrad.ones(5, 2)).shape
        torch.Size([4, 5, 3])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    kinds = {type(model) for model in models}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise RuntimeError(f"stack_module_state: Expected all models to be of the same class, got {names}.")
    return (
        _stacked([model.named_parameters() for model in models]),
        _stacked([model.named_buffers() for model in models]),
    )


def _stacked(members: Sequence[Iterable[tuple[str, Tensor]]]) -> dict[str, Tensor]:
    tables = [dict(one) for one in members]
    result = {}
    for name in tables[0]:
        tensors = [table[name] for table in tables]
        flags = {tensor.requires_grad for tensor in tensors}
        if len(flags) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        joined = stack(tensors)
        result[name] = joined.detach().requires_grad_() if flags.pop() else joined
    return result
