"""Target networks that follow another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import device_of, module_of, on_device


def polyak_update(source: Any, target: Any, tau: float) -> None:
    """Move ``target`` towards ``source``: ``target += tau * (source - target)``, for all parameters at once.

    Args:
        source: a module, or its parameters.
        target: a module with parameters of the same shapes, or those parameters; changed in place.
        tau: share of the way, from 0 (stay) to 1 (copy).

    Raises:
        ValueError: for a share outside [0, 1], or parameters that do not match.

    Example:
        >>> from rlgrad import nn
        >>> from rlgrad.optim.targets import polyak_update
        >>> critic, target_critic = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> polyak_update(critic, target_critic, tau=0.005)
    """
    if not 0.0 <= tau <= 1.0:
        raise ValueError(f"tau is {tau}, but it is a share from 0 to 1")
    here, there = _parameters(source), _parameters(target)
    if [p._array.shape for p in here] != [p._array.shape for p in there]:
        raise ValueError(
            f"source and target differ: {len(here)} and {len(there)} parameters, shapes "
            f"{[tuple(p._array.shape) for p in here]} and {[tuple(p._array.shape) for p in there]}"
        )
    kinds: dict[Any, list[tuple[Tensor, Tensor]]] = {}
    for a, b in zip(here, there, strict=True):
        kinds.setdefault((a._array.dtype, b._array.dtype, str(device_of(b._array))), []).append((a, b))
    for pairs in kinds.values():
        first = pairs[0][1]._array
        xp = module_of(first)
        with on_device(device_of(first)):
            change = xp.concatenate([a._array.ravel() for a, _ in pairs])
            if tau != 1.0:
                change -= xp.concatenate([b._array.ravel() for _, b in pairs])
                change *= tau
            begin = 0
            for _, b in pairs:
                array = b._array
                part = change[begin : begin + array.size].reshape(array.shape)
                if tau == 1.0:
                    array[...] = part
                else:
                    array += part
                begin += array.size
                b._cell[0] += 1


def _parameters(of: Any) -> list[Tensor]:
    given: Iterable[Tensor] = of.parameters() if hasattr(of, "parameters") else of
    return list(given)
