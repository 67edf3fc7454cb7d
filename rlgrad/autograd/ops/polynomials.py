"""Orthogonal polynomials by their three-term recurrences (NIST Digital Library of Mathematical Functions, 18.9).

``rlgrad.special`` offers them. They have no derivatives, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.autograd.ops.define import binary, public

_Step = Callable[[Any, int, Any, Any], Any]


def _by_recurrence(start: Callable[[Any], Any], step: _Step, shift: bool = False) -> Callable[..., Any]:
    """The forward of a family of polynomials.

    Args:
        start: the polynomial of degree one.
        step: ``step(x, k, p, q)``: that of degree ``k + 1`` from those of degree ``k`` and ``k - 1``.
        shift: the polynomials live on [0, 1] instead of [-1, 1].
    """

    def forward(xp: Any, x: Any, n: Any) -> Any:
        dtype = x.dtype if hasattr(x, "dtype") else n.dtype
        x, n = xp.asarray(x), xp.asarray(n)
        degree = xp.trunc(n)
        x, degree = xp.broadcast_arrays(x.astype(dtype), degree)
        if shift:
            x = 2 * x - 1
        previous, current = xp.ones_like(x), start(x)
        out = xp.where(degree < 0, 0, xp.where(degree == 0, previous, current))
        for k in range(1, int(degree.max()) if degree.size else 0):
            previous, current = current, step(x, k, current, previous)
            out = xp.where(degree == k + 1, current, out)
        return out.astype(dtype)

    return forward


def _chebyshev(x: Any, k: int, p: Any, q: Any) -> Any:
    return 2 * x * p - q


def _family(name: str, start: Callable[[Any], Any], step: _Step, shift: bool = False) -> Any:
    return binary(name, _by_recurrence(start, step, shift), kind="float", methods=False)


_STARTS = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
chebyshev_polynomial_t = _family("chebyshev_polynomial_t", _STARTS["t"], _chebyshev)
chebyshev_polynomial_u = _family("chebyshev_polynomial_u", _STARTS["u"], _chebyshev)
chebyshev_polynomial_v = _family("chebyshev_polynomial_v", _STARTS["v"], _chebyshev)
chebyshev_polynomial_w = _family("chebyshev_polynomial_w", _STARTS["w"], _chebyshev)
shifted_chebyshev_polynomial_t = _family("shifted_chebyshev_polynomial_t", _STARTS["t"], _chebyshev, True)
shifted_chebyshev_polynomial_u = _family("shifted_chebyshev_polynomial_u", _STARTS["u"], _chebyshev, True)
shifted_chebyshev_polynomial_v = _family("shifted_chebyshev_polynomial_v", _STARTS["v"], _chebyshev, True)
shifted_chebyshev_polynomial_w = _family("shifted_chebyshev_polynomial_w", _STARTS["w"], _chebyshev, True)
hermite_polynomial_h = _family("hermite_polynomial_h", lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q)
hermite_polynomial_he = _family("hermite_polynomial_he", lambda x: x, lambda x, k, p, q: x * p - k * q)
laguerre_polynomial_l = _family(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
)
legendre_polynomial_p = _family(
    "legendre_polynomial_p", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
)

__all__ = public(globals())
