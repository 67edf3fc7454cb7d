"""Whether results must be the same from run to run, and how exact products of matrices must be.

Everything on the CPU is deterministic as it is. On a GPU, sums over repeated indices (``index_add``, ``scatter_add``, the
gradient of indexing and of an embedding) come in no fixed order unless deterministic algorithms are asked for, which
compute them in main memory.
"""

from __future__ import annotations

import warnings


class _Setting:
    """What was asked for, for all threads."""

    deterministic = False
    warn_only = False
    precision = "highest"


_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Let every operation give the same result from run to run.

    Args:
        mode: ``True`` to ask for it.
        warn_only: accepted as in PyTorch; no operation here lacks a deterministic algorithm.

    Example:
        >>> import rlgrad
        >>> rlgrad.use_deterministic_algorithms(True)
        >>> rlgrad.are_deterministic_algorithms_enabled()
        True
        >>> rlgrad.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): argument {name!r} must be bool, not {type(value).__name__}"
            )
    _Setting.deterministic, _Setting.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` is on."""
    return _Setting.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked to warn only."""
    return _Setting.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """:func:`use_deterministic_algorithms` by number or name: 0 or ``"default"``, 1 or ``"warn"``, 2 or ``"error"``."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0 where nothing was asked for, 1 where warnings were, 2 where determinism was."""
    return (1 if _Setting.warn_only else 2) if _Setting.deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact float32 products must be: ``"highest"``, ``"high"`` or ``"medium"``.

    Products are computed in float32 whatever is said, as the faster formats are only ever allowed, never demanded.

    Example:
        >>> import rlgrad
        >>> rlgrad.set_float32_matmul_precision("high")
        >>> rlgrad.get_float32_matmul_precision()
        'high'
        >>> rlgrad.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current call has no effect.",
            UserWarning,
            stacklevel=2,
        )
        return
    _Setting.precision = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was told last."""
    return _Setting.precision


__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]
