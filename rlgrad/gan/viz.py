"""Pictures of generated samples, drawn with NumPy alone."""

from __future__ import annotations

import math

import numpy as np

from rlgrad.data.mixtures import GaussianMixture

BACKGROUND = np.array([13, 17, 28], np.float32)
DENSITY = np.array([56, 140, 220], np.float32)
SAMPLE = np.array([255, 176, 66], np.float32)
WHITE = np.array([255, 255, 255], np.float32)
COMPRESSION = 14
"""A Gaussian to the power 1/14 is 3.7 times as wide: a mode of a few pixels becomes easy to see."""
_SUPERSAMPLE = 2


def scatter(samples: np.ndarray, mixture: GaussianMixture, size: int = 512) -> np.ndarray:
    """Draw samples as glowing dots over the mixture they should follow.

    The mixture is the blue ground: its density, compressed so that modes show as halos. Samples are orange,
    turning white where they lie dense. The axes depend on the mixture alone, so pictures of one run can be
    compared; a sample beyond them is drawn on the edge, and one that is not finite is left out.

    Args:
        samples: (n, 2), in the mixture's units.
        mixture: of two features.
        size: height and width of the picture in pixels.

    Returns:
        (size, size, 3), uint8, with the y axis upwards.

    Raises:
        ValueError: samples or mixture are not two-dimensional, or the size is below 16.
    """
    samples = np.asarray(samples, np.float64)
    if mixture.features != 2 or samples.ndim != 2 or samples.shape[1] != 2:
        raise ValueError(
            f"a scatter picture needs samples of shape (n, 2) and a mixture of 2 features; "
            f"got shape {samples.shape} and {mixture.features} features"
        )
    if size < 16:
        raise ValueError(f"size must be at least 16 pixels; got {size}")
    low, high = mixture.centers.min(axis=0), mixture.centers.max(axis=0)
    half_width = 0.62 * float((high - low).max()) + 8 * mixture.sigma
    origin = (low + high) / 2 - half_width
    resolution = size * _SUPERSAMPLE
    axis = (np.arange(resolution) + 0.5) * (2 * half_width / resolution)

    ground = _density(mixture, origin, axis)[..., None]
    dots = _dots(samples[np.isfinite(samples).all(axis=1)], origin, 2 * half_width, resolution)[..., None]
    picture = BACKGROUND + ground * (DENSITY - BACKGROUND)
    picture += np.minimum(dots, 1.0) * (SAMPLE - picture)
    picture += np.clip((dots - 1.0) / 6.0, 0.0, 0.85) * (WHITE - picture)
    return _finished(picture, size)


def scatter_points(samples: np.ndarray, real: np.ndarray, size: int = 512) -> np.ndarray:
    """Draw samples as glowing dots over real ones.

    Args:
        samples: (n, 2), orange.
        real: (m, 2), blue, on which the axes depend alone.
        size: height and width of the picture in pixels.

    Returns:
        (size, size, 3), uint8, with the y axis upwards.
    """
    low, high = real.min(axis=0), real.max(axis=0)
    half_width = 0.6 * float((high - low).max()) or 1.0
    origin = (low + high) / 2 - half_width
    layers = [
        _dots(points[np.isfinite(points).all(axis=1)].astype(np.float64), origin, 2 * half_width, size * _SUPERSAMPLE)
        for points in (real, samples)
    ]
    ground, dots = (np.minimum(layer, 1.0)[..., None] for layer in layers)
    picture = BACKGROUND + 0.6 * ground * (DENSITY - BACKGROUND)
    picture += dots * (SAMPLE - picture)
    return _finished(picture, size)


def _finished(picture: np.ndarray, size: int) -> np.ndarray:
    picture = picture.reshape(size, _SUPERSAMPLE, size, _SUPERSAMPLE, 3).mean(axis=(1, 3))
    return np.ascontiguousarray(picture[::-1].round().astype(np.uint8))


def _density(mixture: GaussianMixture, origin: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The mixture's density on a square raster, compressed to [0, 1]; rows run along y."""
    # An isotropic Gaussian on a raster is the outer product of its two marginals.
    along_x, along_y = (
        np.exp(-0.5 * ((origin[d] + axis - mixture.centers[:, d, None]) / mixture.sigma) ** 2) for d in (0, 1)
    )
    density = along_y.T @ along_x
    return 0.85 * (density / density.max()).astype(np.float32) ** np.float32(1 / COMPRESSION)


def _dots(samples: np.ndarray, origin: np.ndarray, width: float, resolution: int) -> np.ndarray:
    """Brightness of the samples on a square raster, each a soft dot a few pixels wide; rows run along y."""
    pixel = np.clip((samples - origin) * (resolution / width), 0, resolution - 1).astype(np.int64)
    count = np.bincount(pixel[:, 1] * resolution + pixel[:, 0], minlength=resolution**2)
    radius = 3 * _SUPERSAMPLE
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / (0.85 * _SUPERSAMPLE)) ** 2).astype(np.float32)
    blurred = count.reshape(resolution, resolution).astype(np.float32)
    for _ in range(2):
        padded = np.pad(blurred, ((radius, radius), (0, 0)))
        blurred = np.zeros_like(blurred)
        for offset, weight in enumerate(kernel):
            blurred += weight * padded[offset : offset + resolution]
        blurred = np.ascontiguousarray(blurred.T)
    return blurred


def picture_grid(images: np.ndarray, columns: int | None = None) -> np.ndarray:
    """Images side by side, a dark line between them, small ones enlarged.

    Args:
        images: (n, 1 or 3, height, width) in [-1, 1]; what lies outside is cut off.
        columns: of the grid; as many as rows when not given.

    Returns:
        (height, width, 3), uint8.
    """
    enlargement = max(64 // max(images.shape[2:]), 1)
    enlarged = images.repeat(enlargement, axis=2).repeat(enlargement, axis=3)
    n, channels, height, width = enlarged.shape
    columns = math.ceil(math.sqrt(n)) if columns is None else columns
    rows = math.ceil(n / columns)
    tiles = np.full((rows * columns, channels, height + 1, width + 1), -0.8, np.float32)
    tiles[:n, :, :-1, :-1] = np.clip(enlarged, -1, 1)
    height, width = height + 1, width + 1
    picture = tiles.reshape(rows, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    picture = picture.reshape(rows * height, columns * width, channels)
    return np.ascontiguousarray(
        np.broadcast_to((picture + 1) * 127.5, (*picture.shape[:2], 3)).round().astype(np.uint8)
    )
