"""Images between channels first and the buffer of one sample, padded and with channels last, that kernels work on."""

from __future__ import annotations

from rlgrad.backend.compiled.compiler import kernel


@kernel
def to_last(x, buffer, low, left, height, width):
    """Write one image ``(channels, height, width)`` into its padded buffer, channels last."""
    channels = x.shape[0]
    for y in range(height):
        row = buffer[low + y]
        for c in range(channels):
            source = x[c, y]
            place = left * channels + c
            for i in range(width):
                row[place + i * channels] = source[i]


@kernel
def to_first(buffer, x, low, left, height, width):
    """Read one image back out of its padded buffer, channels first."""
    channels = x.shape[0]
    for y in range(height):
        row = buffer[low + y]
        for c in range(channels):
            target = x[c, y]
            place = left * channels + c
            for i in range(width):
                target[i] = row[place + i * channels]
