"""Settings of PyTorch's that have little or nothing to set here."""

from __future__ import annotations

from rlgrad.autograd.ops.define import public


def set_flush_denormal(mode: bool) -> bool:
    """Ask that tiny numbers be rounded to zero; ``False`` says that this cannot be set here."""
    return False


def get_num_interop_threads() -> int:
    """How many operations run at once: one."""
    return 1


def set_num_interop_threads(threads: int) -> None:
    """Say how many operations may run at once, which stays one.

    Raises:
        RuntimeError: for fewer than one.
    """
    if threads <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {threads}")


_warn_always = False


def set_warn_always(b: bool) -> None:
    """Remember whether each warning is to come every time, which Python's own filters decide here.

    Example:
        >>> import rlgrad
        >>> rlgrad.is_warn_always_enabled()
        False
    """
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told last."""
    return _warn_always


__all__ = public(globals())
