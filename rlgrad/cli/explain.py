"""Hydra's and OmegaConf's complaints in one message that names the mistake and the nearest right thing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlgrad.backend.errors import nearest
from rlgrad.cli.settings import describe_type

_GROUP_WORDS = {"env": "environment", "gan": "GAN", "data": "data set", "logger": "logger setting"}


def explain(error: Exception, keys: Mapping[str, Any], overrides: Sequence[str], conf: Path) -> str:
    """Put a composition error into words.

    Args:
        error: what Hydra or OmegaConf raised.
        keys: every setting there is, as dotted name to type.
        overrides: the command's ``name=value`` arguments.
        conf: the folder of Hydra groups.
    """
    from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

    if isinstance(error, OverrideParseException):
        if "=" not in error.override:
            return f"'{error.override}' is not of the form name=value."
        detail = "; ".join(str(error).splitlines()[1:2])
        return f"'{error.override}' cannot be read ({detail}). Quote special characters."
    if isinstance(error, MissingConfigException):
        return _explain_missing_config(error, conf)
    match = re.match(r"In '([^']+)': \w+ raised while composing", str(error))
    if match:
        return _explain_wrong_file(match.group(1), str(error), keys)
    match = re.search(r"Ambiguous value for argument '([^']+)'", str(error))
    if match:
        key, _, value = match.group(1).partition("=")
        return f"{key}={value} is ambiguous: write {key}=[{value}] for a list, or add --multirun."
    match = re.search(r"Could not override '([^']+)'", str(error))
    if match and isinstance(error, ConfigCompositionException):
        return unknown_setting(match.group(1), keys, conf)
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    place = getattr(cause, "full_key", None)
    if place and isinstance(cause, (ConfigAttributeError, ConfigKeyError)):
        return unknown_setting(place, keys, conf)
    if place and place in keys and type(cause).__name__ in ("ValidationError", "UnsupportedValueType"):
        return _explain_wrong_type(place, keys[place], overrides, cause)
    message = _first_line(error)
    if cause is not error and _first_line(cause) not in message:
        message += f": {_first_line(cause)}"
    return message


def unknown_setting(name: str, keys: Mapping[str, Any], conf: Path) -> str:
    """Say that there is no setting of this name, and which one was probably meant."""
    base = name.partition("@")[0].lstrip("+~")
    parent, _, _ = base.rpartition(".")
    siblings = [key for key in keys if key.rpartition(".")[0] == parent]
    suggestion = nearest(base, siblings) or nearest(base, keys)
    if suggestion:
        return f"There is no setting '{base}'." + suggestion.replace("'", "")
    if (conf / base).is_dir():
        top = ", ".join(key for key in keys if "." not in key)
        return f"There is no group '{base}' in this job. It has: {top}."
    shown = [key.removeprefix(f"{parent}.") for key in siblings] or [key for key in keys if "." not in key]
    owner = f"'{parent}'" if parent and siblings else "This job"
    return f"There is no setting '{base}'. {owner} has: {', '.join(sorted(shown))}."


def _explain_missing_config(error: Exception, conf: Path) -> str:
    match = re.search(r"Could not (?:find|load) '([^']+)'", str(error))
    missing = match.group(1) if match else str(getattr(error, "missing_cfg_file", "") or _first_line(error))
    group, _, name = missing.rpartition("/")
    options = sorted(path.stem for path in (conf / group).glob("*.yaml")) if group else []
    if not options:
        return f"There is no configuration '{missing}'."
    kind = _GROUP_WORDS.get(group, group)
    more = " Any other Gymnasium environment: env.id=MountainCar-v0." if group == "env" else ""
    listed = ", ".join(options)
    return f"{group}={name}: there is no {kind} '{name}'.{nearest(name, options)} There are: {listed}.{more}"


def _explain_wrong_file(name: str, text: str, keys: Mapping[str, Any]) -> str:
    """A configuration file with a wrong name or value in it."""
    lines = [line.strip() for line in text.splitlines()]
    place = next((line.partition(": ")[2] for line in lines if line.startswith("full_key")), "")
    group = name.rpartition("/")[0]
    if group and not place.startswith(f"{group}."):
        place = f"{group}.{place}"
    if place in keys:
        return f"In {name}.yaml: {place} must be {describe_type(keys[place])}. {lines[1]}."
    return f"In {name}.yaml: there is no setting '{place}'.{nearest(place, keys)}"


def _explain_wrong_type(place: str, kind: Any, overrides: Sequence[str], cause: BaseException) -> str:
    given = next((item.partition("=")[2] for item in reversed(overrides) if item.partition("=")[0] == place), None)
    if given is None:
        match = re.search(r"Value '(.*?)'", str(cause))
        given = match.group(1) if match else None
    message = f"{place} must be {describe_type(kind)}" + (f", not '{given}'." if given is not None else ".")
    if kind is int and given is not None:
        try:
            number = float(given)
        except ValueError:
            return message
        if number.is_integer():
            message += f" Write it out: {place}={int(number)}."
    return message


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
