"""Images sampled where a grid of coordinates points (Jaderberg et al., 2015, "Spatial transformer networks")."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.creation import ones
from rlgrad.autograd.ops.define import require_floating
from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.shape import broadcast_tensors
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _column(xp: Any, values: Sequence[float], dtype: Any) -> Any:
    """One number for each dimension of the image, to stand beside ``(batch, rank, *, points)``."""
    return xp.asarray(values, dtype).reshape(-1, 1)


def _pixels(grid: Tensor, sizes: Any, align_corners: bool) -> Tensor:
    """Coordinates ``(batch, rank, points)`` in [-1, 1] as positions among so many elements."""
    if align_corners:
        return (grid + 1) * wrap((sizes - 1) / 2)
    return ((grid + 1) * wrap(sizes) - 1) * 0.5


def _inside(position: Tensor, sizes: Any, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions moved into the image as ``padding_mode`` says; with zeros they stay outside."""
    if padding_mode == "zeros":
        return position
    xp = module_of(sizes)
    if padding_mode == "reflection":
        low, span = (0.0, xp.maximum(sizes - 1, 1)) if align_corners else (-0.5, sizes)
        distance = (position - low).abs()
        turns = xp.floor(distance._array / span)
        rest = distance - wrap(turns * span)
        position = where(wrap(turns % 2 == 0), rest, wrap(span) - rest) + low
    array = position._array
    beyond = (array <= 0) | (array >= sizes - 1)  # the ends are constant too
    return where(wrap(beyond), wrap(xp.minimum(xp.maximum(array, 0), sizes - 1)), position)


def _places(position: Any, sizes: Any, spatial: Sequence[int]) -> tuple[Any, Any]:
    """Numbers of the elements at whole positions, and which positions are in the image; others count as its border.

    Args:
        position: ``(batch, rank, choices, points)``, of which every combination of choices is wanted.

    Returns:
        two arrays ``(batch, combinations, points)``.
    """
    xp = module_of(position)
    within = xp.minimum(xp.maximum(position, 0), sizes - 1)
    known = within == position
    index = xp.where(position == position, within, 0).astype(np.int64)
    place, inside = index[:, 0], known[:, 0]
    for i, size in enumerate(spatial[1:], 1):
        place = _combined(place * size, index[:, i], xp.add)
        inside = _combined(inside, known[:, i], xp.logical_and)
    return place, inside


def _combined(a: Any, b: Any, operation: Any) -> Any:
    """All combinations ``(batch, m * n, points)`` of ``(batch, m, points)`` and ``(batch, n, points)``."""
    found = operation(a[:, :, None], b[:, None])
    return found.reshape(found.shape[0], -1, found.shape[3])


def _taken(planes: Tensor, place: Any) -> Tensor:
    """Elements ``(batch, channels, combinations, points)`` of ``planes (batch, channels, elements)``."""
    xp = module_of(place)
    batch, channels, _ = planes.shape
    index = xp.broadcast_to(place.reshape(batch, 1, -1), (batch, channels, place[0].size))
    return planes.gather(2, wrap(xp.ascontiguousarray(index))).reshape(batch, channels, *place.shape[1:])


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
    require_floating(input, "grid_sample")
    if align_corners is None:
        warnings.warn("grid_sample(): align_corners is False unless it is given", stacklevel=2)
    corners, zeros = bool(align_corners), padding_mode == "zeros"
    spatial, rank = tuple(input.shape[2:]), input.ndim - 2
    batch, channels = input.shape[:2]
    out = tuple(grid.shape[1:-1])
    xp, dtype = module_of(input._array), input._array.dtype
    sizes = _column(xp, spatial, dtype)
    node = f"GridSampler{rank}DBackward0"
    planes = input.reshape(batch, channels, math.prod(spatial))
    points = grid.reshape(batch, math.prod(out), rank).transpose(1, 2).flip(1)
    position = _pixels(points, sizes, corners)
    if mode != "bicubic":
        position = _inside(position, sizes, padding_mode, corners)
    if mode == "nearest":
        place, inside = _places(xp.rint(position._array)[:, :, None], sizes[:, None], spatial)
        values = _taken(planes, place)
        if zeros:
            values = values * wrap(inside[:, None].astype(dtype))
        return renamed((values + position.sum() * 0).reshape(batch, channels, *out), node)
    floor = xp.floor(position._array)
    share = position - wrap(floor)
    weights = stack(_cubic_weights(share) if mode == "bicubic" else [1 - share, share], 2)
    near = floor[:, :, None] + _column(xp, (-1, 0, 1, 2) if mode == "bicubic" else (0, 1), dtype)
    if mode == "bicubic":
        near = _inside(wrap(near), sizes[:, None], padding_mode, corners)._array
    place, inside = _places(near, sizes[:, None], spatial)
    weight = weights[:, 0]
    for i in range(1, rank):
        weight = _combined(weight, weights[:, i], operator.mul)
    if zeros:
        weight = weight * wrap(inside.astype(dtype))
    return renamed((_taken(planes, place) * weight.unsqueeze(1)).sum(2).reshape(batch, channels, *out), node)


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
