"""Cholesky and QR decompositions, in batches. ``rlgrad.linalg`` is where users find them.

The derivatives are those of Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", and of Walter and Lehmann (2010) for QR, written with the recorded operations themselves so that second
derivatives follow.
"""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.matrices import factored, matrix_argument, mt
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of


def _half_lower(xp: Any, a: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return xp.tril(a) - a * (xp.eye(a.shape[-1], dtype=a.dtype) * a.dtype.type(0.5))


Op("half_lower", _half_lower, (lambda ns, g: ns.half_lower(g),))


def _cholesky_vjp(ns: Any, g: Any, out: Any) -> Any:
    inverse = ns.inv(out)
    s = mt(ns, inverse) @ ns.half_lower(mt(ns, out) @ g) @ inverse
    return (s + mt(ns, s)) * 0.5


_cholesky = Op(
    "cholesky",
    lambda xp, a: factored(
        "cholesky",
        lambda: xp.linalg.cholesky(a),
        "The factorization could not be completed because the input is not positive-definite.",
    ),
    (_cholesky_vjp,),
    node="LinalgCholeskyExBackward0",
)


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
        more = (q @ v) @ mt(ns, gv)
        gq = more if gq is None else gq + more
    gx = _tall_qr(ns, gq, gu, q, u)
    gy = ns.zeros(gx, (*a_shape[:-1], n - m)) if gy is None else gy
    return ns.cat([gx, gy], last, (m, n - m))


def _tall_qr(ns: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = None
    if gr is not None:
        middle = gr @ mt(ns, r)
    if gq is not None:
        part = mt(ns, q) @ gq
        middle = -part if middle is None else middle - part
    upper = mt(ns, ns.half_lower(mt(ns, middle)))
    result = q @ (upper + mt(ns, upper))
    result = result if gq is None else result + gq
    return mt(ns, ns.solve(r, mt(ns, result)))


def _qr_forward(xp: Any, a: Any, mode: str) -> tuple[Any, Any]:
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        k = a.shape[-2] if mode == "complete" else 0
        q = xp.zeros((*a.shape[:-1], k), a.dtype) + xp.eye(a.shape[-2], k, dtype=a.dtype)
        return q, xp.zeros((*a.shape[:-2], k, a.shape[-1]), a.dtype)
    q, r = xp.linalg.qr(a, mode)
    return q, r


_qr = Op("qr", _qr_forward, (_qr_vjp,), multiple=True, node="LinalgQrBackward0")


_Qr = results("linalg_qr", "Q R")


@with_out()
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangle ``L`` with ``A = L L^T`` of positive-definite matrices ``(*, n, n)``.

    Raises:
        LinAlgError: for a matrix that is not positive-definite.
    """
    result = apply_one(_cholesky, matrix_argument("cholesky", A.mT if upper and A.ndim > 1 else A, True))
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
    matrix_argument("qr", A)
    if mode == "r":
        _, r = apply(_qr, (A.detach(),), ("reduced",))
        return _Qr(wrap(module_of(r._array).empty((0,), r._array.dtype)), r)
    return _Qr(*apply(_qr, (A,), (mode,)))


Tensor.qr = qr  # type: ignore[attr-defined]

__all__ = ["cholesky", "qr"]
