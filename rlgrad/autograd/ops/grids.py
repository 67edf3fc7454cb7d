"""Images sampled where a grid of coordinates points (Jaderberg et al., 2015, "Spatial transformer networks")."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.activations import hardtanh
from rlgrad.autograd.ops.creation import ones
from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.shape import broadcast_tensors
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _pixels(grid: Tensor, size: int, align_corners: bool) -> Tensor:
    """Coordinates in [-1, 1] as positions among ``size`` elements."""
    return (grid + 1) * ((size - 1) / 2) if align_corners else ((grid + 1) * size - 1) * 0.5


def _inside(position: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions moved into the image as ``padding_mode`` says; with zeros they stay outside."""
    if padding_mode == "zeros":
        return position
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return position * 0
        distance = (position - low).abs()
        turns = (distance.detach() / span).floor()
        rest = distance - turns * span
        position = where(wrap(turns._array % 2 == 0), rest, span - rest) + low
    return hardtanh(position, 0, size - 1)


_Place = tuple[Any, Any]


def _place(position: Any, size: int) -> _Place:
    """Whole positions as indices of ``size`` elements, and which of them were such already."""
    xp = module_of(position)
    within = xp.minimum(xp.maximum(position, 0), size - 1)
    known = within == position
    return xp.where(position == position, within, 0).astype(np.int64), known


def _taken(planes: Tensor, places: Sequence[_Place], spatial: Sequence[int], zeros: bool) -> Tensor:
    """Elements ``(batch, channels, points)`` at the places ``(batch, points)`` of each dimension."""
    xp = module_of(planes._array)
    place, known = places[0]
    for (index, inside), size in zip(places[1:], spatial[1:], strict=True):
        place, known = place * size + index, known & inside
    batch, channels, _ = planes.shape
    index = wrap(xp.ascontiguousarray(xp.broadcast_to(place[:, None, :], (batch, channels, place.shape[-1]))))
    values = planes.gather(2, index)
    return values * wrap(known[:, None, :].astype(planes._array.dtype)) if zeros else values


def _cubic_weights(share: Tensor) -> list[Tensor]:
    """Keys (1981) with -3/4 for the four elements around a position that is ``share`` past the second."""
    a = -0.75
    near = [((a + 2) * t - (a + 3)) * t * t + 1 for t in (share, 1 - share)]
    far = [((t - 5) * t + 8) * t * a - 4 * a for t in (share + 1, 2 - share)]
    return [far[0], near[0], near[1], far[1]]


def _check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but got {input.dtype!r} and {grid.dtype!r}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have batch size {input.shape[0]} and size {input.ndim - 2} in the last "
            f"dimension, but got grid with sizes {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but got {list(input.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Elements of ``input`` where ``grid`` points.

    Args:
        input: ``(batch, channels, height, width)``, or with a depth before the height.
        grid: ``(batch, height_out, width_out, 2)`` with x, then y in [-1, 1] (for volumes 3: x, y, z).
        mode: ``"bilinear"``, ``"nearest"`` or ``"bicubic"`` (images only).
        padding_mode: what lies outside: ``"zeros"``, the ``"border"`` repeated, or a ``"reflection"``.
        align_corners: whether -1 and 1 are the centres of the corner elements rather than their outer edges.

    Returns:
        ``(batch, channels, height_out, width_out)``.
    """
    _check(input, grid, mode, padding_mode)
    if align_corners is None:
        warnings.warn("grid_sample(): align_corners is False unless it is given", stacklevel=2)
    corners, zeros = bool(align_corners), padding_mode == "zeros"
    spatial, rank = tuple(input.shape[2:]), input.ndim - 2
    batch, channels = input.shape[:2]
    out = tuple(grid.shape[1:-1])
    points = grid.reshape(batch, math.prod(out), rank)
    planes = input.reshape(batch, channels, math.prod(spatial))
    positions = [_pixels(points[..., rank - 1 - i], n, corners) for i, n in enumerate(spatial)]
    xp = module_of(input._array)
    offsets: Sequence[int]
    if mode == "bicubic":
        floors = [xp.floor(position._array) for position in positions]
        weights = [_cubic_weights(p - wrap(f)) for p, f in zip(positions, floors, strict=True)]
        offsets = (-1, 0, 1, 2)
    else:
        positions = [_inside(p, n, padding_mode, corners) for p, n in zip(positions, spatial, strict=True)]
        if mode == "nearest":
            places = [_place(xp.rint(p._array), n) for p, n in zip(positions, spatial, strict=True)]
            result = _taken(planes, places, spatial, zeros) + sum(p.sum() * 0 for p in positions)
            return result.reshape(batch, channels, *out)
        floors = [xp.floor(position._array) for position in positions]
        shares = [p - wrap(f) for p, f in zip(positions, floors, strict=True)]
        weights, offsets = [[1 - share, share] for share in shares], (0, 1)
    places_at: list[list[_Place]] = []
    for i, floor in enumerate(floors):
        near = [floor + offset for offset in offsets]
        if mode == "bicubic":
            near = [_inside(wrap(place), spatial[i], padding_mode, corners)._array for place in near]
        places_at.append([_place(place, spatial[i]) for place in near])
    total: Any = 0
    for corner in itertools.product(range(len(offsets)), repeat=rank):
        weight: Any = 1
        for i, choice in enumerate(corner):
            weight = weights[i][choice] if i == 0 else weight * weights[i][choice]
        places = [places_at[i][choice] for i, choice in enumerate(corner)]
        total = total + _taken(planes, places, spatial, zeros) * weight.unsqueeze(1)
    return total.reshape(batch, channels, *out)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Grids for :func:`grid_sample` from affine maps.

    Args:
        theta: ``(batch, 2, 3)`` for images, ``(batch, 3, 4)`` for volumes.
        size: ``(batch, channels, height, width)`` of the result, or with a depth before the height.
        align_corners: as for :func:`grid_sample`.

    Returns:
        ``(batch, height, width, 2)``, or ``(batch, depth, height, width, 3)``.
    """
    if theta._array.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype!r}")
    spatial = tuple(size)[2:]
    rank = len(spatial)
    if rank not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {tuple(size)}."
        )
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {tuple(size)}. Got "
            f"{list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    if align_corners is None:
        warnings.warn("affine_grid(): align_corners is False unless it is given", stacklevel=2)
    xp = module_of(theta._array)
    axes = []
    for i, n in reversed(list(enumerate(spatial))):
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        steps = steps if align_corners else steps * (n - 1) / n
        shape = [-1 if j == i else 1 for j in range(rank)]
        axes.append(wrap(xp.asarray(steps, theta._array.dtype).reshape(shape)))
    unit = ones(*spatial, dtype=theta.dtype, device=theta.device)
    base = stack(list(broadcast_tensors(*axes, unit)), -1).reshape(1, -1, rank + 1)
    return (base @ theta.transpose(1, 2)).reshape(theta.shape[0], *spatial, rank)


__all__: Sequence[str] = ["affine_grid", "grid_sample"]
