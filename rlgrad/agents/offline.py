"""Learning from recorded steps alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlgrad.agents.buffers import ReplayBuffer
from rlgrad.agents.spaces import ActionCodec, ObservationCodec

__all__ = ["Dataset", "read_dataset", "record"]

Dataset = Mapping[str, np.ndarray] | str | os.PathLike[str]
"""Arrays by name, or an .npz file of them."""

_NAMES = {
    "observations": ("observations", "obs"),
    "actions": ("actions",),
    "rewards": ("rewards",),
    "next_observations": ("next_observations", "next_obs"),
    "terminated": ("terminated", "terminals", "dones"),
    "truncated": ("truncated", "timeouts"),
}
"""What a data set holds, under the names that are in use."""


def read_dataset(dataset: Dataset) -> dict[str, np.ndarray]:
    """The arrays of a data set under their names here, checked against each other.

    Args:
        dataset: arrays (n, ...) `observations`, `actions`, `rewards`, `next_observations` and `terminated`,
            or D4RL's names for them, in the environment's units. `truncated` is optional and needed for
            returns over several steps alone, which also ask for steps in their order.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an array is missing, of another length, or holds NaN or infinity; or the file holds
            pickled objects, which are not opened.
    """
    if isinstance(dataset, (str, os.PathLike)):
        with np.load(Path(dataset), allow_pickle=False) as file:
            given: Mapping[str, np.ndarray] = {name: file[name] for name in file.files}
    else:
        given = dataset
    found: dict[str, np.ndarray] = {}
    for name, aliases in _NAMES.items():
        present = [alias for alias in aliases if alias in given]
        if present:
            found[name] = np.asarray(given[present[0]])
        elif name != "truncated":
            raise ValueError(f"The data set has no {' or '.join(aliases)}; it holds {', '.join(given)}.")
    number = len(found["observations"])
    for name, array in found.items():
        if len(array) != number:
            raise ValueError(f"The data set's {name} have {len(array)} rows, expected {number} as observations.")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"The data set's {name} hold NaN or infinity.")
    found.setdefault("truncated", np.zeros(number, bool))
    return found


def record(
    dataset: dict[str, np.ndarray], observations: ObservationCodec, actions: ActionCodec, layout: dict[str, Any]
) -> ReplayBuffer:
    """A replay memory that holds a data set, encoded, with continuous actions in units of their bounds.

    Args:
        dataset: what `read_dataset` returned.
        observations, actions: encode what the environment knows.
        layout: arguments of the replay memory, capacity and copies apart.
    """
    number = len(dataset["rewards"])
    buffer = ReplayBuffer(**{**layout, "capacity": number, "num_envs": 1})
    buffer.obs[:] = observations.encode(dataset["observations"])
    buffer.next_obs[:] = observations.encode(dataset["next_observations"])
    # Rounding may have put an action a little outside its bounds.
    taken = actions.from_env(dataset["actions"])
    buffer.actions[:] = taken.clip(-1.0, 1.0) if taken.dtype == np.float32 else taken
    for name in ("rewards", "terminated", "truncated"):
        getattr(buffer, name)[:] = dataset[name].reshape(number)
    buffer.size = number
    return buffer
