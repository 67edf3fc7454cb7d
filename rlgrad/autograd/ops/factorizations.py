"""LU and Householder factorisations, what is solved with factors, and forms that report failure instead of raising.

Derivatives of LU: for a square matrix as in Hoelscher et al., and by blocks for tall and wide ones, from
``A1 = P L U1`` and ``U2 = inv(L) P^T A2``. Functions that PyTorch offers outside ``linalg`` are here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad.autograd.ops.decompositions import cholesky as linalg_cholesky
from rlgrad.autograd.ops.decompositions import qr
from rlgrad.autograd.ops.define import method, public
from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.matrices import LinAlgError, matrix_argument, mt
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.sampling import randn
from rlgrad.autograd.ops.solving import inv, solve
from rlgrad.autograd.ops.spectra import svd as linalg_svd
from rlgrad.autograd.ops.triangular import solve_triangular
from rlgrad.autograd.ops.writing import recorded_as
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of, to_host


def _lu_forward(xp: Any, a: Any, pivot: bool) -> tuple[Any, Any, Any]:
    """Gaussian elimination on all matrices at once: packed factors, row exchanges counted from one, and info."""
    out = xp.array(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    count = math.prod(a.shape[:-2])
    flat = out.reshape(count, m, n)
    pivots = xp.zeros((count, k), np.int32)
    info = xp.zeros(count, np.int32)
    every = xp.arange(count)
    for j in range(k):
        row = j + abs(flat[:, j:, j]).argmax(1) if pivot else xp.full(count, j)
        pivots[:, j] = row + 1
        kept = flat[every, row].copy()
        flat[every, row] = flat[:, j]
        flat[:, j] = kept
        head = flat[:, j, j]
        zero = head == 0
        info = xp.where(zero & (info == 0), j + 1, info).astype(np.int32)
        below = flat[:, j + 1 :, j]
        below /= xp.where(zero, 1, head)[:, None]
        flat[:, j + 1 :, j + 1 :] -= below[:, :, None] * flat[:, j, None, j + 1 :]
    return flat.reshape(a.shape), pivots.reshape(*a.shape[:-2], k), info.reshape(a.shape[:-2])


def _permutation(pivots: Any, m: int) -> Any:
    """Where each row of ``P A`` comes from, for the exchanges that LAPACK reports: ``(*, m)``."""
    xp = module_of(pivots)
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = xp.zeros((len(flat), m), np.int64) + xp.arange(m)
    every = xp.arange(len(flat))
    for j in range(flat.shape[1]):
        other = flat[:, j].astype(np.int64) - 1
        kept = order[every, other].copy()
        order[every, other] = order[:, j]
        order[:, j] = kept
    return order.reshape(*pivots.shape[:-1], m)


def _matrix_of(order: Any, dtype: Any) -> Any:
    """The permutation matrices ``P`` with ``A = P L U``."""
    xp = module_of(order)
    return xp.swapaxes((order[..., :, None] == xp.arange(order.shape[-1])).astype(dtype), -1, -2)


def _lu_vjp(ns: Any, grads: Any, out0: Any, out1: Any, a_shape: Any) -> Any:
    if 0 not in grads:
        return None
    g, lu = grads[0], out0
    m, n = a_shape[-2:]
    k = min(m, n)
    raw = ns.array(lu)
    xp, last = module_of(raw), raw.ndim - 1
    p = _matrix_of(_permutation(ns.array(out1), m), raw.dtype)
    eye = xp.eye(k, dtype=raw.dtype)
    corner = ns.narrow(ns.narrow(lu, last - 1, 0, k), last, 0, k)
    gl = gu = ns.narrow(ns.narrow(g, last - 1, 0, k), last, 0, k)
    lower = ns.tril(corner, -1) + eye
    upper = ns.triu(corner, 0)
    more = None
    if n > m:
        gu2, u2 = ns.narrow(g, last, m, n - m), ns.narrow(lu, last, m, n - m)
        more = ns.solve(mt(ns, lower), gu2)
        gl = gl - more @ mt(ns, u2)
    elif m > n:
        gl2, l2 = ns.narrow(g, last - 1, n, m - n), ns.narrow(lu, last - 1, n, m - n)
        more = mt(ns, ns.solve(upper, mt(ns, gl2)))
        gu = gu - mt(ns, l2) @ more
    inner = ns.tril(mt(ns, lower) @ ns.tril(gl, -1), -1) + ns.triu(ns.triu(gu, 0) @ mt(ns, upper), 0)
    square = mt(ns, ns.solve(upper, mt(ns, ns.solve(mt(ns, lower), inner))))
    if more is not None:
        square = ns.cat([square, more], last if n > m else last - 1, (k, abs(n - m)))
    return ns.bmm(p, square)


_lu = Op("lu_factor", _lu_forward, (_lu_vjp,), multiple=True, node="LinalgLuFactorExBackward0")
_LuFactor = results("linalg_lu_factor", "LU pivots")
_LuFactorEx = results("linalg_lu_factor_ex", "LU pivots info")
_Lu = results("linalg_lu", "P L U")


@with_out()
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """:func:`lu_factor`, and where elimination met a zero (counted from one; 0 for none)."""
    result = _LuFactorEx(*apply(_lu, (matrix_argument("lu_factor", A),), (pivot,)))
    return _checked(result, check_errors, "lu_factor", "U has a zero on its diagonal, so it is singular")


@with_out()
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Packed factors ``LU`` (``L`` below the diagonal, ``U`` from it on) with ``A = P L U``, and the row exchanges."""
    return _LuFactor(*lu_factor_ex(A, pivot=pivot)[:2])


