"""Systems of equations, inverses and powers of matrices. ``rlgrad.linalg`` is where users find them.

The derivatives are those of Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", written with the recorded operations themselves so that second derivatives follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.inplace import with_out
from rlgrad.autograd.ops.linalg import sum_to
from rlgrad.autograd.ops.matrices import factored, matrix_argument, mt, same_dtype
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.spectra import matrix_rank, pinv
from rlgrad.autograd.ops.writing import renamed
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

_SINGULAR = "The diagonal element is zero, the inversion could not be completed because the input matrix is singular."


_inv = Op(
    "inv",
    lambda xp, a: factored("inv", lambda: xp.linalg.inv(a), _SINGULAR),
    (lambda ns, g, out: -(mt(ns, out) @ g @ mt(ns, out)),),
    node="LinalgInvExBackward0",
)


def _solve_forward(xp: Any, a: Any, b: Any) -> Any:
    return factored(
        "solve",
        lambda: xp.linalg.solve(a, b),
        "The solver failed because the input matrix is singular.",
    )


def _solve_vjp_a(ns: Any, g: Any, a: Any, out: Any, a_shape: Any) -> Any:
    return sum_to(ns, -(ns.solve(mt(ns, a), g) @ mt(ns, out)), a_shape)


_solve = Op(
    "solve",
    _solve_forward,
    (_solve_vjp_a, lambda ns, g, a, b_shape: sum_to(ns, ns.solve(mt(ns, a), g), b_shape)),
    node="LinalgSolveExBackward0",
)


@with_out()
def inv(A: Tensor) -> Tensor:
    """Inverses of square matrices ``(*, n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return apply_one(_inv, matrix_argument("inv", A, True))


@with_out()
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(*, n, n)``.
        B: ``(*, n, k)``, or vectors ``(*, n)`` of the batch dimensions of ``A``.
        left: whether ``A`` stands on the left.
    """
    matrix_argument("solve", A, True)
    same_dtype("solve", A, B)
    a, b = A._array.shape, B._array.shape
    vector = len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])
    if vector:
        if b[-1] != a[-1]:
            raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a} and {b})")
        return renamed(solve(A, B.unsqueeze(-1), left=True).squeeze(-1), "LinalgSolveExBackward0")
    solvable("solve", A, B, left)
    return apply(_solve, (A, B)) if left else apply(_solve, (A.mT, B.mT)).mT


def solvable(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """Refuse a right side that does not fit the matrix."""
    same_dtype(name, A, B)
    a, b = A._array.shape, matrix_argument(name, B)._array.shape
    if b[-2 if left else -1] != a[-1]:
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


_Lstsq = results("linalg_lstsq", "solution residuals rank singular_values")


@with_out(cast=True)
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The ``X`` of smallest norm that minimises ``|A X - B|``.

    Args:
        A: ``(*, m, n)``.
        B: ``(*, m, k)``, or ``(*, m)``.
    """
    matrix_argument("lstsq", A)
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
    matrix_argument("matrix_power", A, True)
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


Tensor.inverse = inv  # type: ignore[attr-defined]
Tensor.matrix_power = matrix_power  # type: ignore[attr-defined]

__all__ = ["inv", "lstsq", "matrix_power", "solve"]
