"""From a list of samples to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.creation import from_numpy, tensor
from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import dtype


def default_convert(data: Any) -> Any:
    """Tensors for the arrays in a sample; all else stays as it is."""
    if isinstance(data, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(data)) if np.asarray(data).dtype in dtype.by_numpy else data
    if isinstance(data, Mapping):
        return {key: default_convert(item) for key, item in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[default_convert(item) for item in data])
    if isinstance(data, (list, tuple)):
        return [default_convert(item) for item in data]
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack samples: tensors, arrays and numbers along a new first dimension, structures by entry, text as it is.

    Args:
        batch: samples of the same structure; arrays in them of the same shape.

    Raises:
        RuntimeError: for sequences or arrays of unequal size.
        TypeError: for what cannot be stacked.

    Example:
        >>> default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
        {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, (np.ndarray, np.generic)):
        arrays = [np.asarray(item) for item in batch]
        if arrays[0].dtype not in dtype.by_numpy:
            raise TypeError(f"default_collate cannot stack arrays of {arrays[0].dtype}: give a collate_fn")
        if len({a.shape for a in arrays}) > 1:
            raise RuntimeError(f"arrays of a batch have different shapes: {sorted({a.shape for a in arrays})}")
        return from_numpy(np.stack(arrays))
    if isinstance(first, float):
        return tensor(list(batch), dtype=dtype.by_numpy[np.dtype(np.float64)])
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, Sequence):
        if len({len(item) for item in batch}) > 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(items) for items in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        "default_collate stacks tensors, arrays, numbers, text, dicts and lists of these, but a sample holds "
        f"{type(first).__name__}: give a collate_fn"
    )
