"""Saving and loading tensors: state dicts in safetensors files, never pickle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import as_device, move

__all__ = ["load", "save"]


def save(obj: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a state dict to a safetensors file, whole or not at all.

    Tensors are entries of the file under their names, so a flat state dict can be read by any tool that knows the
    format, ``safetensors.torch.load_file`` among them. In nested ones names are joined by slashes, and plain values are
    JSON in the header. Tensors that share memory are written each by itself.

    Args:
        obj: a state dict, or nested dicts, lists and tuples of tensors, arrays, numbers, strings, booleans and
            ``None``.
        path: the file to write; its folder is made if it is not there. Or an open binary file, such as a ``BytesIO``.

    Raises:
        CheckpointError: for a value that is none of these, named by its place.
        OSError: when the disk refuses; the previous file is untouched.

    Example:
        >>> import tempfile, rlgrad
        >>> path = tempfile.mkdtemp() + "/net.safetensors"
        >>> rlgrad.save(rlgrad.nn.Linear(2, 1).state_dict(), path)
        >>> rlgrad.nn.Linear(2, 1).load_state_dict(rlgrad.load(path))
        <All keys matched successfully>
    """
    if not isinstance(path, (str, os.PathLike)) and not hasattr(path, "write"):
        raise TypeError(f"save writes to a path or to an open binary file, not to {type(path).__name__}")
    from rlgrad.backend.files import CheckpointError, write_tree

    if hasattr(obj, "state_dict"):
        raise CheckpointError(
            f"{type(obj).__name__} is not saved whole, since loading it would run code: save its state_dict()"
        )
    if isinstance(path, (str, os.PathLike)):
        write_tree(path, obj)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        passing = Path(folder, "checkpoint")
        write_tree(passing, obj)
        path.write(passing.read_bytes())


def load(
    path: str | os.PathLike[str] | IO[bytes],
    device: Any = None,
    *,
    map_location: Any = None,
    weights_only: bool = True,
) -> Any:
    """Read a safetensors file that :func:`save` or any other program wrote.

    Args:
        path: the file, or an open binary one, which is read to its end.
        device: where the tensors go: the CPU, unless given.
        map_location: PyTorch's name for ``device``.
        weights_only: there is nothing else; accepted for PyTorch's sake.

    Returns:
        What was saved, with tensors for its arrays. From another program's file a dict of tensors by name: bfloat16
        becomes float32 (the same numbers), and names that ``safetensors.torch.save_model`` left out, because their
        tensor is the same as another's, are there again.

    Raises:
        CheckpointError: for a file that is missing, damaged, a pickle or another format, or numbers of a kind unknown.
        ValueError: for ``weights_only=False``, or two devices.
    """
    if not weights_only:
        raise ValueError("load never runs code from a file, so weights_only=False has nothing to offer: leave it out")
    if device is not None and map_location is not None:
        raise ValueError(f"device={device} and map_location={map_location} are the same thing: give one")
    device = map_location if device is None else device
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "read"):
            raise TypeError(f"load reads from a path or an open binary file, not from {type(path).__name__}")
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            passing = Path(folder, "checkpoint")
            passing.write_bytes(path.read())
            return load(passing, device)
    from rlgrad.backend.files import FORMAT, read_arrays, read_header, read_tree

    target = as_device("cpu" if device is None else device)
    metadata, _ = read_header(path)
    if metadata.get("format") == FORMAT:
        return _tensors(read_tree(path), target)
    found = _tensors(read_arrays(path), target)
    for name, same in metadata.items():
        if name not in found and same in found:
            found[name] = found[same]
    return found


def _tensors(value: Any, target: Any) -> Any:
    if isinstance(value, np.ndarray):
        return wrap(move(value, target))
    if isinstance(value, dict):
        return {key: _tensors(item, target) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_tensors(item, target) for item in value])
    return value
