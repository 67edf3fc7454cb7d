"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.module import Module

__all__ = ["functional_call"]

_ABSENT: Any = object()


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of the parameters and buffers that they stand for."""
    groups: dict[int, list[str]] = {}
    members = (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))
    for name, value in members:
        groups.setdefault(id(value), []).append(name)
    result = dict(given)
    for names in groups.values():
        chosen = [name for name in names if name in given]
        if len({id(given[name]) for name in chosen}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(chosen)}, which are tied")
        for name in names if chosen else ():
            result[name] = given[chosen[0]]
    return result


def _check_strict(module: Module, given: Mapping[str, Tensor]) -> None:
    members = (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))
    known = [name for name, _ in members]
    problems = [
        f"{kind} key(s): " + ", ".join(names)
        for kind, names in (
            ("Unexpected", [name for name in given if name not in known]),
            ("Missing", [name for name in known if name not in given]),
        )
        if names
    ]
    if problems:
        raise RuntimeError(f"Error(s) in swapping tensors of {type(module).__name__}:\n\t" + "\n\t".join(problems))


def _table(module: Module, path: str) -> tuple[dict[str, Any], str]:
    """Where the tensor at a dotted path is kept, and its name there."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            return table, name
    return owner.__dict__, name


@contextmanager
def _swapped(module: Module, given: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """The module with other tensors; what it has made of them by the end is put back into the dictionary."""
    places = {path: _table(module, path) for path in given}
    outer = {path: table.get(name, _ABSENT) for path, (table, name) in places.items()}
    try:
        for path, (table, name) in places.items():
            table[name] = given[path]
        yield given
    finally:
        for path, (table, name) in places.items():
            given[path] = table.get(name, given[path])
            if outer[path] is _ABSENT:
                del table[name]
            else:
                table[name] = outer[path]


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with tensors in place of some of its parameters and buffers.

    Args:
        parameters_and_buffers: tensors by dotted name, or several such dictionaries.
        args: arguments of the call; one that is not a tuple is the only one.
        kwargs: keyword arguments of the call.
        tie_weights: a tensor for one name of a shared parameter stands for all its names.
        strict: require exactly the module's names.

    Example:
        >>> import rlgrad
        >>> layer = rlgrad.nn.Linear(2, 1)
        >>> weights = {"weight": rlgrad.tensor([[1.0, 2.0]]), "bias": rlgrad.zeros(1)}
        >>> rlgrad.func.functional_call(layer, weights, rlgrad.ones(2))
        tensor([3.])
    """
    dictionaries = (
        [parameters_and_buffers] if isinstance(parameters_and_buffers, Mapping) else list(parameters_and_buffers)
    )
    given: dict[str, Tensor] = {}
    for part in dictionaries:
        repeated = sorted(set(part) & set(given))
        if repeated:
            raise ValueError(f"functional_call got {repeated} in more than one of the dictionaries")
        given.update(part)
    if tie_weights:
        given = _with_tied(module, given)
    if strict:
        _check_strict(module, given)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, given) as current:
        result = module(*arguments, **(kwargs or {}))
    for part in dictionaries:
        if isinstance(part, dict):
            part.update({name: current[name] for name in part})
    return result
