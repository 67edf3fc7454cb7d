"""Target networks that follow another, all parameters in a few array calls."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import device_of, module_of, move, on_device
from rlgrad.backend.kernels import jit
from rlgrad.nn.module import Module
from rlgrad.optim.flat import BLOCK, lay_out, side_by_side
from rlgrad.optim.optimizer import constants


def polyak_update(source: Any, target: Any, tau: float) -> None:
    """Move ``target`` towards ``source``: ``target += tau * (source - target)``, for all parameters at once.

    Args:
        source: a module, or its parameters.
        target: a module with parameters of the same shapes, or those parameters; changed in place. Modules are quicker:
            what there is to do is worked out once for each pair.
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
    if not (isinstance(source, Module) and isinstance(target, Module)):
        move_towards(_parameters(source), _parameters(target), tau)
        return
    known = _known.get(target)
    if known is None or not known.holds(source):
        known = _known[target] = _Pair(source, target)
    for part in known.parts:
        part.move(tau)


def move_towards(sources: Sequence[Tensor], targets: Sequence[Tensor], share: float) -> None:
    """Change each target in place: ``target += share * (source - target)``, integers rounded towards zero.

    Raises:
        ValueError: for numbers or shapes of tensors that do not match.
    """
    for part in _parts(sources, targets):
        part.move(share)


class _Part:
    """Targets of one dtype and device, with their sources."""

    def __init__(self, sources: list[Tensor], targets: list[Tensor]) -> None:
        self.sources, self.targets = sources, targets
        self.here, self.there = [s._array for s in sources], [t._array for t in targets]
        first = self.there[0]
        self.xp, self.device, self.dtype = module_of(first), device_of(first), first.dtype
        self.alike = self.dtype.kind == "f" and all(
            a.dtype == self.dtype and device_of(a) == self.device for a in self.here
        )
        self.pairs = [*zip(sources, self.here, strict=True), *zip(targets, self.there, strict=True)]
        self.whole: list[tuple[Any, Any]] | None = None
        self.pieces: list[tuple[Any, Any, Any]] | None = None

    def holds(self) -> bool:
        """Whether the tensors still have the arrays that this was made for."""
        for tensor, array in self.pairs:  # noqa: SIM110 - a loop is quicker than a generator
            if tensor._array is not array:
                return False
        return True

    def settle(self) -> None:
        """Find the pieces of memory that are worth keeping for many moves: from, to and work space."""
        if not self.alike:
            return
        joined, goal = side_by_side(self.here), side_by_side(self.there)
        froms, goals = ([joined], [goal]) if joined is not None and goal is not None else (self.here, self.there)
        if self.xp is not np:
            self.whole = list(zip(froms, goals, strict=True))
            return
        if sum(b.size for b in goals) >= jit.WORTH_LOADING and jit.suits(*froms, *goals):
            both = [*froms, *goals]
            if all(array.flags.c_contiguous for array in both):
                self.whole = [(a.reshape(-1), b.reshape(-1)) for a, b in zip(froms, goals, strict=True)]
        space = np.empty(max(1, min(BLOCK, max(g.size for g in goals))), self.dtype)
        self.pieces = []
        for a, b in zip(froms, goals, strict=True):
            if len(goals) == 1:
                ends = range(0, b.size, BLOCK)
                self.pieces += [(a[i : i + BLOCK], b[i : i + BLOCK], space[: min(BLOCK, b.size - i)]) for i in ends]
            else:
                self.pieces.append((a, b, np.empty(b.shape, self.dtype)))

    def move(self, share: float) -> None:
        with on_device(self.device):
            if self.whole is not None and self.xp is not np:
                _move_on_gpu(self.whole, share)
            elif self.pieces is not None:
                self._move_pieces(share)
            else:
                self._move_joined(share)
        for target in self.targets:
            target._cell[0] += 1

    def _move_pieces(self, share: float) -> None:
        pieces = self.pieces
        assert pieces is not None
        if share == 1.0:
            for a, b, _ in pieces:
                b[...] = a
            return
        if self.whole is not None:
            (part,) = constants((share,), self.whole[0][1])
            for a, b in self.whole:
                jit.shared(jit.kernels().towards, b.size, b.size, a, b, part.reshape(1))
            return
        (share,) = constants((share,), pieces[0][1])
        subtract, multiply = np.subtract, np.multiply
        for a, b, space in pieces:
            subtract(a, b, space)
            multiply(space, share, space)
            b += space

    def _move_joined(self, share: float) -> None:
        xp, there = self.xp, self.there
        change = xp.concatenate([move(a, self.device).ravel() for a in self.here])
        if share != 1.0:
            old = xp.concatenate([b.ravel() for b in there])
            change = (change - old) * share + (0 if self.alike else old)
        begin = 0
        for array in there:
            part = change[begin : begin + array.size].reshape(array.shape)
            if share != 1.0 and self.alike:
                array += part
            else:
                array[...] = part
            begin += array.size


def _move_on_gpu(pairs: list[tuple[Any, Any]], share: float) -> None:
    """Each pair in one kernel."""
    from rlgrad.backend.kernels.recording import Recording

    xp = Recording()
    source, target = xp.variable("source"), xp.variable("target")
    if share == 1.0:
        target[...] = source
    else:
        target += share * (source - target)
    for a, b in pairs:
        xp.run({"source": a}, {"target": b})


class _Pair:
    """A module and its target: what to move, and how to tell that neither was rebuilt."""

    def __init__(self, source: Module, target: Module) -> None:
        self.source = weakref.ref(source)
        sources, targets = _parameters(source), _parameters(target)
        _check(sources, targets)
        for tensors in (sources, targets):
            lay_out(tensors)
        self.parts = _parts(sources, targets)
        for part in self.parts:
            part.settle()
        tables = [(m._parameters, m._modules) for root in (source, target) for m in root.modules()]
        self.tables = [table for pair in tables for table in pair]
        self.members = self._members()

    def _members(self) -> list[int]:
        return [id(member) for table in self.tables for member in table.values()]

    def holds(self, source: Module) -> bool:
        if self.source() is not source or self._members() != self.members:
            return False
        for part in self.parts:  # noqa: SIM110 - a loop is quicker than a generator
            if not part.holds():
                return False
        return True


_known: weakref.WeakKeyDictionary[Module, _Pair] = weakref.WeakKeyDictionary()


def _parts(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> list[_Part]:
    _check(sources, targets)
    kinds: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for source, target in zip(sources, targets, strict=True):
        array = target._array
        here, there = kinds.setdefault((array.dtype, str(device_of(array))), ([], []))
        here.append(source)
        there.append(target)
    return [_Part(here, there) for here, there in kinds.values()]


def _check(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    here, there = [tuple(s._array.shape) for s in sources], [tuple(t._array.shape) for t in targets]
    if here != there:
        raise ValueError(
            f"source and target differ: {len(here)} and {len(there)} parameters, shapes {here} and {there}"
        )


def _parameters(of: Any) -> list[Tensor]:
    given: Iterable[Tensor] = of.parameters() if hasattr(of, "parameters") else of
    return list(given)
