"""Changes of resolution: interpolation as a choice of elements or a product with a matrix for each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.convolution import extents
from rlgrad.autograd.ops.spatial import _chosen
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _linear_matrix(size: int, out: int, align_corners: bool, scale: float | None) -> np.ndarray:
    """Weights ``(out, size)`` of linear interpolation."""
    if align_corners:
        source = np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        ratio = 1.0 / scale if scale is not None else size / out
        source = np.maximum((np.arange(out) + 0.5) * ratio - 0.5, 0.0)
    low = np.minimum(np.floor(source).astype(np.int64), size - 1)
    high, share = np.minimum(low + 1, size - 1), source - low
    matrix = np.zeros((out, size))
    np.add.at(matrix, (np.arange(out), low), 1 - share)
    np.add.at(matrix, (np.arange(out), high), share)
    return matrix


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample ``input (batch, channels, *spatial)`` to ``size``, or by ``scale_factor``.

    Args:
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (3-D input), ``"bilinear"`` (4-D), ``"trilinear"`` (5-D) or
            ``"area"``.
        align_corners: let the corner elements of both grids coincide (linear modes).
    """
    spatial = tuple(input.shape[2:])
    rank = len(spatial)
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them must be")
    scales: list[float | None]
    if size is not None:
        out, scales = extents(size, rank, "size"), [None] * rank
    else:
        given = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        if len(given) != rank:
            raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, got {given}")
        out = tuple([math.floor(n * f) for n, f in zip(spatial, given, strict=True)])
        scales = [None] * rank if recompute_scale_factor else [float(f) for f in given]
    linear = {"linear": 1, "bilinear": 2, "trilinear": 3}
    if align_corners is not None and mode not in (*linear, "bicubic"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if min(out) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got {list(spatial)} and {list(out)}")
    if antialias or mode not in ("nearest", "nearest-exact", "area", *linear):
        raise NotImplementedError(f"interpolate: mode {mode!r} (antialias={antialias}) is not supported")
    if linear.get(mode, rank) != rank:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {linear[mode] + 2}D input")
    for i, (n, m, f) in enumerate(zip(spatial, out, scales, strict=True)):
        dim = 2 + i
        if mode.startswith("nearest"):
            ratio = np.float32(1.0 / f) if f is not None else np.float32(n) / np.float32(m)
            half = np.float32(0.5 if mode == "nearest-exact" else 0.0)
            places = np.minimum(((np.arange(m, dtype=np.float32) + half) * ratio).astype(np.int64), n - 1)
            input = _chosen(input, places, dim)
            continue
        if mode == "area":
            matrix = np.zeros((m, n))
            for row in range(m):
                start, end = row * n // m, -(-(row + 1) * n // m)
                matrix[row, start:end] = 1.0 / (end - start)
        else:
            matrix = _linear_matrix(n, m, bool(align_corners), f)
        factor = wrap(module_of(input._array).asarray(matrix, input._array.dtype))
        input = (input.transpose(dim, -1) @ factor.t()).transpose(dim, -1)
    return input


__all__: Sequence[str] = ["interpolate"]
