"""Checkpoints: a tree of arrays and plain values in one safetensors file, written whole or not at all.

The arrays are ordinary safetensors entries, so any tool that reads the format can look at them. The rest of
the tree is JSON in the file's header. Reading one parses numbers and text and never runs code.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "rlgrad-checkpoint"
VERSION = 1

_ARRAY = "$array"
_TUPLE = "$tuple"
_DICT = "$dict"
_MARKS = (_ARRAY, _TUPLE, _DICT)


class CheckpointError(ValueError):
    """A file that is no whole checkpoint, or a value that a checkpoint cannot hold."""


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
    from safetensors.numpy import save_file

    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(state, "", arrays)
    metadata = {"format": FORMAT, "version": str(VERSION), "tree": json.dumps(tree, separators=(",", ":"))}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except OSError:
            raise
        except Exception as error:
            raise OSError(
                f"Could not write the checkpoint {path}: {error}. The previous one, if any, is kept."
            ) from error
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read back the tree that :func:`save_checkpoint` wrote, with its arrays as writable NumPy arrays.

    Args:
        path: the checkpoint file.

    Raises:
        CheckpointError: the file is missing, cut short, of another format or of a version this release
            cannot read.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    metadata = _read_metadata(path)
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: {error}. Load an earlier checkpoint.") from error
    try:
        state = _decode(json.loads(metadata["tree"]), arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{path} is damaged: its list of contents does not fit its arrays ({error!r})."
        ) from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} is damaged: it holds a {type(state).__name__} where a dict was expected.")
    return state


def _encode(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """Turn a value into JSON and move its arrays into ``arrays``, named by their place in the tree."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), place, arrays)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        items = [_encode(item, f"{place}/{index}", arrays) for index, item in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        pairs = [(_checked_key(key, place), _encode(item, f"{place}/{key}", arrays)) for key, item in value.items()]
        if any(not isinstance(key, str) or key in _MARKS for key, _ in pairs):
            return {_DICT: [list(pair) for pair in pairs]}
        return dict(pairs)
    array = _to_numpy(value)
    if array is None or array.dtype.kind not in "biuf":
        given = type(value).__name__ if array is None else f"array of dtype {array.dtype}"
        raise CheckpointError(
            f"A checkpoint cannot hold {given} (at '{place.lstrip('/')}'): expected a real or boolean array, "
            "a number, a string, a boolean, None, or a dict, list or tuple of these."
        )
    name = place.lstrip("/") or "value"
    while name in arrays:
        name += "'"
    arrays[name] = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).reshape(array.shape)
    return {_ARRAY: name}


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        mark, content = next(iter(value.items()))
        if mark == _ARRAY:
            return arrays[content]
        if mark == _TUPLE:
            return tuple(_decode(item, arrays) for item in content)
        if mark == _DICT:
            return {key: _decode(item, arrays) for key, item in content}
    return {key: _decode(item, arrays) for key, item in value.items()}


def _checked_key(key: Any, place: str) -> str | int:
    if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
        return key
    raise CheckpointError(f"A checkpoint's dict keys are strings or integers, got {key!r} (in '{place.lstrip('/')}').")


def _to_numpy(value: Any) -> np.ndarray | None:
    """The array inside a NumPy array, a CuPy array or a tensor; ``None`` for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return np.asarray(value.detach().cpu().numpy())
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return np.asarray(value.get())
    return None


def _read_metadata(path: Path) -> dict[str, str]:
    """Check the header by hand, so that each way a file can be wrong has its own sentence."""
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder: name the checkpoint file in it.")
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            start = file.read(9)
            length = int.from_bytes(start[:8], "little")
            file.seek(8)
            header = file.read(length) if 8 < size >= 8 + length else None
    except FileNotFoundError:
        raise CheckpointError(f"There is no checkpoint at {path}.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    # A JSON header opens with a brace. Its length, before it, may look like any other format's first bytes.
    opens_with_brace = start[8:9] == b"{"
    if not opens_with_brace and start[:2] == b"PK":
        raise CheckpointError(
            f"{path} is a zip archive (as torch.save and np.savez write), not a checkpoint of rlgrad; it is not opened."
        )
    if not opens_with_brace and start[:1] == b"\x80":
        raise CheckpointError(f"{path} is a pickle, and loading one runs code: rlgrad does not open pickles.")
    if header is None:
        kind = "is cut short" if size <= 8 or opens_with_brace else "is not a checkpoint of rlgrad"
        raise CheckpointError(f"{path} {kind} ({size} bytes). Load an earlier checkpoint.")
    try:
        metadata = json.loads(header).get("__metadata__", {})
    except (ValueError, AttributeError):
        raise CheckpointError(f"{path} is not a checkpoint of rlgrad: its header is not JSON.") from None
    if metadata.get("format") != FORMAT or "tree" not in metadata:
        raise CheckpointError(f"{path} is a safetensors file, but not a checkpoint that rlgrad wrote.")
    if metadata.get("version") != str(VERSION):
        raise CheckpointError(
            f"{path} has checkpoint version {metadata.get('version')}, and this release of rlgrad reads "
            f"version {VERSION}: use the release that wrote it."
        )
    return metadata


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
