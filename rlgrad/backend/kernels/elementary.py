"""Functions of many numbers that NumPy computes one at a time, by those which it computes in vectors.

Remainders and whole quotients are NumPy's to the last bit; sums of exponentials and the error function differ by a few
units in the last place. What is not finite, and few elements, NumPy computes itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rlgrad.backend.kernels import jit

_ENOUGH = 2048  # elements from which on blocks pay
_ENOUGH_FOR_SUMS = 512  # and from which on a sum of exponentials does, for which NumPy is slower still
_BLOCK = 16384  # elements of a block whose intermediate results stay in the processor's cache
_FLOAT32 = np.dtype(np.float32)
_EXACT = 2.0**24  # whole numbers up to here are float32


def has_nan(a: Any) -> bool:
    """Whether an array of floats holds a NaN, in one pass."""
    flat = a.ravel(order="K")
    total = flat.dot(flat)  # of squares: neither cancellation nor infinities give a NaN
    return bool(total != total)


def _vectors(xp: Any, a: Any, b: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Two operands as float32 arrays of one shape, each in one piece of memory; ``None`` for few elements or others."""
    if xp is not np or max(np.size(a), np.size(b)) < _ENOUGH:
        return None
    if any(getattr(x, "dtype", _FLOAT32) is not _FLOAT32 for x in (a, b)):
        return None
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    first, second = (np.ascontiguousarray(np.broadcast_to(np.asarray(x, _FLOAT32), shape)) for x in (a, b))
    return first, second


def _blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple([part[start : start + _BLOCK] for part in flat])


def _by_quotient(ufunc: Any, whole: Any, remaining: bool) -> Callable[[Any, Any, Any], Any]:
    """A float32 division with a whole quotient, which double precision holds exactly.

    Args:
        ufunc: NumPy's function, for what is not finite and for quotients that float32 does not hold.
        whole: rounds quotients to whole numbers.
        remaining: give what is left over instead of the quotient.
    """

    def divide(xp: Any, a: Any, b: Any) -> Any:
        vectors = _vectors(xp, a, b)
        if vectors is None:
            return getattr(xp, ufunc.__name__)(a, b)
        out = np.empty_like(vectors[0])
        for x, y, result in _blocks(*vectors, out):
            divisor = y.astype(np.float64)
            quotient = whole(np.divide(x, divisor))
            if math.isfinite(divisor.dot(divisor)) and quotient.min() > -_EXACT and quotient.max() < _EXACT:
                if remaining:
                    quotient *= divisor
                    np.subtract(x, quotient, out=quotient)
                result[...] = quotient
            else:
                ufunc(x, y, out=result)
        return out

    return divide


floor_divide = _by_quotient(np.floor_divide, np.floor, False)
remainder = _by_quotient(np.remainder, np.floor, True)
fmod = _by_quotient(np.fmod, np.trunc, True)


def hypot(xp: Any, a: Any, b: Any) -> Any:
    """``sqrt(a * a + b * b)``; NumPy computes blocks in which the squares could overflow or vanish."""
    vectors = _vectors(xp, a, b)
    if vectors is None:
        return xp.hypot(a, b)
    out = np.empty_like(vectors[0])
    for x, y, result in _blocks(*vectors, out):
        np.multiply(x, x, out=result)
        result += y * y
        if result.min() > 1e-30 and result.max() < 1e37:
            np.sqrt(result, out=result)
        else:
            np.hypot(x, y, out=result)
    return out


def _log_sum(name: str, power: str, scale: float) -> Callable[[Any, Any, Any], Any]:
    """Logarithm of the sum of two powers, the larger one taken out.

    Args:
        power: the exponential function of the basis.
        scale: turns a natural logarithm into one to the basis.
    """

    def log_sum(xp: Any, a: Any, b: Any) -> Any:
        if xp is not np or max(a.size, b.size) < _ENOUGH_FOR_SUMS or a.dtype.char not in "fd":
            return getattr(xp, name)(a, b)
        top, gap = np.maximum(a, b), np.asarray(np.subtract(a, b))
        if has_nan(gap):
            np.copyto(gap, 0, where=a == b)  # infinities of one sign
        np.negative(np.abs(gap, out=gap), out=gap)
        np.log1p(getattr(np, power)(gap, out=gap), out=gap)
        if scale != 1:
            gap *= scale
        gap += top
        return gap

    return log_sum


logaddexp = _log_sum("logaddexp", "exp", 1.0)
logaddexp2 = _log_sum("logaddexp2", "exp2", 1 / math.log(2))

# erf(x) / x in single precision as a quotient of polynomials in x * x, from the highest power down: fitted on
# [0, 3.95] for the least largest relative error, which is 2e-8.
_END = 3.95
_ABOVE = np.array([2.02589922e-06, 0.000284684349, 0.0038080842, 0.0528752025, 0.19154875, 1.12837914], np.float32)
_BELOW = np.array([3.78315311e-05, 0.00117070391, 0.0150549362, 0.114558945, 0.503088336, 1.0], np.float32)


def _polynomial(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    """By Horner's rule."""
    total = x * coefficients[0]
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total


def erf(a: np.ndarray) -> np.ndarray | None:
    """The error function of a large float32 array; ``None`` for other arrays."""
    if a.__class__ is not np.ndarray or a.size < _ENOUGH or a.dtype.char != "f":
        return None
    a = np.ascontiguousarray(a)
    out = np.empty_like(a)
    if a.size >= jit.WORTH_LOADING and jit.suits(a):
        jit.shared(jit.kernels().erf, a.size, a.size, a.reshape(-1), _ABOVE, _BELOW, np.float32(_END), out.reshape(-1))
        return out
    for x, result in _blocks(a, out):
        near = x.clip(-_END, _END)
        square = near * near
        near *= _polynomial(_ABOVE, square)
        near /= _polynomial(_BELOW, square)
        near.clip(-1, 1, out=result)
    return out


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_SHIFT = 8  # from here on the asymptotic series is exact to the last bits of double precision, for orders up to four


def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    """The ``n``-th derivative of the digamma function, ``n`` from 1 to 4, at positive numbers in double precision.

    By recurrence to arguments of eight or more, and there by the asymptotic series (Abramowitz and Stegun, 1964, 6.4.6
    and 6.4.11).
    """
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    series = [
        number * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * math.factorial(n))
        for k, number in enumerate(_BERNOULLI, 1)
    ]
    for part, result in _blocks(x, out):
        y, total = part.copy(), np.zeros_like(part)
        for _ in range(_SHIFT):
            total += _power(1 / y, n + 1)
            y += 1
        inverse = 1 / y
        tail = _polynomial(np.array(series[::-1]), inverse * inverse)
        tail *= inverse
        tail += 0.5
        tail *= inverse
        tail += 1 / n
        tail *= _power(inverse, n)
        total += tail
        np.multiply(total, (-1) ** (n + 1) * math.factorial(n), out=result)
    return out


def _power(x: np.ndarray, n: int) -> np.ndarray:
    """``x ** n`` by multiplication."""
    power = x
    for _ in range(n - 1):
        power = power * x
    return power
