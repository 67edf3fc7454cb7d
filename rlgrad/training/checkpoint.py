"""Checkpoints of training: everything that a run needs to go on, in one file."""

from __future__ import annotations

import os
from typing import Any

from rlgrad.backend.files import CheckpointError, read_tree, write_tree

__all__ = ["CheckpointError", "load_checkpoint", "save_checkpoint"]


def save_checkpoint(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write ``state`` to ``path`` so that whatever happens, ``path`` is the old file or the new one.

    The bytes go to a temporary file in the same folder, reach the disk, and only then take the name. A
    killed process or a full disk leaves the previous checkpoint as it was.

    Args:
        path: the file to write; its folder is made if it is not there.
        state: nested dicts, lists and tuples of arrays (NumPy, CuPy or rlgrad tensors), numbers, strings,
            booleans and ``None``. Integers may be of any size, dict keys strings or integers.

    Raises:
        CheckpointError: a value that is none of these, named by its place in the tree.
        OSError: the disk or the folder refuses the write; the previous file is untouched.

    Example:
        >>> import tempfile, numpy as np
        >>> path = tempfile.mkdtemp() + "/last.safetensors"
        >>> save_checkpoint(path, {"step": 2**100, "weight": np.zeros(3)})
        >>> load_checkpoint(path)["step"] == 2**100
        True
    """
    write_tree(path, state)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read back the tree that :func:`save_checkpoint` wrote, with its arrays as writable NumPy arrays.

    Args:
        path: the checkpoint file.

    Raises:
        CheckpointError: the file is missing, cut short, of another format or of a version this release
            cannot read.
    """
    state = read_tree(path)
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} is damaged: it holds a {type(state).__name__} where a dict was expected.")
    return state
