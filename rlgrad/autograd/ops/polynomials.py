"""Orthogonal polynomials by their three-term recurrences (NIST Digital Library of Mathematical Functions, 18.9).

``rlgrad.special`` offers them. They have no derivatives, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import binary, public
from rlgrad.autograd.ops.special import refuse_half

_Step = Callable[[Any, int, Any, Any], Any]
_Ends = Callable[[Any, Any], Any]


_Known = Callable[[Any, Any, Any], tuple[Any, Any]]


def _by_recurrence(start: Callable[[Any], Any], step: _Step, known: _Known, shift: bool = False) -> Callable[..., Any]:
    """The forward of a family of polynomials.

    Args:
        start: the polynomial of degree one.
        step: ``step(x, k, p, q)``: that of degree ``k + 1`` from those of degree ``k`` and ``k - 1``.
        known: ``known(xp, x, n)``: values in closed form, and a mask of where they serve, so that high degrees take
            no steps.
        shift: the polynomials live on [0, 1] instead of [-1, 1].
    """

    def forward(xp: Any, x: Any, n: Any) -> Any:
        dtype = x.dtype if hasattr(x, "dtype") else n.dtype
        x, n = xp.asarray(x), xp.asarray(n)
        refuse_half("a polynomial", x)
        degree = xp.trunc(xp.where(abs(n) < 2**63, n, -1))  # NaN and infinity have no whole number
        x, degree = xp.broadcast_arrays(x.astype(dtype), degree)
        if shift:
            x = 2 * x - 1
        closed, serves = known(xp, x, degree)
        left = xp.where(serves, 0, degree)
        previous, current = xp.ones_like(x), start(x)
        out = xp.where(left == 0, previous, current)
        for k in range(1, int(left.max()) if left.size else 0):
            previous, current = current, step(x, k, current, previous)
            later = left > k
            out = xp.where(later, current, out)
            if k % 16 == 0 and not (later & ~xp.isnan(current)).any():
                break
        return xp.where(degree < 0, 0, xp.where(serves, closed, out)).astype(dtype)

    return forward


def _sign(xp: Any, n: Any) -> Any:
    return xp.where(n % 2 == 0, 1, -1)


def _by_angle(wave: Callable[[Any, Any, Any], Any], above: int, first: Callable[[Any], Any], last: _Ends) -> _Known:
    """A polynomial of high degree inside (-1, 1), and of every degree at its two ends.

    Args:
        wave: ``wave(xp, n, angle)``, where ``x`` is the angle's cosine.
        above: the degree above which the recurrence is not used.
        first: from the degree to the value at 1.
        last: from the degree and its sign to the value at -1.
    """

    def known(xp: Any, x: Any, n: Any) -> tuple[Any, Any]:
        inside, end = (abs(x) < 1) & (n > above), abs(x) == 1
        values = xp.where(x > 0, first(n), last(n, _sign(xp, n)))
        if inside.any():
            values = xp.where(inside, wave(xp, n, xp.arccos(xp.where(inside, x, 0))), values)
        return values, inside | end

    return known


def _up_to(xp: Any, x: Any, n: Any) -> tuple[Any, Any]:
    """PyTorch gives no Hermite polynomials of higher degrees than these."""
    return xp.full_like(x, math.nan), n > (128 if x.dtype == np.float32 else 512)


def _legendre_ends(xp: Any, x: Any, n: Any) -> tuple[Any, Any]:
    return xp.where(x > 0, 1, _sign(xp, n)), abs(x) == 1


def _laguerre_start(xp: Any, x: Any, n: Any) -> tuple[Any, Any]:
    return xp.ones_like(x), x == 0


_CLOSED = {
    "t": _by_angle(lambda xp, n, angle: xp.cos(n * angle), 6, lambda n: 1, lambda n, sign: sign),
    "u": _by_angle(
        lambda xp, n, angle: xp.sin((n + 1) * angle) / xp.sin(angle),
        8,
        lambda n: n + 1,
        lambda n, sign: sign * (n + 1),
    ),
    "v": _by_angle(
        lambda xp, n, angle: xp.cos((n + 0.5) * angle) / xp.cos(angle / 2),
        8,
        lambda n: 1,
        lambda n, sign: sign * (2 * n + 1),
    ),
    "w": _by_angle(
        lambda xp, n, angle: xp.sin((n + 0.5) * angle) / xp.sin(angle / 2),
        8,
        lambda n: 2 * n + 1,
        lambda n, sign: sign,
    ),
}


def _chebyshev(x: Any, k: int, p: Any, q: Any) -> Any:
    return 2 * x * p - q


def _family(name: str, start: Callable[[Any], Any], step: _Step, known: _Known, shift: bool = False) -> Any:
    return binary(name, _by_recurrence(start, step, known, shift), kind="float", methods=False)


_STARTS = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}


def _of_chebyshev(kind: str, shift: bool = False) -> Any:
    name = f"{'shifted_' if shift else ''}chebyshev_polynomial_{kind}"
    return _family(name, _STARTS[kind], lambda x, k, p, q: 2 * x * p - q, _CLOSED[kind], shift)


chebyshev_polynomial_t, chebyshev_polynomial_u = _of_chebyshev("t"), _of_chebyshev("u")
chebyshev_polynomial_v, chebyshev_polynomial_w = _of_chebyshev("v"), _of_chebyshev("w")
shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u = _of_chebyshev("t", True), _of_chebyshev("u", True)
shifted_chebyshev_polynomial_v, shifted_chebyshev_polynomial_w = _of_chebyshev("v", True), _of_chebyshev("w", True)
hermite_polynomial_h = _family(
    "hermite_polynomial_h", lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q, _up_to
)
hermite_polynomial_he = _family("hermite_polynomial_he", lambda x: x, lambda x, k, p, q: x * p - k * q, _up_to)
laguerre_polynomial_l = _family(
    "laguerre_polynomial_l",
    lambda x: 1 - x,
    lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    _laguerre_start,
)
legendre_polynomial_p = _family(
    "legendre_polynomial_p", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1), _legendre_ends
)

__all__ = public(globals())
