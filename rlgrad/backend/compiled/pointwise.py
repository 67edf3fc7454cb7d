"""Functions of single elements that take NumPy many passes."""

from __future__ import annotations

from rlgrad.backend.compiled.compiler import U, kernel


@kernel
def erf(a, above, below, end, out, start, stop):
    """The error function as ``x * P(x * x) / Q(x * x)``, with x limited to ``end`` on both sides; NaN stays.

    Args:
        above, below: the coefficients of P and Q, six of each, from the highest power down.
    """
    p0, p1, p2, p3, p4, p5 = above[0], above[1], above[2], above[3], above[4], above[5]
    q0, q1, q2, q3, q4, q5 = below[0], below[1], below[2], below[3], below[4], below[5]
    one = q5
    for i in range(U(start), U(stop)):
        x = a[i]
        x = -end if x < -end else x
        x = end if x > end else x
        t = x * x
        p = ((((p0 * t + p1) * t + p2) * t + p3) * t + p4) * t + p5
        q = ((((q0 * t + q1) * t + q2) * t + q3) * t + q4) * t + q5
        y = x * p / q
        y = -one if y < -one else y
        out[i] = one if y > one else y
