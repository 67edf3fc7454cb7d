"""Solving, inverting and factorising matrices, in batches. ``rlgrad.linalg`` is where users find these.

The derivatives are those of Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", and of Walter and Lehmann (2010) for QR, written with the recorded operations themselves so that
second derivatives follow.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


class LinAlgError(RuntimeError):
    """A matrix for which the asked-for decomposition or solution does not exist."""


def _mt(ns: Any, a: Any) -> Any:
    return ns.transpose(a, a.ndim - 2, a.ndim - 1)


def _column(ns: Any, a: Any) -> Any:
    """``(*, n)`` as ``(*, n, 1)``."""
    return ns.reshape(a, (*a.shape, 1))


def _row(ns: Any, a: Any) -> Any:
    """``(*, n)`` as ``(*, 1, n)``."""
    return ns.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))


def _scalar(ns: Any, a: Any) -> Any:
    """``(*)`` as ``(*, 1, 1)``."""
    return ns.reshape(a, (*a.shape, 1, 1))


def _numpys(name: str, function: Callable[..., Any], problem: str) -> Any:
    """Run a factorisation, with its failure told in PyTorch's class."""
    try:
        return function()
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.{name}: {problem}") from None


_SINGULAR = "The diagonal element is zero, the inversion could not be completed because the input matrix is singular."

_inv = Op(
    "inv",
    lambda xp, a: _numpys("inv", lambda: xp.linalg.inv(a), _SINGULAR),
    (lambda ns, g, out: -(_mt(ns, out) @ g @ _mt(ns, out)),),
    node="LinalgInvExBackward0",
)


def _solve_forward(xp: Any, a: Any, b: Any) -> Any:
    return _numpys(
        "solve",
        lambda: xp.linalg.solve(a, b),
        "The solver failed because the input matrix is singular.",
    )


def _unbroadcast(ns: Any, g: Any, shape: tuple[int, ...]) -> Any:
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1)
    return ns.reshape(ns.sum(g, axes, True), shape) if axes else g


def _solve_vjp_a(ns: Any, g: Any, a: Any, out: Any, a_shape: Any) -> Any:
    return _unbroadcast(ns, -(ns.solve(_mt(ns, a), g) @ _mt(ns, out)), a_shape)


_solve = Op(
    "solve",
    _solve_forward,
    (_solve_vjp_a, lambda ns, g, a, b_shape: _unbroadcast(ns, ns.solve(_mt(ns, a), g), b_shape)),
    node="LinalgSolveExBackward0",
)


def _pinv_vjp(ns: Any, g: Any, a: Any, out: Any) -> Any:
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses"."""
    g, p = _mt(ns, g), out
    pt = _mt(ns, p)
    if a.shape[-2] <= a.shape[-1]:
        k = g @ p
        kp = k @ pt
        return -_mt(ns, p @ k) + kp - (a @ p) @ kp + (pt @ p) @ (g - k @ a)
    k = p @ g
    pk = pt @ k
    return -_mt(ns, k @ p) + (g - a @ k) @ p @ pt + pk - (pk @ p) @ a


def _pinv_forward(xp: Any, a: Any, atol: Any, rtol: Any) -> Any:
    if not a.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    u, values, vh = xp.linalg.svd(a, False)
    small = values <= _negligible(wrap(a), values, atol, rtol)
    inverses = xp.where(small, 0, 1 / xp.where(small, 1, values)).astype(a.dtype)
    return xp.swapaxes(vh, -1, -2) @ (inverses[..., None] * xp.swapaxes(u, -1, -2))


_pinv = Op("pinv", _pinv_forward, (_pinv_vjp,), node="LinalgPinvBackward0")


def _cofactor(xp: Any, a: Any) -> Any:
    """The matrix of cofactors ``det(a) * inv(a).T``, also of a singular matrix, from the singular values."""
    n = a.shape[-1]
    u, s, vh = xp.linalg.svd(a)
    ones = xp.ones_like(s)
    rest = xp.stack([xp.where(xp.arange(n) == i, ones, s).prod(-1) for i in range(n)], -1) if n else s
    sign = xp.linalg.det(u) * xp.linalg.det(vh)
    return sign[..., None, None] * ((u * rest[..., None, :]) @ vh)


def _cofactor_vjp(ns: Any, g: Any, a: Any, out: Any) -> Any:
    raw = ns.array(a)
    if (
        not ns.recorded
        and raw.size
        and bool((abs(ns.det(raw)) <= _NEARLY * abs(raw).max((-2, -1)) ** raw.shape[-1]).any())
    ):
        return ns.second_cofactor(g, a)
    inverse = _mt(ns, ns.inv(a))
    scaled = ns.sum(g * inverse, (g.ndim - 2, g.ndim - 1), True) * out
    return scaled - out @ _mt(ns, g) @ inverse


