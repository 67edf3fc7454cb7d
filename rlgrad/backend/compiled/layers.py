"""What stands between the products of a stack of linear layers, each in one pass over the batch."""

from __future__ import annotations

from rlgrad.backend.compiled.compiler import U, kernel


@kernel
def add_relu(h, bias, start, stop):
    """``h = relu(h + bias)``; NaN stays."""
    for i in range(U(start), U(stop)):
        for j in range(U(h.shape[1])):
            x = h[i, j] + bias[j]
            h[i, j] = 0 if x <= 0 else x


@kernel
def relu_adjoint(g, out, slope, start, stop):
    """``slope = g`` where the output is not zero: above it, or NaN."""
    for i in range(U(start), U(stop)):
        for j in range(U(g.shape[1])):
            slope[i, j] = g[i, j] if out[i, j] != 0 else 0


@kernel
def add_leaky_relu(h, bias, factor, start, stop):
    """``h = leaky_relu(h + bias)``; ``factor`` has one element, of their dtype."""
    below = factor[0]
    for i in range(U(start), U(stop)):
        for j in range(U(h.shape[1])):
            x = h[i, j] + bias[j]
            h[i, j] = x * below if x <= 0 else x


@kernel
def leaky_relu_adjoint(g, out, factor, slope, start, stop):
    """``slope = g``, times the factor where the output is not above zero."""
    below = factor[0]
    for i in range(U(start), U(stop)):
        for j in range(U(g.shape[1])):
            slope[i, j] = g[i, j] if out[i, j] > 0 else g[i, j] * below
