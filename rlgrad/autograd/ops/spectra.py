"""Eigenvalues and singular values, and what is made of them: ranks and pseudo-inverses.

The derivatives are those of Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.matrices import column_of, factored, matrix_argument, mt, row_of
from rlgrad.autograd.ops.pointwise import where
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


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
    v, vt = out1, mt(ns, out1)
    inner = None
    if 1 in grads:
        inner = (vt @ grads[1]) * ns.inverse_gaps(out0)
        result = v @ inner @ vt
        return result + (v * row_of(ns, grads[0])) @ vt if 0 in grads else result
    return (v * row_of(ns, grads[0])) @ vt


def _eigh_forward(xp: Any, a: Any, uplo: str) -> tuple[Any, Any]:
    values, vectors = factored("eigh", lambda: xp.linalg.eigh(a, uplo), "The algorithm failed to converge.")
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
    ut, v, row = mt(ns, u), mt(ns, vt), row_of(ns, s)
    total = (u * row_of(ns, grads[1])) @ vt if 1 in grads else None
    if 0 in grads or 2 in grads:
        gaps = ns.inverse_gaps(s * s)
        middle = outside = None
        if 0 in grads:
            skew = ut @ grads[0]
            middle = (skew - mt(ns, skew)) * gaps * row
            if a_shape[-2] > a_shape[-1]:
                outside = ((grads[0] - u @ skew) / row) @ vt
        if 2 in grads:
            gv = mt(ns, grads[2])
            skew = vt @ gv
            part = column_of(ns, s) * ((skew - mt(ns, skew)) * gaps)
            middle = part if middle is None else middle + part
            if a_shape[-1] > a_shape[-2]:
                rest = (u / row) @ mt(ns, gv - v @ skew)
                outside = rest if outside is None else outside + rest
        result = u @ middle @ vt
        result = result if outside is None else result + outside
        total = result if total is None else total + result
    return total


def _svd_forward(xp: Any, a: Any, full: bool) -> tuple[Any, Any, Any]:
    u, s, vh = factored("svd", lambda: xp.linalg.svd(a, full), "The algorithm failed to converge.")
    return u, s, vh


_svd = Op("svd", _svd_forward, (_svd_vjp,), multiple=True, node="LinalgSvdBackward0")


_Svd = results("linalg_svd", "U S Vh")


_Eigh = results("linalg_eigh", "eigenvalues eigenvectors")


@with_out()
def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """``U``, singular values ``S`` (falling) and ``Vh`` with ``A = U diag(S) Vh``."""
    return _Svd(*apply(_svd, (matrix_argument("svd", A),), (full_matrices,)))


@with_out()
def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    """Singular values ``(*, min(m, n))`` of matrices ``(*, m, n)``, falling."""
    return apply(_svd, (matrix_argument("svdvals", A),), (False,))[1]


@with_out()
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (rising) and orthonormal eigenvectors of symmetric matrices ``(*, n, n)``.

    Args:
        UPLO: which triangle is read, ``"L"`` or ``"U"``.
    """
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigh(*apply(_eigh, (matrix_argument("eigh", A, True),), (UPLO.upper(),)))


@with_out()
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, rising."""
    return eigh(matrix_argument("eigvalsh", A, True), UPLO)[0]


def negligible(A: Tensor, values: Any, atol: Any, rtol: Any) -> Any:
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
    matrix_argument("matrix_rank", A, hermitian)
    atol = tol if atol is None else atol
    xp = module_of(A._array)
    values = abs(xp.linalg.eigvalsh(A._array)) if hermitian else xp.linalg.svd(A._array, compute_uv=False)
    return wrap(xp.asarray((values > negligible(A, values, atol, rtol)).sum(-1)).astype(np.int64))


def _pinv_vjp(ns: Any, g: Any, a: Any, out: Any) -> Any:
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses"."""
    g, p = mt(ns, g), out
    pt = mt(ns, p)
    if a.shape[-2] <= a.shape[-1]:
        k = g @ p
        kp = k @ pt
        return -mt(ns, p @ k) + kp - (a @ p) @ kp + (pt @ p) @ (g - k @ a)
    k = p @ g
    pk = pt @ k
    return -mt(ns, k @ p) + (g - a @ k) @ p @ pt + pk - (pk @ p) @ a


def _pinv_forward(xp: Any, a: Any, atol: Any, rtol: Any) -> Any:
    if not a.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    u, values, vh = xp.linalg.svd(a, False)
    small = values <= negligible(wrap(a), values, atol, rtol)
    inverses = xp.where(small, 0, 1 / xp.where(small, 1, values)).astype(a.dtype)
    return xp.swapaxes(vh, -1, -2) @ (inverses[..., None] * xp.swapaxes(u, -1, -2))


_pinv = Op("pinv", _pinv_forward, (_pinv_vjp,), node="LinalgPinvBackward0")


@with_out(cast=True)
def pinv(A: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, rcond: Any = None) -> Tensor:
    """Moore-Penrose inverses ``(*, n, m)`` of matrices ``(*, m, n)``.

    Args:
        rtol: singular values below this share of the largest count as zero.
    """
    matrix_argument("pinv", A, hermitian)
    if hermitian:
        values, vectors = eigh(A)
        small = wrap(
            abs(values._array) <= negligible(A, abs(values._array), atol, rcond if rcond is not None else rtol)
        )
        inverses = where(small, 0.0, 1 / where(small, 1.0, values))
        return renamed((vectors * inverses.unsqueeze(-2)) @ vectors.mT, "LinalgPinvBackward0")
    return apply_one(_pinv, A, (atol, rcond if rcond is not None else rtol))


Tensor.pinverse = pinv  # type: ignore[attr-defined]

__all__ = ["eigh", "eigvalsh", "matrix_rank", "pinv", "svd", "svdvals"]
