"""Learning from recorded steps alone."""

from __future__ import annotations

import os
import zipfile
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
        ValueError: an array is missing, of another length, or holds NaN or infinity; or the file is no .npz
            file, or holds pickled objects, which are not opened.
    """
    if isinstance(dataset, (str, os.PathLike)):
        given: Mapping[str, np.ndarray] = _arrays_in(Path(dataset))
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


def _arrays_in(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} is no data set: expected an .npz file of arrays, as numpy.savez writes it.")
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def record(
    dataset: dict[str, np.ndarray], observations: ObservationCodec, actions: ActionCodec, layout: dict[str, Any]
) -> ReplayBuffer:
    """A replay memory that holds a data set, encoded, with continuous actions in units of their bounds.

    Args:
        dataset: what `read_dataset` returned.
        observations, actions: encode what the environment knows.
        layout: arguments of the replay memory, capacity and copies apart.

    Raises:
        TypeError: observations are of another kind than the environment's.
        ValueError: observations or actions do not fit the environment's spaces.
    """
    number = len(dataset["rewards"])
    buffer = ReplayBuffer(**{**layout, "capacity": number, "num_envs": 1})
    buffer.obs[:] = observations.encode(observations.check(dataset["observations"])[0])
    buffer.next_obs[:] = observations.encode(observations.check(dataset["next_observations"])[0])
    # Rounding may have put an action a little outside its bounds.
    taken = actions.from_env(dataset["actions"])
    buffer.actions[:] = taken.clip(-1.0, 1.0) if taken.dtype == np.float32 else taken
    for name in ("rewards", "terminated", "truncated"):
        getattr(buffer, name)[:] = dataset[name].reshape(number)
    buffer.size = number
    return buffer
