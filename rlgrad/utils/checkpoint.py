"""Trading time for memory: run a part of the network again in backward instead of keeping what it saved."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rlgrad.autograd.modes import enable_grad
from rlgrad.autograd.saved import saved_tensors_hooks
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.random import fork_rng, get_rng_state, set_rng_state


class CheckpointError(RuntimeError):
    """The function did not do the same when it was run again."""


class _Stop(BaseException):
    """Ends a second run as soon as it has made all that is needed."""


class _Slot:
    """Takes the place of one saved tensor until it is made again."""

    __slots__ = ("__weakref__", "dtype", "frame", "shape", "value")

    def __init__(self, frame: _Frame, tensor: Tensor) -> None:
        self.frame, self.shape, self.dtype = frame, tensor.shape, tensor.dtype
        self.value: Tensor | None = None


class _Frame:
    """One call of :func:`checkpoint`: how to repeat it, and the slots that it left in the graph."""

    def __init__(self, repeat: Callable[[], Any], inputs: Sequence[Any], rng: bool, early_stop: bool) -> None:
        self.repeat, self.early_stop = repeat, early_stop
        self.state = get_rng_state() if rng else None
        self.versions = [(t, t._version) for t in inputs if isinstance(t, Tensor) and not t.is_inference()]
        self.slots: list[weakref.ref[_Slot]] = []

    def pack(self, tensor: Tensor) -> _Slot:
        slot = _Slot(self, tensor)
        self.slots.append(weakref.ref(slot))
        return slot

    @staticmethod
    def unpack(slot: _Slot) -> Tensor:
        if slot.value is None:
            slot.frame.recompute()
        value, slot.value = slot.value, None
        if value is None:
            raise CheckpointError(
                "checkpoint: a different number of tensors was saved during the original forward and recomputation: the "
                "function does not do the same when it is run again"
            )
        return value

    def recompute(self) -> None:
        for tensor, seen in self.versions:
            if tensor._version != seen:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: an "
                    f"input of checkpoint(), of shape {list(tensor.shape)}, is at version {tensor._version}; expected "
                    f"version {seen} instead"
                )
        position = 0

        def fill(tensor: Tensor) -> Tensor:
            nonlocal position
            if position == len(self.slots):
                raise CheckpointError(
                    "checkpoint: a different number of tensors was saved during the original forward and recomputation: "
                    f"{len(self.slots)} at first, more when the function was run again"
                )
            slot = self.slots[position]()
            position += 1
            if slot is not None:
                if (slot.shape, slot.dtype) != (tensor.shape, tensor.dtype):
                    raise CheckpointError(
                        "checkpoint: recomputed values have different metadata than in the forward pass: saved tensor "
                        f"{position - 1} was {slot.dtype!r} {list(slot.shape)} and is {tensor.dtype!r} {list(tensor.shape)}"
                    )
                slot.value = tensor.detach()
            if position == len(self.slots) and self.early_stop:
                raise _Stop
            return tensor.detach()

        with contextlib.suppress(_Stop), fork_rng() if self.state is not None else contextlib.nullcontext():
            if self.state is not None:
                set_rng_state(self.state)
            with enable_grad(), saved_tensors_hooks(fill, _same):
                self.repeat()


def _same(tensor: Tensor) -> Tensor:
    return tensor


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call ``function(*args, **kwargs)`` without keeping what its operations save; backward runs it once more.

    Args:
        function: what to call; it must do the same each time.
        use_reentrant: accepted as in PyTorch; the form that does not re-enter backward serves both.
        context_fn: gives two context managers, for the first and for the second run.
        determinism_check, debug: accepted as in PyTorch; shapes and dtypes are always compared.
        early_stop: end the second run as soon as everything needed is there.
        preserve_rng_state: draw the same random numbers the second time.

    Example:
        >>> import rlgrad
        >>> from rlgrad.utils.checkpoint import checkpoint
        >>> x = rlgrad.tensor(1.0, requires_grad=True)
        >>> checkpoint(lambda t: (t * 2).square(), x).backward()
        >>> x.grad
        tensor(8.)

    Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
    """
    first, second = context_fn() if context_fn is not None else (contextlib.nullcontext(), contextlib.nullcontext())

    def repeat() -> Any:
        with second:
            return function(*args, **kwargs)

    frame = _Frame(repeat, (*args, *kwargs.values()), preserve_rng_state, early_stop)
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Call functions one after the other, with every segment but the last run under :func:`checkpoint`.

    Args:
        functions: a ``Sequential`` or a list of modules or functions.
        segments: how many parts of equal length to make of them.
        input: goes into the first.
    """
    chain = list(functions)
    size = len(chain) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(_run_all(chain[start:end]), input, preserve_rng_state=preserve_rng_state)
    return _run_all(chain[end:])(input)


def _run_all(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run
