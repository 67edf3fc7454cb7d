"""Passes of normalisation layers over the planes ``(batch, channels, points)`` or rows of an input.

Sums run in the input's dtype over a block that fits in the first cache, and in float64 over blocks.
"""

from __future__ import annotations

import numpy as np

from rlgrad.backend.compiled.compiler import U, inlined, kernel

_BLOCK = 2048


@inlined
def _sum(a):
    total = 0.0
    for begin in range(0, a.size, _BLOCK):
        part = a[begin : begin + _BLOCK]
        s = part[0]
        for i in range(U(1), U(part.size)):
            s += part[i]
        total += s
    return total


@inlined
def _squares(a, center):
    total = 0.0
    for begin in range(0, a.size, _BLOCK):
        part = a[begin : begin + _BLOCK]
        s = part[0] - part[0]
        for i in range(part.size):
            d = part[i] - center
            s += d * d
        total += s
    return total


@kernel
def moments(x, mean, squares, start, stop):
    """The mean of every plane and the sum of squared distances from it."""
    for n in range(start, stop):
        for c in range(x.shape[1]):
            plane = x[n, c]
            mean[n, c] = _sum(plane) / plane.size
            squares[n, c] = _squares(plane, mean[n, c])


@kernel
def affine(x, center, scale, shift, out, start, stop):
    """``(x - center) * scale + shift`` with one of each for every plane."""
    for n in range(start, stop):
        for c in range(x.shape[1]):
            source, target = x[n, c], out[n, c]
            m, a, b = center[n, c], scale[n, c], shift[n, c]
            for i in range(source.size):
                target[i] = (source[i] - m) * a + b


@kernel
def sums(g, x, center, plain, weighted, start, stop):
    """Sums of ``g`` and of ``g * (x - center)`` over every plane."""
    for n in range(start, stop):
        for c in range(x.shape[1]):
            first, second, m = g[n, c], x[n, c], center[n, c]
            p = q = 0.0
            for begin in range(0, first.size, _BLOCK):
                a, b = first[begin : begin + _BLOCK], second[begin : begin + _BLOCK]
                s = t = a[0] - a[0]
                for i in range(a.size):
                    s += a[i]
                    t += a[i] * (b[i] - m)
                p += s
                q += t
            plain[n, c], weighted[n, c] = p, q


@kernel
def combined(g, x, factor, center, slope, shift, out, start, stop):
    """``g * factor + (x - center) * slope + shift`` with one of each for every plane."""
    for n in range(start, stop):
        for c in range(x.shape[1]):
            first, second, target = g[n, c], x[n, c], out[n, c]
            a, m, b, d = factor[n, c], center[n, c], slope[n, c], shift[n, c]
            for i in range(first.size):
                target[i] = first[i] * a + (second[i] - m) * b + d


@kernel
def rows(x, weight, bias, eps, out, mean, rstd, start, stop):
    """Layer norm of the rows of ``x (rows, features)``."""
    for r in range(start, stop):
        source, target = x[r], out[r]
        mean[r] = _sum(source) / source.size
        m = mean[r]
        rstd[r] = 1 / np.sqrt(_squares(source, m) / source.size + eps)
        s = rstd[r]
        for i in range(source.size):
            target[i] = (source[i] - m) * s * weight[i] + bias[i]


@kernel
def rows_adjoint(g, x, weight, mean, rstd, size, dx, dweight, dbias, start, stop):
    """Gradients of :func:`rows`; those of weight and bias as one sum for each block of ``size`` rows."""
    count = x.shape[1]
    for block in range(start, stop):
        dw, db = dweight[block], dbias[block]
        dw[:] = 0
        db[:] = 0
        for r in range(block * size, min((block + 1) * size, x.shape[0])):
            a, b, target, m, s = g[r], x[r], dx[r], mean[r], rstd[r]
            p = q = a[0] - a[0]
            for i in range(count):
                h, y = a[i] * weight[i], (b[i] - m) * s
                p += h
                q += h * y
                dw[i] += a[i] * y
                db[i] += a[i]
            p /= count
            q /= count
            for i in range(count):
                target[i] = (a[i] * weight[i] - p - (b[i] - m) * s * q) * s
