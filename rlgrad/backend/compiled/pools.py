"""Maxima of windows, and the selection that they are, applied to other values."""

from __future__ import annotations

import math

from rlgrad.backend.compiled.compiler import kernel


@kernel
def max_pool(a, kernel, stride, pad, dilation, best, index, start, stop):
    """The largest element of every window of planes ``a (planes, height, width)``, and where it lies in its plane.

    The first of equals is taken, and the last that is not a number.
    """
    height, width = a.shape[1], a.shape[2]
    for plane in range(start, stop):
        source = a[plane]
        for y in range(best.shape[1]):
            top = y * stride[0] - pad[0]
            for x in range(best.shape[2]):
                left = x * stride[1] - pad[1]
                value, place = -math.inf, -1
                for i in range(top, top + kernel[0] * dilation[0], dilation[0]):
                    if 0 <= i < height:
                        for j in range(left, left + kernel[1] * dilation[1], dilation[1]):
                            if 0 <= j < width:
                                v = source[i, j]
                                if v > value or v != v or place < 0:
                                    value, place = v, i * width + j
                best[plane, y, x] = value
                index[plane, y, x] = place


@kernel
def plane_scatter(g, index, distinct, out, start, stop):
    """Add each element of ``g (planes, points)`` at its index in its plane of ``out``; store it where all are distinct."""
    for plane in range(start, stop):
        values, places, target = g[plane], index[plane], out[plane]
        if distinct:
            for i in range(values.size):
                target[places[i]] = values[i]
        else:
            for i in range(values.size):
                target[places[i]] += values[i]
