"""What `check_env` says about spaces and about values that should lie in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

__all__ = ["Findings", "action_space_findings", "observation_space_findings", "outside"]

_SMALLEST_IMAGE = 36


@dataclass
class Findings:
    """What is wrong with a space, and what is unwise, one sentence each."""

    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def observation_space_findings(space: spaces.Space[Any], name: str = "observation_space") -> Findings:
    """Kinds that agents cannot read, impossible bounds, and images that are not bytes."""
    found = Findings()
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, part in named:
            inner = observation_space_findings(part, f"{name}[{key!r}]")
            found.problems += inner.problems
            found.remarks += inner.remarks
    elif isinstance(space, spaces.Box):
        _look_at_bounds(space, name, found)
        _look_at_image(space, name, found)
    elif not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        found.problems.append(
            f"{name} is {space}, which no agent reads: use Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of these."
        )
    return found


def action_space_findings(space: spaces.Space[Any]) -> Findings:
    """Kinds that agents cannot act in, and bounds that are not -1 and 1."""
    found = Findings()
    if isinstance(space, spaces.Box):
        _look_at_bounds(space, "action_space", found)
        if not np.issubdtype(space.dtype, np.floating):
            found.problems.append(
                f"action_space is a Box of {space.dtype}: use a Box of floats, or MultiDiscrete for integers."
            )
        elif not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            found.remarks.append(
                "action_space has no finite bounds: SAC and TD3 need them, and policies start at the size of 1."
            )
        elif not ((space.low == -1).all() and (space.high == 1).all()):
            found.remarks.append(
                f"action_space is not normalised: its bounds are {_range(space)}. Agents of this package map [-1, 1] onto them; "
                "other code may not."
            )
    elif not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        found.problems.append(
            f"action_space is {space}, which no agent acts in: use Discrete, MultiDiscrete, MultiBinary or a Box of floats."
        )
    return found


def outside(space: spaces.Space[Any], value: Any, name: str) -> list[str]:
    """Sentences that say why `value` is not an element of `space`; none if it is one."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        return _parts_outside(space, value, name)
    if isinstance(space, spaces.Discrete):
        if isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.shape == ()):
            inside = space.start <= int(value) < space.start + space.n
            return [] if inside else [f"{name} is {value}, outside {space}."]
        return [f"{name} must be an integer of {space}, but is {value!r} of type {type(value).__name__}."]
    if not isinstance(value, (np.ndarray, np.generic)):
        return [f"{name} must be a NumPy array of {space}, but is a {type(value).__name__}."]
    return _array_outside(space, np.asarray(value), name)


def _array_outside(space: spaces.Space[Any], value: np.ndarray, name: str) -> list[str]:
    sentences = []
    if value.shape != space.shape:
        return [f"{name} has shape {value.shape}, but the space says {space.shape}."]
    if not np.can_cast(value.dtype, space.dtype or value.dtype):
        sentences.append(f"{name} is of {value.dtype}, but the space says {space.dtype}: use .astype({space.dtype}).")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        return [*sentences, f"{name} holds {value[where]} at index {where}."]
    if isinstance(space, spaces.Box):
        low, high, count = space.low, space.high, "the bounds"
    elif isinstance(space, spaces.MultiDiscrete):
        low, high, count = space.start, space.start + space.nvec - 1, "the choices"
    else:
        low, high, count = np.zeros(space.shape or ()), np.ones(space.shape or ()), "the values"
    wrong = (value < low) | (value > high)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        sentences.append(
            f"{name} is {value[where]} at index {where}, but {count} there are {low[where]} to {high[where]}."
        )
    return sentences


def _parts_outside(space: Any, value: Any, name: str) -> list[str]:
    kind: Any = dict if isinstance(space, spaces.Dict) else tuple
    if not isinstance(value, kind):
        return [f"{name} must be a {kind.__name__}, but is a {type(value).__name__}."]
    names = list(space.spaces) if isinstance(space, spaces.Dict) else list(range(len(space.spaces)))
    given = list(value) if kind is dict else list(range(len(value)))
    if sorted(map(str, names)) != sorted(map(str, given)):
        return [f"{name} must have the parts {names}, but has {given}."]
    return [sentence for key in names for sentence in outside(space[key], value[key], f"{name}[{key!r}]")]


def _look_at_bounds(space: spaces.Box, name: str, found: Findings) -> None:
    if (space.low > space.high).any():
        found.problems.append(f"{name} has a lower bound above the upper one: {_range(space)}.")
    elif (space.low == space.high).all():
        found.problems.append(f"{name} allows a single value: low and high are both {_range(space)}.")


def _look_at_image(space: spaces.Box, name: str, found: Findings) -> None:
    shape = space.shape
    if len(shape) != 3:
        return
    channels_at_an_end = min(shape[0], shape[-1]) <= 16
    if not channels_at_an_end:
        found.remarks.append(
            f"{name} of shape {shape} has channels neither first nor last: images are (channels, height, width) or "
            "(height, width, channels)."
        )
    if space.dtype != np.uint8:
        found.remarks.append(
            f"{name} of shape {shape} looks like an image but is of {space.dtype}, so it is read as plain numbers: return uint8 "
            "from 0 to 255, which is also a quarter of the memory."
        )
    elif not ((space.low == 0).all() and (space.high == 255).all()):
        found.remarks.append(f"{name} is an image with bounds {_range(space)}: images of bytes go from 0 to 255.")
    elif channels_at_an_end:
        sides = sorted(shape)[1:]
        if min(sides) < _SMALLEST_IMAGE:
            found.remarks.append(
                f"{name} of shape {shape} is smaller than {_SMALLEST_IMAGE} x {_SMALLEST_IMAGE}, too small for the default "
                "convolutional network: pass a network of your own."
            )


def _range(space: spaces.Box) -> str:
    low, high = np.unique(space.low), np.unique(space.high)
    return f"{low.min() if len(low) == 1 else low.tolist()} to {high.max() if len(high) == 1 else high.tolist()}"
