"""Random generators: one object per source of randomness, with a state that can be saved and restored."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from rlgrad.backend.devices import as_device, cupy, device

_starting = threading.Lock()
_refusing: list[int] = []  # threads in which random numbers may not be drawn at present, once for each block


class Generator:
    """A stream of random numbers on one device (PCG64 on the CPU, CuPy's default generator on a GPU).

    Args:
        device: ``"cpu"`` or ``"cuda"``.

    Example:
        >>> import rlgrad
        >>> g = rlgrad.Generator().manual_seed(0)
        >>> state = g.get_state()
        >>> a = rlgrad.rand(2, generator=g)
        >>> g.set_state(state)
        >>> bool((a == rlgrad.rand(2, generator=g)).all())
        True
    """

    def __init__(self, device: device | str | None = None) -> None:
        self.device = as_device(device)
        self._seed = _seed_of_the_system()
        self._numpy: np.random.Generator | None = None
        self._cupy: Any = None

    @property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator that CPU draws come from."""
        if _refusing:
            _refuse_if_asked()
        return self._started()

    def _started(self) -> np.random.Generator:
        if self._numpy is None:
            # Started by the first draw: `numpy.random` takes as long to import as a fifth of this package.
            with _starting:
                if self._numpy is None:
                    self._numpy = _stream(self._seed)
        return self._numpy

    def on(self, xp: Any) -> Any:
        """The underlying generator for an array library: NumPy's, or CuPy's seeded alike."""
        if xp is np:
            return self.numpy
        _refuse_if_asked()
        if self._cupy is None:
            self._cupy = cupy().random.default_rng(self._seed)
        return self._cupy

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed`` and return the generator."""
        self._seed = int(seed)
        self._numpy = _stream(self._seed)
        self._cupy = None
        return self

    def seed(self) -> int:
        """Restart the stream from a seed taken from the operating system, and return that seed."""
        self.manual_seed(_seed_of_the_system())
        return self._seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from."""
        return self._seed

    def get_state(self) -> dict[str, Any]:
        """The position in the stream, as plain numbers and strings."""
        return {"seed": self._seed, "numpy": self._started().bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a position that :meth:`get_state` gave."""
        self.manual_seed(state["seed"])
        self._started().bit_generator.state = state["numpy"]

    def clone_state(self) -> Generator:
        """Another generator that goes on from here on its own."""
        other = Generator(self.device)
        other.set_state(self.get_state())
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()


def _refuse_if_asked() -> None:
    if threading.get_ident() in _refusing:
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def _seed_of_the_system() -> int:
    """63 random bits from the operating system."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def _stream(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed % 2**64))


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, which parameter initialisation, dropout and ``rand`` draw from."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> dict[str, Any]:
    """The default generator's position in its stream."""
    return default_generator.get_state()


def set_rng_state(state: dict[str, Any]) -> None:
    """Put the default generator back to a position that :func:`get_rng_state` gave."""
    default_generator.set_state(state)


@contextlib.contextmanager
def refuse_draws(refused: bool) -> Iterator[None]:
    """Raise where this thread draws a random number inside the block, if ``refused``."""
    if refused:
        _refusing.append(threading.get_ident())
    try:
        yield
    finally:
        if refused:
            _refusing.remove(threading.get_ident())


@contextlib.contextmanager
def fork_rng(seed: int | None = None, *, devices: Any = None, enabled: bool = True, **others: Any) -> Iterator[None]:
    """Give the block its own stream of the default generator, and put the outer one back afterwards.

    Args:
        seed: where the inner stream starts; the outer position when not given.
        devices, others: taken as PyTorch does and not needed: one generator serves all devices.
        enabled: ``False`` does nothing.

    Example:
        >>> import rlgrad
        >>> with rlgrad.random.fork_rng(seed=7):
        ...     a = rlgrad.rand(1)
        >>> with rlgrad.random.fork_rng(seed=7):
        ...     b = rlgrad.rand(1)
        >>> bool(a == b)
        True
    """
    if not enabled:
        yield
        return
    outer = default_generator.get_state()
    try:
        if seed is not None:
            default_generator.manual_seed(seed)
        yield
    finally:
        default_generator.set_state(outer)
