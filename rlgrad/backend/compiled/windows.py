"""Windows of a convolution, gathered and added back."""

from __future__ import annotations

import numpy as np

from rlgrad.backend.compiled.compiler import U, kernel
from rlgrad.backend.compiled.images import to_first, to_last


@kernel
def gather(x, kernel, stride, dilation, low, part, cover, out, columns, start, stop):
    """Windows of every sample as the rows of ``columns (batch, points, kernel elements * channels)``."""
    channels = x.shape[1]
    buffer = np.zeros((cover[0], cover[1] * channels), x.dtype)
    run = U(kernel[1] * channels if dilation[1] == 1 else channels)
    pieces = 1 if dilation[1] == 1 else kernel[1]
    for sample in range(start, stop):
        to_last(x[sample], buffer, low[0], low[1], part[0], part[1])
        for y in range(out[0]):
            for u in range(out[1]):
                row, q = columns[sample, y * out[1] + u], U(0)
                for a in range(kernel[0]):
                    source = buffer[y * stride[0] + a * dilation[0]]
                    for b in range(pieces):
                        first = U((u * stride[1] + b * dilation[1]) * channels)
                        for i in range(run):
                            row[q + i] = source[first + i]
                        q += run


@kernel
def scatter(columns, kernel, stride, dilation, low, part, cover, out, x, start, stop):
    """The adjoint of :func:`gather`: add every window to its place in ``x``."""
    channels = x.shape[1]
    buffer = np.empty((cover[0], cover[1] * channels), x.dtype)
    run = U(kernel[1] * channels if dilation[1] == 1 else channels)
    pieces = 1 if dilation[1] == 1 else kernel[1]
    for sample in range(start, stop):
        buffer[:] = 0
        for y in range(out[0]):
            for u in range(out[1]):
                row, q = columns[sample, y * out[1] + u], U(0)
                for a in range(kernel[0]):
                    target = buffer[y * stride[0] + a * dilation[0]]
                    for b in range(pieces):
                        first = U((u * stride[1] + b * dilation[1]) * channels)
                        for i in range(run):
                            target[first + i] += row[q + i]
                        q += run
        to_first(buffer, x[sample], low[0], low[1], part[0], part[1])
