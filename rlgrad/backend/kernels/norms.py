"""Normalisation on the CPU: passes over cache-sized parts of the input, and small sums between them.

Planes are the ``(batch, channels, points)`` of batch, group and instance norm, whose statistics are put together from
those of the planes (Chan et al., 1983). Rows are the ``(rows, features)`` of layer norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rlgrad.backend.kernels import jit

_CHUNK = 1 << 18  # bytes of input at a time: they stay in the cache from pass to pass
_ROWS = 64  # rows whose weight gradients are summed at a time
Array = Any


def _chunks(a: Array) -> Iterator[slice]:
    size = max(_CHUNK * len(a) // max(a.nbytes, 1), 1)
    for start in range(0, len(a), size):
        yield slice(start, start + size)


def _moments(x: Array) -> tuple[Array, Array]:
    """The mean of every plane and the sum of squared distances from it."""
    mean, squares = np.empty(x.shape[:2], x.dtype), np.empty(x.shape[:2], x.dtype)
    if jit.suits(x):
        jit.shared(jit.kernels().moments, len(x), x.size, x, mean, squares)
        return mean, squares
    each = np.full(x.shape[2], 1 / x.shape[2], x.dtype)
    for part in _chunks(x):
        np.vecdot(x[part], each, out=mean[part])  # BLAS sums several times as fast as a reduction does
        centered = x[part] - mean[part, :, None]
        np.vecdot(centered, centered, out=squares[part])
    return mean, squares


def _affine(x: Array, center: Array, scale: Array, shift: Array) -> Array:
    out = np.empty_like(x)
    if jit.suits(x, center, scale, shift):
        jit.shared(jit.kernels().affine, len(x), x.size, x, center, scale, shift, out)
        return out
    for part in _chunks(x):
        target = out[part]
        np.subtract(x[part], center[part, :, None], target)
        target *= scale[part, :, None]
        target += shift[part, :, None]
    return out


def _sums(g: Array, x: Array, center: Array) -> tuple[Array, Array]:
    """Sums of ``g`` and of ``g * (x - center)`` over every plane."""
    plain, weighted = np.empty(x.shape[:2], x.dtype), np.empty(x.shape[:2], x.dtype)
    if jit.suits(g, x, center):
        jit.shared(jit.kernels().sums, len(x), x.size, g, x, center, plain, weighted)
        return plain, weighted
    ones = np.ones(x.shape[2], x.dtype)
    for part in _chunks(x):
        np.vecdot(g[part], ones, out=plain[part])
        np.vecdot(g[part], x[part] - center[part, :, None], out=weighted[part])
    return plain, weighted


def _combined(g: Array, x: Array, factor: Array, center: Array, slope: Array, shift: Array) -> Array:
    out = np.empty_like(x)
    if jit.suits(g, x, factor, center, slope, shift):
        jit.shared(jit.kernels().combined, len(x), x.size, g, x, factor, center, slope, shift, out)
        return out
    for part in _chunks(x):
        target = out[part]
        np.subtract(x[part], center[part, :, None], target)
        target *= slope[part, :, None]
        target += shift[part, :, None]
        target += g[part] * factor[part, :, None]
    return out


def _spread(a: Array, shape: tuple[int, ...], like: Array) -> Array:
    """``a`` broadcast to ``shape``, as an array of the shape and dtype of ``like`` in memory of its own."""
    out = np.empty(shape, like.dtype)
    out[...] = a
    return out.reshape(like.shape)


def planes(x: Array, weight: Array, bias: Array, groups: int, eps: float) -> tuple[Array, Array, Array]:
    """Normalise planes, over the batch (``groups`` of 0) or over each of some groups of channels of every sample.

    Args:
        x: ``(batch, channels, points)``.
        weight, bias: ``(channels,)`` or ``None``.

    Returns:
        The result, and mean and one over the spread, both ``(channels,)`` or ``(batch, groups)``.
    """
    batch, channels, points = x.shape
    means, squares = _moments(x)
    axis = 2 if groups else 0
    shape = (batch, groups, channels // groups) if groups else means.shape
    local, count = means.reshape(shape).astype(np.float64), points * (shape[2] if groups else batch)
    mean = np.add.reduce(local, axis, keepdims=True)
    mean /= shape[axis]
    local -= mean
    local *= local
    spread = np.add.reduce(local, axis, keepdims=True)
    spread *= points
    spread += np.add.reduce(squares.reshape(shape), axis, np.float64, keepdims=True)
    rstd = 1 / np.sqrt(spread / count + eps)
    scale = _spread(rstd if weight is None else rstd * weight.reshape(shape[1:]), shape, means)
    center = _spread(mean, shape, means)
    out = _affine(x, center, scale, _spread(0 if bias is None else bias, means.shape, means))
    return out, np.squeeze(mean, axis).astype(x.dtype), np.squeeze(rstd, axis).astype(x.dtype)


def planes_adjoint(
    g: Array, x: Array, weight: Array, mean: Array, rstd: Array, groups: int
) -> tuple[Array, Array, Array]:
    """Gradients of :func:`planes`, of the input, the weight and the bias."""
    batch, channels, points = x.shape
    shape: tuple[int, ...] = (batch, groups, channels // groups) if groups else (batch, channels)
    axis = 2 if groups else 0
    rstd = np.expand_dims(rstd, axis).astype(np.float64)
    center = _spread(np.expand_dims(mean, axis), shape, x[:, :, 0])
    plain, weighted = _sums(g, x, center)
    along = weighted.reshape(shape) * rstd  # sums of g times the normalised input
    factor = 1.0 if weight is None else weight.reshape(shape[1:])
    count = points * (shape[2] if groups else batch)
    total = (plain.reshape(shape) * factor).sum(axis, keepdims=True) / count
    slope = (along * factor).sum(axis, keepdims=True) / count
    dx = _combined(
        g,
        x,
        _spread(rstd * factor, shape, center),
        center,
        _spread(-rstd * rstd * slope, shape, center),
        _spread(-rstd * total, shape, center),
    )
    return dx, along.reshape(batch, channels).sum(0).astype(x.dtype), plain.sum(0)


def rows(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, Array, Array]:
    """Normalise the rows of ``x (rows, features)``; mean and one over the spread are ``(rows,)``."""
    out = np.empty_like(x)
    if jit.suits(x, *[a for a in (weight, bias) if a is not None]):
        mean, rstd = np.empty(len(x), x.dtype), np.empty(len(x), x.dtype)
        scale = np.ones(x.shape[1], x.dtype) if weight is None else weight
        shift = np.zeros(x.shape[1], x.dtype) if bias is None else bias
        jit.shared(jit.kernels().rows, len(x), x.size, x, scale, shift, eps, out, mean, rstd)
        return out, mean, rstd
    means, spreads = np.empty((len(x), 1), x.dtype), np.empty((len(x), 1), x.dtype)
    each = np.full(x.shape[1], 1 / x.shape[1], x.dtype)
    for part in _chunks(x):
        source, target, mean, rstd = x[part], out[part], means[part], spreads[part]
        np.dot(source, each, out=mean[:, 0])
        np.subtract(source, mean, target)
        np.vecdot(target, target, out=rstd[:, 0])
        rstd /= x.shape[1]
        rstd += eps
        np.sqrt(rstd, rstd)
        np.divide(1, rstd, rstd)
        target *= rstd
        if weight is not None:
            target *= weight
        if bias is not None:
            target += bias
    return out, means[:, 0], spreads[:, 0]


def rows_adjoint(g: Array, x: Array, weight: Array, mean: Array, rstd: Array) -> tuple[Array, Array, Array]:
    """Gradients of :func:`rows`, of the input, the weight and the bias."""
    dx, features = np.empty_like(x), x.shape[1]
    if jit.suits(g, x, mean, rstd) and (weight is None or jit.suits(g, weight)):
        blocks = -(-len(x) // _ROWS)
        dw, db = np.empty((blocks, features), x.dtype), np.empty((blocks, features), x.dtype)
        scale = np.ones(features, x.dtype) if weight is None else weight
        jit.shared(jit.kernels().rows_adjoint, blocks, x.size, g, x, scale, mean, rstd, _ROWS, dx, dw, db)
        return dx, dw.sum(0), db.sum(0)
    dw, db = np.zeros(features, x.dtype), np.zeros(features, x.dtype)
    each = np.full(features, 1 / features, x.dtype)
    for part in _chunks(x):
        h, spread = g[part], rstd[part, None]
        normal = x[part] - mean[part, None]
        normal *= spread
        target, ones = dx[part], np.ones(len(h), x.dtype)
        np.multiply(h, normal, target)
        dw += ones.dot(target)
        db += ones.dot(h)
        np.multiply(h, 1 if weight is None else weight, target)
        along = np.vecdot(target, normal)
        along /= features
        normal *= along[:, None]
        target -= target.dot(each)[:, None]
        target -= normal
        target *= spread
    return dx, dw, db
