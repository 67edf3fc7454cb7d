"""Where the windows of a pool lie, and what PyTorch refuses about them."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from rlgrad.autograd.ops.convolution import Extents
from rlgrad.autograd.tensor import Tensor


def window_parts(out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Any:
    """For each element of a window, the slices of the padded input that hold it, one entry for each window."""
    for offsets in itertools.product(*map(range, kernel)):
        yield (
            offsets,
            (
                Ellipsis,
                *[
                    slice(o * d, o * d + (n - 1) * s + 1, s)
                    for o, n, s, d in zip(offsets, out, stride, dilation, strict=True)
                ],
            ),
        )


def padded(xp: Any, a: Any, pad: Extents, cover: Extents, value: float) -> Any:
    """The input with borders of one value, as far as the windows reach; itself where they do not reach beyond it."""
    rank = len(pad)
    spatial = a.shape[-rank:]
    if all(p == 0 and c <= n for p, c, n in zip(pad, cover, spatial, strict=True)):
        return a
    full = tuple([max(p + n, c) for p, n, c in zip(pad, spatial, cover, strict=True)])
    buffer = xp.full((*a.shape[:-rank], *full), value, a.dtype)
    buffer[(Ellipsis, *[slice(p, p + n) for p, n in zip(pad, spatial, strict=True)])] = a
    return buffer


@functools.lru_cache(256)
def covered(out: Extents, kernel: Extents, stride: Extents, dilation: Extents) -> Extents:
    """How many elements all windows together reach over in each dimension."""
    return tuple([(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in zip(out, kernel, stride, dilation, strict=True)])


@functools.lru_cache(256)
def out_extents(
    name: str,
    shape: Extents,
    kernel: Extents,
    stride: Extents,
    pad: Extents,
    dilation: Extents,
    ceil_mode: bool,
) -> Extents:
    """How many windows there are in each dimension, or PyTorch\'s error."""
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got {kernel}")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: stride should not be zero")
    if min(dilation) <= 0:
        raise RuntimeError(f"{name}: dilation must be greater than zero, but got {dilation}")
    if any(p < 0 or p > k // 2 for p, k in zip(pad, kernel, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={pad} and kernel {kernel}"
        )
    sizes = []
    for n, k, s, p, d in zip(shape, kernel, stride, pad, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        size = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (size - 1) * s >= n + p:
            size -= 1  # a window may not start in the far padding
        sizes.append(size)
    if min(sizes) <= 0:
        raise RuntimeError(
            f"Given input size: {list(shape)}. Calculated output size: {sizes}. Output size is too small ({name})"
        )
    return tuple(sizes)


def spatial_extents(name: str, input: Tensor, rank: int) -> Extents:
    """The last ``rank`` extents of an input that has channels before them, and perhaps a batch."""
    shape = input._array.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}: non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input, but got {list(shape)}"
        )
    return shape[-rank:]


def absent(stride: Any) -> bool:
    """Whether a stride was left to be the kernel's size."""
    return stride is None or (isinstance(stride, (tuple, list)) and not stride)
