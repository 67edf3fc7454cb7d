"""``name=value`` arguments of the jobs that need no composed settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlgrad.backend.errors import nearest
from rlgrad.cli.app import UsageError


def plain_settings(arguments: Sequence[str], defaults: Mapping[str, str], whole: Sequence[str] = ()) -> dict[str, str]:
    """The settings that arguments give, with defaults for the others.

    Args:
        arguments: ``name=value``, of which the last counts.
        defaults: the settings there are, with the text each has when it is not given.
        whole: those that are whole numbers when they are given.

    Raises:
        UsageError: names what is no setting, or no whole number.

    Example:
        >>> plain_settings(["n=3"], {"n": "64", "seed": "0"}, whole=["n", "seed"])
        {'n': '3', 'seed': '0'}
    """
    settings = dict(defaults)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in defaults:
            known = ", ".join(defaults)
            raise UsageError(f"there is no setting {argument!r}; there are {known}.{nearest(name, defaults)}")
        settings[name] = value
    for name in whole:
        if settings[name] != defaults[name] and not settings[name].isdecimal():
            raise UsageError(f"{name} is a whole number, not {settings[name]!r}.")
    return settings