@with_out()
@recorded_as("LinalgLuBackward0")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Permutation ``P``, unit lower ``L`` and upper ``U`` with ``A = P L U`` of matrices ``(*, m, n)``."""
    factors, pivots = lu_factor(A, pivot=pivot)
    result = lu_unpack(factors, pivots)
    return result if pivot else _Lu(wrap(module_of(A._array).empty((0,), A._array.dtype)), *result[1:])


@with_out()
@recorded_as("LuUnpackBackward0")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """``P``, ``L`` and ``U`` from packed factors."""
    xp = module_of(LU_data._array)
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    nothing = wrap(xp.empty((0,), LU_data._array.dtype))
    p = wrap(_matrix_of(_permutation(LU_pivots._array, m), LU_data._array.dtype)) if unpack_pivots else nothing
    if not unpack_data:
        return _Lu(p, nothing, nothing)
    lower = LU_data.narrow(-1, 0, k).tril(-1) + wrap(xp.eye(m, k, dtype=LU_data._array.dtype))
    return _Lu(p, lower, LU_data.narrow(-2, 0, k).triu())


@with_out()
@recorded_as("LinalgLuSolveBackward0")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solution of ``A X = B`` (``X A = B``) from the factors of ``A``; of its transpose with ``adjoint``."""
    if not left:
        return lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT
    p, lower, upper = lu_unpack(LU, pivots)
    if adjoint:
        y = solve_triangular(upper.mT, B, upper=False)
        return p @ solve_triangular(lower.mT, y, upper=True, unitriangular=True)
    y = solve_triangular(lower, p.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(upper, y, upper=True)


def _checked(result: Any, check_errors: bool, name: str, problem: str) -> Any:
    if check_errors and bool((result[-1]._array != 0).any()):
        raise LinAlgError(f"linalg.{name}: {problem}")
    return result


_CholeskyEx = results("linalg_cholesky_ex", "L info")
_InvEx = results("linalg_inv_ex", "inverse info")
_SolveEx = results("linalg_solve_ex", "result info")


def _reported(
    A: Tensor, work: Callable[[Tensor], Tensor], fails_at: Callable[[Any], int], *others: Tensor
) -> tuple[Tensor, Tensor]:
    """What ``work`` makes of matrices, and zeros; or what it makes of the good ones, and where the others failed."""
    xp = module_of(A._array)
    try:
        return work(A), wrap(xp.zeros(A.shape[:-2], np.int32))
    except LinAlgError:
        host = to_host(A._array)
        info = np.array([fails_at(a) for a in host.reshape(-1, *host.shape[-2:])], np.int32).reshape(host.shape[:-2])
    bad = xp.asarray(info != 0)[..., None, None]
    eye = xp.eye(A.shape[-1], dtype=A._array.dtype)
    return work(wrap(xp.where(bad, eye, A._array))), wrap(xp.asarray(info))


def _first_bad_minor(a: np.ndarray) -> int:
    for k in range(1, len(a) + 1):
        try:
            np.linalg.cholesky(a[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def _first_zero_pivot(a: np.ndarray) -> int:
    return int(_lu_forward(np, a[None], True)[2][0])


@with_out()
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """:func:`cholesky`, and of which leading minor it is that it fails (0 for none)."""
    matrix_argument("cholesky", A, True)
    result = _CholeskyEx(*_reported(A, lambda a: linalg_cholesky(a, upper=upper), _first_bad_minor))
    return _checked(result, check_errors, "cholesky", "the input is not positive-definite")


@with_out()
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """:func:`inv`, and where elimination met a zero (0 for nowhere)."""
    matrix_argument("inv", A, True)
    return _checked(_InvEx(*_reported(A, inv, _first_zero_pivot)), check_errors, "inv", "the input is singular")


@with_out()
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """:func:`solve`, and where elimination met a zero (0 for nowhere)."""
    matrix_argument("solve", A, True)
    result = _SolveEx(*_reported(A, lambda a: solve(a, B, left=left), _first_zero_pivot))
    return _checked(result, check_errors, "solve", "the input is singular")


@with_out(cast=True)
@method
@recorded_as("CholeskyBackward0")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The older name of ``linalg.cholesky``."""
    return linalg_cholesky(input, upper=upper)


@with_out(cast=True)
@method
@recorded_as("CholeskySolveBackward0")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution of ``A X = B`` from the Cholesky factor of ``A``."""
    if B.ndim < 2 or L.ndim < 2:
        raise RuntimeError(
            f"b and A should have at least 2 dimensions, but have {B.ndim} and {L.ndim} dimensions instead"
        )
    lower = L.mT if upper else L
    return solve_triangular(lower.mT, solve_triangular(lower, B, upper=False), upper=True)


@with_out(cast=True)
@method
@recorded_as("CholeskyInverseBackward0")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix that has this Cholesky factor."""
    matrix_argument("cholesky_inverse", L, True)
    return cholesky_solve(wrap(module_of(L._array).eye(L.shape[-1], dtype=L._array.dtype)), L, upper)


_TriangularSolve = results("triangular_solve", "solution cloned_coefficient")


@with_out()
@method
@recorded_as("TriangularSolveBackward0")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The older form of ``linalg.solve_triangular``, with the coefficients."""
    solution = solve_triangular(A.mT if transpose else A, b, upper=upper != transpose, unitriangular=unitriangular)
    return _TriangularSolve(solution, A.clone())


@with_out()
def solve_with_lu(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The older form of ``linalg.lu_solve``."""
    return lu_solve(LU_data, LU_pivots, b)


@with_out(cast=True)
def packed_lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The older form of ``linalg.lu_factor``, with ``info`` if asked for."""
    return tuple(lu_factor_ex(A, pivot=pivot)[: 3 if get_infos else 2])


Tensor.lu = packed_lu  # type: ignore[attr-defined]
Tensor.lu_solve = solve_with_lu  # type: ignore[attr-defined]

_Geqrf = results("geqrf", "a tau")


@with_out(cast=True)
@method
def geqrf(input: Tensor) -> Any:
    """The QR factorisation as LAPACK packs it: ``R`` above the vectors of Householder reflections, and their factors."""
    matrix_argument("geqrf", input)
    host = to_host(input._array)
    xp, (m, n) = module_of(input._array), host.shape[-2:]
    packed, tau = host.copy(), np.zeros((*host.shape[:-2], min(m, n)), host.dtype)
    if host.size:
        parts = [np.linalg.qr(a, "raw") for a in host.reshape(-1, m, n)]
        packed = np.array([h.T for h, _ in parts], host.dtype).reshape(host.shape)
        tau = np.array([t for _, t in parts], host.dtype).reshape(tau.shape)
    return _Geqrf(wrap(xp.asarray(packed)), wrap(xp.asarray(tau)))


def _reflected(A: Tensor, tau: Tensor, start: Tensor, order: range) -> Tensor:
    """Reflections ``I - tau v v^T``, whose vectors lie below the diagonal of ``A``, applied from the left one by one."""
    xp = module_of(A._array)
    m = A.shape[-2]
    result = start
    for i in order:
        unit = wrap(xp.eye(1, m, i, dtype=A._array.dtype).reshape(m, 1))
        below = wrap((xp.arange(m) > i).astype(A._array.dtype).reshape(m, 1))
        v = A.narrow(-1, i, 1) * below + unit
        result = result - (tau.narrow(-1, i, 1).unsqueeze(-1) * v) @ (v.mT @ result)
    return result


@with_out(cast=True)
@recorded_as("LinalgHouseholderProductBackward0")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of Householder reflections.

    Args:
        A: ``(*, m, n)`` with ``m >= n``; the vectors are below its diagonal.
        tau: ``(*, k)`` with ``k <= n``: the factors of the reflections.
    """
    matrix_argument("householder_product", A)
    m, n = A.shape[-2:]
    if n > m:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.ndim != A.ndim - 1 or tau.shape[:-1] != A.shape[:-2] or tau.shape[-1] > n:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau of shape {list(tau.shape)} does not fit input of shape {list(A.shape)}"
        )
    if A.dtype is not tau.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {tau.dtype!r} does not match input dtype {A.dtype!r}"
        )
    start = wrap(module_of(A._array).eye(m, n, dtype=A._array.dtype)).expand(*A.shape[:-2], m, n)
    if not tau.shape[-1]:
        return A * 0 + start  # no reflection, but still a function of ``A``
    return _reflected(A, tau, start, range(tau.shape[-1] - 1, -1, -1))


orgqr = householder_product


@with_out()
@method
@recorded_as("OrmqrBackward0")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of the whole orthogonal matrix of Householder reflections with ``other``, or of its transpose."""
    matrix_argument("ormqr", input)
    if other.ndim < 2 or tau.ndim != input.ndim - 1 or tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: tau of shape {list(tau.shape)} and other of shape {list(other.shape)} do not fit input of shape "
            f"{list(input.shape)}"
        )
    if other.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got {list(other.shape)} and "
            f"{list(input.shape)}"
        )
    if not input.dtype is tau.dtype is other.dtype:
        raise RuntimeError(
            f"torch.ormqr: dtypes must be the same, got {input.dtype!r}, {tau.dtype!r} and {other.dtype!r}"
        )
    if not left:
        return ormqr(input, tau, other.mT, True, not transpose).mT
    k = tau.shape[-1]
    return _reflected(input, tau, other, range(k) if transpose else range(k - 1, -1, -1))


Tensor.orgqr = orgqr  # type: ignore[attr-defined]

_Svd = results("svd", "U S V")


@with_out()
@method
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form of ``linalg.svd``: reduced unless told otherwise, with ``V`` instead of its transpose."""
    u, s, vh = linalg_svd(input, full_matrices=not some)
    if compute_uv:
        return _Svd(u, s, vh.mT)
    m, n = input.shape[-2:]
    return _Svd(input.new_zeros((*input.shape[:-2], m, m)), s, input.new_zeros((*input.shape[:-2], n, n)))


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """About the ``q`` largest singular values of ``A - M`` and their vectors ``U (*, m, q)`` and ``V (*, n, q)``.

    Args:
        niter: how many subspace iterations.

    Source: Halko, Martinsson and Tropp (2009), "Finding structure with randomness", algorithms 4.4 and 5.1.
    """
    a = A if M is None else A - M
    flip = a.shape[-2] < a.shape[-1]
    a = a.mT if flip else a
    k = min(6 if q is None else q, *a.shape[-2:])
    basis = qr(a @ randn(a.shape[-1], k, dtype=a.dtype, device=a.device))[0]
    for _ in range(niter):
        basis = qr(a @ qr(a.mT @ basis)[0])[0]
    u, s, vh = linalg_svd(basis.mT @ a, full_matrices=False)
    u, v = basis @ u, vh.mT
    return (v, s, u) if flip else (u, s, v)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of observations (rows), by :func:`svd_lowrank` of the centred matrix."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    return svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)


__all__ = public(globals(), internal=["qr", "inv", "solve"])
