"""Updates on a GPU: the array calls of :meth:`Optimizer.update` as one kernel that changes parameters and state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rlgrad.backend.kernels.recording import NotElementwise, Recording
from rlgrad.optim.flat import Flat

if TYPE_CHECKING:
    from rlgrad.optim.optimizer import Optimizer


def update(optimizer: Optimizer, group: dict[str, Any], flat: Flat, first: int, last: int, step: int) -> bool:
    """Update some parameters: all by one kernel where they lie side by side, or else each by one.

    Args:
        optimizer: whose ``update`` is recorded, with the numbers of this step.
        group: the options.
        flat: the parameters, with their gradients joined.
        first, last: which of them.
        step: number of this update, from 1.

    Returns:
        Whether the update could be recorded; if not, nothing has changed.
    """
    xp = Recording()
    names = [f"state{number}" for number in range(len(flat.state))]
    parameter, gradient, *state = (xp.variable(name) for name in ("parameter", "gradient", *names))
    values, grad, scratch = xp.copy(parameter), xp.copy(gradient), xp.copy(gradient)
    if group.get("maximize"):
        grad *= -1
    try:
        optimizer.update(xp, group, step, values if optimizer.needs_values(group) else None, grad, scratch, *state)
    except NotElementwise:
        return False
    parameter -= grad
    for array, *written in _pieces(flat, first, last):
        xp.run({"gradient": array}, dict(zip(["parameter", *names], written, strict=True)))
    flat.changed(first, last)
    return True


def _pieces(flat: Flat, first: int, last: int) -> Iterator[tuple[Any, ...]]:
    """Gradient, values and state, of all the parameters or of one after the other."""
    if flat.joined is not None:
        part = slice(flat.bounds[first], flat.bounds[last])
        yield flat.grad[part], flat.joined[part], *(buffer[part] for buffer in flat.state.values())
        return
    for index in range(first, last):
        array, part = flat.params[index]._array, slice(flat.bounds[index], flat.bounds[index + 1])
        yield flat.grad[part].reshape(array.shape), array, *flat.slices(index).values()
