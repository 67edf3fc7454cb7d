"""Changes of resolution: interpolation as a choice of elements or a product with a matrix for each dimension."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.spatial import _chosen
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.kernels.bands import Bands


def _step(size: int, out: int, align_corners: bool, scale: float | None) -> float:
    """Distance of neighbours of the result, in elements of the input."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / scale if scale else size / out


def _weighted(size: int, columns: np.ndarray, weights: np.ndarray) -> Bands:
    """The matrix of weights for the elements ``columns``, those beyond the ends counting as the end elements."""
    matrix = np.zeros((len(columns), size))
    rows = np.arange(len(columns))[:, None]
    np.add.at(matrix, (rows, columns.clip(0, size - 1)), weights)
    return Bands(matrix)


@functools.lru_cache(64)
def linear_matrix(size: int, out: int, align_corners: bool, scale: float | None) -> Bands:
    """Linear interpolation between the two nearest elements."""
    step = _step(size, out, align_corners, scale)
    centre = np.arange(out) * step if align_corners else np.maximum((np.arange(out) + 0.5) * step - 0.5, 0.0)
    low = np.minimum(np.floor(centre).astype(np.int64), size - 1)
    share = centre - low
    return _weighted(size, np.stack([low, low + 1], 1), np.stack([1 - share, share], 1))


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys (1981), equation 4, with its free parameter ``a``."""
    x = abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@functools.lru_cache(64)
def cubic_matrix(size: int, out: int, align_corners: bool, scale: float | None) -> Bands:
    """Cubic convolution of the four nearest elements."""
    step = _step(size, out, align_corners, scale)
    centre = np.arange(out) * step if align_corners else (np.arange(out) + 0.5) * step - 0.5
    columns = np.floor(centre).astype(np.int64)[:, None] + np.arange(-1, 3)
    return _weighted(size, columns, _cubic(centre[:, None] - columns, -0.75))


def _smoothed(kernel: Callable[[np.ndarray], np.ndarray], reach: float) -> Callable[..., Bands]:
    """Interpolation whose kernel is stretched over all elements that shrink into one."""

    @functools.lru_cache(64)
    def matrix(size: int, out: int, align_corners: bool, scale: float | None) -> Bands:
        step = _step(size, out, align_corners, scale)
        stretch = max(step, 1.0)
        centre = step * (np.arange(out) + 0.5)
        low = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
        high = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), size)
        columns = np.arange(size)
        weights = kernel((columns - centre[:, None] + 0.5) / stretch)
        weights *= (columns >= low[:, None]) & (columns < high[:, None])
        return Bands(weights / weights.sum(1, keepdims=True))

    return matrix


@functools.lru_cache(64)
def area_matrix(size: int, out: int) -> Bands:
    """Means of ``out`` windows of nearly equal extents that cover all elements."""
    matrix = np.zeros((out, size))
    for row in range(out):
        start, end = row * size // out, -(-(row + 1) * size // out)
        matrix[row, start:end] = 1.0 / (end - start)
    return Bands(matrix)


_MATRICES = {"linear": linear_matrix, "bilinear": linear_matrix, "trilinear": linear_matrix, "bicubic": cubic_matrix}
_SMOOTHED = {
    "bilinear": _smoothed(lambda x: np.maximum(1 - abs(x), 0.0), 1.0),
    "bicubic": _smoothed(lambda x: _cubic(x, -0.5), 2.0),
}
_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


_resample = Op(
    "resample",
    lambda xp, a, bands, dim: bands.along(xp, a, dim),
    (lambda ns, g, bands, dim: ns.resample_back(g, bands, dim),),
)
Op(
    "resample_back",
    lambda xp, g, bands, dim: bands.back(xp, g, dim),
    (lambda ns, g, bands, dim: ns.resample(g, bands, dim),),
)


def along_dims(input: Tensor, matrices: Sequence[Bands | None], name: str) -> Tensor:
    """Multiply every vector along each of the last dimensions by a constant matrix, where there is one.

    Args:
        name: of the node that is recorded.
    """
    first = input.ndim - len(matrices)
    shrinking = sorted(range(len(matrices)), key=lambda i: _growth(matrices[i]))  # what shrinks most leaves least to do
    for i in shrinking:
        bands = matrices[i]
        if bands is not None:
            input = apply_one(_resample, input, (bands, first + i))
    return renamed(input, name)


def _growth(bands: Bands | None) -> float:
    return 1.0 if bands is None else bands.matrix.shape[0] / bands.matrix.shape[1]


def _cells(factors: Extents) -> Any:
    """Slices of the repeated grid: each holds one copy of every element."""
    for offsets in itertools.product(*map(range, factors)):
        yield (Ellipsis, *[slice(offset, None, factor) for offset, factor in zip(offsets, factors, strict=True)])


def _repeat(xp: Any, a: Any, factors: Extents) -> Any:
    lead = a.ndim - len(factors)
    wide = [n * factor for n, factor in zip(a.shape[lead:], factors, strict=True)]
    out = xp.empty((*a.shape[:lead], *wide), a.dtype)
    for cell in _cells(factors):
        out[cell] = a
    return out


def _gather_repeats(xp: Any, g: Any, factors: Extents) -> Any:
    total = None
    for cell in _cells(factors):
        if total is None:
            total = g[cell].copy()
        else:
            total += g[cell]
    return total


_repeat_elements = Op(
    "repeat_elements",
    _repeat,
    (lambda ns, g, factors: ns.sum_repeats(g, factors),),
    node="UpsampleNearest2DBackward0",
)
Op("sum_repeats", _gather_repeats, (lambda ns, g, factors: ns.repeat_elements(g, factors),))


@functools.lru_cache(64)
def _nearest(size: int, out: int, scale: float | None, offset: float) -> np.ndarray:
    """Which of ``size`` elements each of ``out`` repeats, in single precision, as the places of ties depend on it."""
    ratio = np.float32(1.0 / scale) if scale else np.float32(size) / np.float32(out)
    places = ((np.arange(out, dtype=np.float32) + np.float32(offset)) * ratio).astype(np.int64)
    return np.minimum(places, size - 1)


def _extents(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[Any, list[float | None]]:
    """Spatial extents of the result, and the factors to use instead of their ratios."""
    spatial = tuple(input.shape[2:])
    rank = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if isinstance(size, (tuple, list)) and len(size) != rank:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(spatial)} and output size of {size}."
            )
        return extents(size, rank, "size"), [None] * rank
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
    if len(given) != rank:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(spatial)} and scale_factor of {given}."
        )
    out = tuple([math.floor(n * factor) for n, factor in zip(spatial, given, strict=True)])
    return out, [None if recompute else float(factor) for factor in given]


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
        mode: ``"nearest"``, ``"nearest-exact"``, ``"area"``, ``"linear"`` (3-D input), ``"bilinear"`` (4-D),
            ``"bicubic"`` (4-D) or ``"trilinear"`` (5-D).
        align_corners: let the corner elements of both grids coincide (linear and cubic modes).
        recompute_scale_factor: use the ratio of the extents, which are rounded, instead of ``scale_factor`` itself.
        antialias: average over all elements that shrink into one (``"bilinear"`` and ``"bicubic"``).

    Raises:
        ValueError: settings that exclude each other.
        NotImplementedError: a mode that there is not, or not for this number of dimensions.
    """
    if align_corners is not None and mode not in _MATRICES:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and (mode not in _SMOOTHED or input.ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    out, scales = _extents(input, size, scale_factor, recompute_scale_factor)
    spatial, rank = tuple(input.shape[2:]), input.ndim - 2
    if mode not in ("nearest", "nearest-exact", "area", *_MATRICES) or rank not in (1, 2, 3):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if _RANKS.get(mode, rank) != rank:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_RANKS[mode] + 2}D input")
    if min(*spatial, *out) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got {list(spatial)} and {list(out)}")
    if input._array.dtype != np.uint8 or mode in ("linear", "trilinear", "area"):
        require_floating(input, f"upsample_{mode}")
    if input._array.dtype.kind == "u" and mode in _MATRICES:
        options = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
        return interpolate(input.double(), *options).round().clamp(0, 255).to(input.dtype)
    ratios = [m // n for n, m in zip(spatial, out, strict=True)]
    if mode.startswith("nearest") and all(
        m == n * ratio and scale in (None, ratio)
        for n, m, ratio, scale in zip(spatial, out, ratios, scales, strict=True)
    ):
        return apply_one(_repeat_elements, input, (tuple(ratios),))
    if mode.startswith("nearest"):
        for i in sorted(range(rank), key=lambda i: out[i] / spatial[i]):
            places = _nearest(spatial[i], out[i], scales[i], 0.5 if mode == "nearest-exact" else 0.0)
            input = _chosen(input, places, 2 + i)
        return renamed(input, f"UpsampleNearest{'Exact' if mode == 'nearest-exact' else ''}{rank}DBackward0")
    if mode == "area":
        means = [area_matrix(n, m) for n, m in zip(spatial, out, strict=True)]
        return along_dims(input, means, f"AdaptiveAvgPool{rank}DBackward0" if rank > 1 else "SqueezeBackward1")
    matrix = (_SMOOTHED if antialias else _MATRICES)[mode]
    needed = [
        n != m or (mode == "bicubic" and scale not in (None, 1.0))
        for n, m, scale in zip(spatial, out, scales, strict=True)
    ]
    if not any(needed):
        return input.clone()
    bands = [
        matrix(n, m, bool(align_corners), scale) if wanted else None
        for n, m, scale, wanted in zip(spatial, out, scales, needed, strict=True)
    ]
    return along_dims(input, bands, f"Upsample{mode.capitalize()}{rank}D{'Aa' if antialias else ''}Backward0")


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Another name for :func:`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """:func:`interpolate` that repeats elements."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Bilinear :func:`interpolate` with aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


__all__: Sequence[str] = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]