_NEARLY = 1e-10  # below this share of the largest a determinant could be, the inverse is not the way to its derivatives


def _second_cofactor(xp: Any, g: Any, a: Any) -> Any:
    """The derivative of ``sum(g * cofactor(a))``, also of singular matrices, from the singular values.

    With ``a = u s vh`` and ``c = u^T g vh^T`` it is ``u d vh``, in which ``d[i, i]`` sums ``c[k, k]`` times the product
    of the singular values other than ``i`` and ``k``, and ``d[i, j]`` is ``-c[j, i]`` times that of those other than
    ``i`` and ``j``.
    """
    n = a.shape[-1]
    u, s, vh = xp.linalg.svd(a)
    rest = xp.ones((*s.shape, n), s.dtype)
    for k in range(n):
        mine = (xp.arange(n)[:, None] != k) & (xp.arange(n)[None, :] != k)
        rest = rest * xp.where(mine, s[..., k, None, None], 1)
    rest = rest * (1 - xp.eye(n, dtype=s.dtype))
    c = xp.swapaxes(u, -1, -2) @ g @ xp.swapaxes(vh, -1, -2)
    diagonal = (rest * xp.diagonal(c, 0, -2, -1)[..., None, :]).sum(-1)
    d = diagonal[..., None] * xp.eye(n, dtype=s.dtype) - xp.swapaxes(c, -1, -2) * rest
    sign = xp.linalg.det(u) * xp.linalg.det(vh)
    return sign[..., None, None] * (u @ d @ vh)


Op("second_cofactor", _second_cofactor, inputs=2)


_det = Op(
    "det",
    lambda xp, a: xp.linalg.det(a),
    (lambda ns, g, a: _scalar(ns, g) * ns.cofactor(a),),
    node="LinalgDetBackward0",
)
Op("cofactor", _cofactor, (_cofactor_vjp,))
_slogdet = Op(
    "slogdet",
    lambda xp, a: tuple(xp.linalg.slogdet(a)),
    (lambda ns, grads, a: _scalar(ns, grads[1]) * _mt(ns, ns.inv(a)) if 1 in grads else None,),
    multiple=True,
    node="LinalgSlogdetBackward0",
)


