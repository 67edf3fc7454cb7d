"""Trees of arrays and plain values in one safetensors file, written whole or not at all.

The arrays are ordinary safetensors entries, so any tool that reads the format can look at them. The rest of
the tree is JSON in the file's header. Reading one parses numbers and text and never runs code.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "rlgrad-checkpoint"
VERSION = 1

_ARRAY = "$array"
_TUPLE = "$tuple"
_DICT = "$dict"
_MARKS = (_ARRAY, _TUPLE, _DICT)
_DTYPES = ("BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "BF16", "F32", "F64")


class CheckpointError(ValueError):
    """A file that is no whole checkpoint, or a value that a checkpoint cannot hold."""


class NoCheckpointError(CheckpointError, FileNotFoundError):
    """There is no such file."""


def write_tree(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of arrays and plain values so that whatever happens, ``path`` is the old file or the new one.

    The bytes go to a temporary file in the same folder, reach the disk, and only then take the name.

    Raises:
        CheckpointError: a value that a file cannot hold, named by its place in the tree.
        OSError: the disk or the folder refuses the write; the previous file is untouched.
    """
    from safetensors.numpy import save_file

    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    content = _encode(tree, "", arrays)
    metadata = {"format": FORMAT, "version": str(VERSION), "tree": json.dumps(content, separators=(",", ":"))}
    with whole_file(path) as temporary:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except OSError:
            raise
        except Exception as error:
            raise OSError(
                f"Could not write the checkpoint {path}: {error}. The previous one, if any, is kept."
            ) from error


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder, whose file takes the name when the block ends well and is gone otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_tree(path: str | os.PathLike[str]) -> Any:
    """Read back what :func:`write_tree` wrote, arrays as NumPy's.

    Raises:
        CheckpointError: the file is missing, cut short, of another format or of a version this release cannot read.
    """
    metadata, _ = read_header(path)
    if metadata.get("format") != FORMAT or "tree" not in metadata:
        raise CheckpointError(f"{path} is a safetensors file, but not a checkpoint that rlgrad wrote.")
    if metadata.get("version") != str(VERSION):
        raise CheckpointError(
            f"{path} has checkpoint version {metadata.get('version')}, and this release of rlgrad reads "
            f"version {VERSION}: use the release that wrote it."
        )
    arrays = read_arrays(path)
    try:
        return _decode(json.loads(metadata["tree"]), arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{path} is damaged: its list of contents does not fit its arrays ({error!r})."
        ) from error


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file, whoever wrote it; bfloat16, which NumPy has not, becomes float32.

    Raises:
        CheckpointError: the file is missing, damaged, or holds numbers of a kind that NumPy has not.
    """
    from safetensors import SafetensorError, safe_open

    _, entries = read_header(path)
    try:
        with safe_open(path, framework="np") as file:
            return {
                name: _widened(path, entry) if entry["dtype"] == "BF16" else file.get_tensor(name)
                for name, entry in entries.items()
                if _known(path, name, entry["dtype"])
            }
    except CheckpointError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: {error}. Load an earlier checkpoint.") from error


def _known(path: Any, name: str, dtype: str) -> bool:
    if dtype not in _DTYPES:
        raise CheckpointError(
            f"{path} holds '{name}' as {dtype}, which NumPy has not; write it as one of {', '.join(_DTYPES)}."
        )
    return True


def _widened(path: Any, entry: dict[str, Any]) -> np.ndarray:
    """A bfloat16 entry as float32: the same bits, followed by sixteen zeros."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        halves = np.frombuffer(file.read(end - begin), "<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])


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


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The text and the list of arrays in a file's header; each way a file can be wrong has its own sentence."""
    path = Path(path)
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
        raise NoCheckpointError(f"There is no checkpoint at {path}.") from None
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
        entries = json.loads(header)
        metadata = entries.pop("__metadata__", {})
    except (ValueError, AttributeError, TypeError):
        raise CheckpointError(f"{path} is not a checkpoint of rlgrad: its header is not JSON.") from None
    return metadata, entries


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
