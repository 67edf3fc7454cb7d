"""Updates of parameters, each in one pass over the memory that it changes."""

from __future__ import annotations

import math

import numpy as np

from rlgrad.backend.compiled.compiler import U, inlined, kernel


@inlined
def _in_dtype(numbers, like):
    """Ten numbers in the dtype of an array; converted out here they would take longer than a small update."""
    a, b, c, d, e, f, g, h, i, j = numbers
    cast = like.dtype.type
    return cast(a), cast(b), cast(c), cast(d), cast(e), cast(f), cast(g), cast(h), cast(i), cast(j)


@kernel
def adam(values, grad, mean, square, numbers, start, stop):
    """Adam (Kingma and Ba, 2015, algorithm 1) on flat arrays.

    A mean that fell below the smallest normal number, as that of a unit without gradients does, becomes zero: the
    processor takes several times as long over what is smaller.

    The numbers are both decays, each followed by its difference from 1, the learning rate and the root of the second
    moment corrected for their start at zero, epsilon, decay of the gradient, decay of the values, and -1 to ascend or 1.
    """
    keep1, take1, keep2, take2, rate, root, eps, decay, shrink, sign = _in_dtype(numbers, values)
    zero, tiny = values.dtype.type(0), np.finfo(values.dtype).tiny
    for i in range(U(start), U(stop)):
        g = sign * grad[i] + decay * values[i]
        m = keep1 * mean[i] + take1 * g
        m = zero if abs(m) < tiny else m
        s = keep2 * square[i] + take2 * g * g
        mean[i], square[i] = m, s
        values[i] -= rate * m / (root * math.sqrt(s) + eps) + shrink * values[i]


@kernel
def amsgrad(values, grad, mean, square, largest, numbers, start, stop):
    """:func:`adam`, divided by the largest second moment so far."""
    keep1, take1, keep2, take2, rate, root, eps, decay, shrink, sign = _in_dtype(numbers, values)
    zero, tiny = values.dtype.type(0), np.finfo(values.dtype).tiny
    for i in range(U(start), U(stop)):
        g = sign * grad[i] + decay * values[i]
        m = keep1 * mean[i] + take1 * g
        m = zero if abs(m) < tiny else m
        s = keep2 * square[i] + take2 * g * g
        mean[i], square[i] = m, s
        most = largest[i]
        if not (most >= s or most != most):  # what is not a number stays the largest, as with NumPy
            most = s
        largest[i] = most
        values[i] -= rate * m / (root * math.sqrt(most) + eps) + shrink * values[i]


@kernel
def towards(source, target, share, start, stop):
    """``target += share * (source - target)``; ``share`` has one element, of their dtype."""
    part = share[0]
    for i in range(U(start), U(stop)):
        target[i] += part * (source[i] - target[i])