def _half_lower(xp: Any, a: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return xp.tril(a) - a * (xp.eye(a.shape[-1], dtype=a.dtype) * a.dtype.type(0.5))


Op("half_lower", _half_lower, (lambda ns, g: ns.half_lower(g),))


def _cholesky_vjp(ns: Any, g: Any, out: Any) -> Any:
    inverse = ns.inv(out)
    s = _mt(ns, inverse) @ ns.half_lower(_mt(ns, out) @ g) @ inverse
    return (s + _mt(ns, s)) * 0.5


_cholesky = Op(
    "cholesky",
    lambda xp, a: _numpys(
        "cholesky",
        lambda: xp.linalg.cholesky(a),
        "The factorization could not be completed because the input is not positive-definite.",
    ),
    (_cholesky_vjp,),
    node="LinalgCholeskyExBackward0",
)


def _gaps(xp: Any, values: Any) -> Any:
    """One over ``values[j] - values[i]``, and zero on the diagonal."""
    gap = values[..., None, :] - values[..., :, None]
    n = values.shape[-1]
    eye = xp.eye(n, dtype=values.dtype)
    return (1 - eye) / (gap + eye)


def _gaps_vjp(ns: Any, g: Any, out: Any) -> Any:
    slope = -g * out * out
    return ns.sum(slope, (g.ndim - 2,), False) - ns.sum(slope, (g.ndim - 1,), False)


Op("inverse_gaps", _gaps, (_gaps_vjp,))


def _eigh_vjp(ns: Any, grads: Any, out0: Any, out1: Any) -> Any:
    v, vt = out1, _mt(ns, out1)
    inner = None
    if 1 in grads:
        inner = (vt @ grads[1]) * ns.inverse_gaps(out0)
        result = v @ inner @ vt
        return result + (v * _row(ns, grads[0])) @ vt if 0 in grads else result
    return (v * _row(ns, grads[0])) @ vt


def _eigh_forward(xp: Any, a: Any, uplo: str) -> tuple[Any, Any]:
    values, vectors = _numpys("eigh", lambda: xp.linalg.eigh(a, uplo), "The algorithm failed to converge.")
    return values, vectors


_eigh = Op("eigh", _eigh_forward, (_eigh_vjp,), multiple=True, node="LinalgEighBackward0")


def _svd_vjp(ns: Any, grads: Any, out0: Any, out1: Any, out2: Any, a_shape: Any, full: bool) -> Any:
    u, s, vt = out0, out1, out2
    if 0 in a_shape:
        return ns.zeros(next(iter(grads.values())), a_shape)
    if full and a_shape[-2] != a_shape[-1]:
        k, last = min(a_shape[-2:]), u.ndim - 1
        u, vt = ns.narrow(u, last, 0, k), ns.narrow(vt, last - 1, 0, k)
        grads = dict(grads)
        for output, dim in ((0, last), (2, last - 1)):
            if output in grads:
                g = grads[output]
                if bool(ns.array(ns.narrow(g, dim, k, g.shape[dim] - k)).any()):
                    raise RuntimeError(
                        "linalg.svd: vectors beyond the smaller extent have no derivative; use full_matrices=False"
                    )
                grads[output] = ns.narrow(g, dim, 0, k)
    ut, v, row = _mt(ns, u), _mt(ns, vt), _row(ns, s)
    total = (u * _row(ns, grads[1])) @ vt if 1 in grads else None
    if 0 in grads or 2 in grads:
        gaps = ns.inverse_gaps(s * s)
        middle = outside = None
        if 0 in grads:
            skew = ut @ grads[0]
            middle = (skew - _mt(ns, skew)) * gaps * row
            if a_shape[-2] > a_shape[-1]:
                outside = ((grads[0] - u @ skew) / row) @ vt
        if 2 in grads:
            gv = _mt(ns, grads[2])
            skew = vt @ gv
            part = _column(ns, s) * ((skew - _mt(ns, skew)) * gaps)
            middle = part if middle is None else middle + part
            if a_shape[-1] > a_shape[-2]:
                rest = (u / row) @ _mt(ns, gv - v @ skew)
                outside = rest if outside is None else outside + rest
        result = u @ middle @ vt
        result = result if outside is None else result + outside
        total = result if total is None else total + result
    return total


def _svd_forward(xp: Any, a: Any, full: bool) -> tuple[Any, Any, Any]:
    u, s, vh = _numpys("svd", lambda: xp.linalg.svd(a, full), "The algorithm failed to converge.")
    return u, s, vh


_svd = Op("svd", _svd_forward, (_svd_vjp,), multiple=True, node="LinalgSvdBackward0")


def _qr_vjp(ns: Any, grads: Any, out0: Any, out1: Any, a_shape: Any, mode: str) -> Any:
    m, n = a_shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "linalg.qr: derivatives of the complete mode need a matrix no taller than wide; use mode='reduced'"
        )
    q, r = out0, out1
    gq, gr = grads.get(0), grads.get(1)
    if m >= n:
        return _tall_qr(ns, gq, gr, q, r)
    # a = [x | y] with x = q u square and y = q v
    last = r.ndim - 1
    u, v = ns.narrow(r, last, 0, m), ns.narrow(r, last, m, n - m)
    gu = gy = None
    if gr is not None:
        gu, gv = ns.narrow(gr, last, 0, m), ns.narrow(gr, last, m, n - m)
        gy = q @ gv
        more = (q @ v) @ _mt(ns, gv)
        gq = more if gq is None else gq + more
    gx = _tall_qr(ns, gq, gu, q, u)
    gy = ns.zeros(gx, (*a_shape[:-1], n - m)) if gy is None else gy
    return ns.cat([gx, gy], last, (m, n - m))


def _tall_qr(ns: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = None
    if gr is not None:
        middle = gr @ _mt(ns, r)
    if gq is not None:
        part = _mt(ns, q) @ gq
        middle = -part if middle is None else middle - part
    upper = _mt(ns, ns.half_lower(_mt(ns, middle)))
    result = q @ (upper + _mt(ns, upper))
    result = result if gq is None else result + gq
    return _mt(ns, ns.solve(r, _mt(ns, result)))


def _qr_forward(xp: Any, a: Any, mode: str) -> tuple[Any, Any]:
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        k = a.shape[-2] if mode == "complete" else 0
        q = xp.zeros((*a.shape[:-1], k), a.dtype) + xp.eye(a.shape[-2], k, dtype=a.dtype)
        return q, xp.zeros((*a.shape[:-2], k, a.shape[-1]), a.dtype)
    q, r = xp.linalg.qr(a, mode)
    return q, r


_qr = Op("qr", _qr_forward, (_qr_vjp,), multiple=True, node="LinalgQrBackward0")


def _matrix(name: str, A: Tensor, square: bool = False) -> Tensor:
    if not isinstance(A, Tensor):
        raise TypeError(f"linalg.{name}(): argument must be Tensor, not {type(A).__name__}")
    shape = A._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A._array.dtype.kind != "f" or A._array.dtype.itemsize < 4:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {A.dtype!r}; convert it with .float()"
        )
    if square and shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return A


@with_out()
def inv(A: Tensor) -> Tensor:
    """Inverses of square matrices ``(*, n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return apply(_inv, (_matrix("inv", A, True),))


@with_out()
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(*, n, n)``.
        B: ``(*, n, k)``, or vectors ``(*, n)`` of the batch dimensions of ``A``.
        left: whether ``A`` stands on the left.
    """
    _matrix("solve", A, True)
    _same_dtype("solve", A, B)
    a, b = A._array.shape, B._array.shape
    vector = len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])
    if vector:
        if b[-1] != a[-1]:
            raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a} and {b})")
        return renamed(solve(A, B.unsqueeze(-1), left=True).squeeze(-1), "LinalgSolveExBackward0")
    _solvable("solve", A, B, left)
    return apply(_solve, (A, B)) if left else apply(_solve, (A.mT, B.mT)).mT


def _same_dtype(name: str, A: Tensor, B: Tensor) -> None:
    if A._array.dtype != B._array.dtype:
        raise RuntimeError(
            f"linalg.{name}: Expected A and B to have the same dtype, but found {A.dtype!r} and {B.dtype!r}"
        )


def _solvable(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    _same_dtype(name, A, B)
    a, b = A._array.shape, _matrix(name, B)._array.shape
    if b[-2 if left else -1] != a[-1]:
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


@with_out(cast=True)
def pinv(A: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, rcond: Any = None) -> Tensor:
    """Moore-Penrose inverses ``(*, n, m)`` of matrices ``(*, m, n)``.

    Args:
        rtol: singular values below this share of the largest count as zero.
    """
    _matrix("pinv", A, hermitian)
    if hermitian:
        values, vectors = eigh(A)
        small = wrap(
            abs(values._array) <= _negligible(A, abs(values._array), atol, rcond if rcond is not None else rtol)
        )
        inverses = where(small, 0.0, 1 / where(small, 1.0, values))
        return renamed((vectors * inverses.unsqueeze(-2)) @ vectors.mT, "LinalgPinvBackward0")
    return apply(_pinv, (A,), (atol, rcond if rcond is not None else rtol))


@with_out()
def det(A: Tensor) -> Tensor:
    """Determinants ``(*)`` of square matrices ``(*, n, n)``."""
    return apply(_det, (_matrix("det", A, True),))


_Slogdet = namedtuple("slogdet", ["sign", "logabsdet"])  # type: ignore[name-match]
_Qr = namedtuple("qr", ["Q", "R"])  # type: ignore[name-match]
_Svd = namedtuple("svd", ["U", "S", "Vh"])  # type: ignore[name-match]
_Eigh = namedtuple("eigh", ["eigenvalues", "eigenvectors"])  # type: ignore[name-match]
_Lstsq = namedtuple("lstsq", ["solution", "residuals", "rank", "singular_values"])  # type: ignore[name-match]


@with_out()
def slogdet(A: Tensor) -> Any:
    """Sign of the determinant and logarithm of its absolute value."""
    sign, logabsdet = apply(_slogdet, (_matrix("slogdet", A, True),))
    return _Slogdet(sign, logabsdet)


def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant; NaN where it is negative."""
    sign, logabsdet = slogdet(_matrix("logdet", input, True))
    return where(sign < 0, math.nan, logabsdet)


@with_out()
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangle ``L`` with ``A = L L^T`` of positive-definite matrices ``(*, n, n)``.

    Raises:
        LinAlgError: for a matrix that is not positive-definite.
    """
    result = apply(_cholesky, (_matrix("cholesky", A.mT if upper and A.ndim > 1 else A, True),))
    return renamed(result.mT, "LinalgCholeskyExBackward0") if upper else result


@with_out()
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Orthogonal ``Q`` and upper triangular ``R`` with ``A = Q R``.

    Args:
        A: ``(*, m, n)``.
        mode: ``"reduced"``, ``"complete"`` or ``"r"`` (``Q`` is then empty and there is no derivative).
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'")
    _matrix("qr", A)
    if mode == "r":
        _, r = apply(_qr, (A.detach(),), ("reduced",))
        return _Qr(wrap(module_of(r._array).empty((0,), r._array.dtype)), r)
    return _Qr(*apply(_qr, (A,), (mode,)))


@with_out()
def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """``U``, singular values ``S`` (falling) and ``Vh`` with ``A = U diag(S) Vh``."""
    return _Svd(*apply(_svd, (_matrix("svd", A),), (full_matrices,)))


@with_out()
def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    """Singular values ``(*, min(m, n))`` of matrices ``(*, m, n)``, falling."""
    return apply(_svd, (_matrix("svdvals", A),), (False,))[1]


@with_out()
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (rising) and orthonormal eigenvectors of symmetric matrices ``(*, n, n)``.

    Args:
        UPLO: which triangle is read, ``"L"`` or ``"U"``.
    """
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigh(*apply(_eigh, (_matrix("eigh", A, True),), (UPLO.upper(),)))


@with_out()
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, rising."""
    return eigh(_matrix("eigvalsh", A, True), UPLO)[0]


@with_out(cast=True)
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The ``X`` of smallest norm that minimises ``|A X - B|``.

    Args:
        A: ``(*, m, n)``.
        B: ``(*, m, k)``, or ``(*, m)``.
    """
    _matrix("lstsq", A)
    m, n = A.shape[-2:]
    vector = A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape
    rhs = B.unsqueeze(-1) if vector else B
    if rhs.ndim < 2 or rhs.shape[-2] != m:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size(-2), got {m} and {list(B.shape)}"
        )
    solution = pinv(A, rtol=rcond) @ rhs
    xp = module_of(A._array)
    nothing = xp.empty((0,), A._array.dtype)
    rank, residuals = wrap(nothing.astype(np.int64)), wrap(nothing)
    if driver != "gels" and not (driver is None and A.is_cuda):
        rank = matrix_rank(A, rtol=rcond)
    if m > n and driver != "gelsy" and (driver == "gels" or bool((rank._array == n).all())):
        difference = A @ solution - rhs
        residuals = renamed((difference * difference).sum(-2), "LinalgLstsqBackward0")
    if vector:
        solution = solution.squeeze(-1)
    values = xp.linalg.svd(A._array, compute_uv=False) if driver in ("gelss", "gelsd") else nothing
    return _Lstsq(renamed(solution, "LinalgLstsqBackward0"), residuals, rank, wrap(values))


@with_out(cast=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of ``n`` copies of a square matrix; of its inverse for negative ``n``."""
    _matrix("matrix_power", A, True)
    if n == 0:
        xp = module_of(A._array)
        return renamed(A * 0 + wrap(xp.eye(A.shape[-1], dtype=A._array.dtype)), "torch::autograd::CopyBackwards")
    if n < 0:
        A, n = inv(A), -n
    result: Tensor | None = None
    while True:
        if n & 1:
            result = A if result is None else result @ A
        n >>= 1
        if not n:
            return result if result is not None else A
        A = A @ A


def _negligible(A: Tensor, values: Any, atol: Any, rtol: Any) -> Any:
    """Up to which magnitude singular values count as zero, for each matrix: ``(*, 1)``."""
    xp = module_of(A._array)
    small, share = (
        None if x is None else xp.asarray(x._array if isinstance(x, Tensor) else x, A._array.dtype)[..., None]
        for x in (atol, rtol)
    )
    if share is None:
        share = 0.0 if small is not None else max(A.shape[-2:]) * float(np.finfo(A._array.dtype).eps)
    if not values.shape[-1]:
        return xp.zeros((*values.shape[:-1], 1), values.dtype)
    limit = values.max(-1, keepdims=True) * share
    return limit if small is None else xp.maximum(limit, small)


@with_out(cast=True)
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values are not negligible.

    Args:
        atol: singular values up to this count as zero; ``tol`` is its older name.
        rtol: so do those up to this share of the largest, by default the larger extent times the dtype's ``eps``.
        hermitian: the matrices are symmetric; only the lower triangles are read.
    """
    _matrix("matrix_rank", A, hermitian)
    atol = tol if atol is None else atol
    xp = module_of(A._array)
    values = abs(xp.linalg.eigvalsh(A._array)) if hermitian else xp.linalg.svd(A._array, compute_uv=False)
    return wrap(xp.asarray((values > _negligible(A, values, atol, rtol)).sum(-1)).astype(np.int64))


for _name, _function in (
    ("inverse", inv), ("det", det), ("slogdet", slogdet), ("logdet", logdet), ("matrix_power", matrix_power),
    ("pinverse", pinv), ("qr", qr),
):  # fmt: skip
    setattr(Tensor, _name, _function)

__all__: Sequence[str] = [
    "LinAlgError",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "logdet",
    "lstsq",
    "matrix_power",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]
