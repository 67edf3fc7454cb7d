"""Linear algebra under PyTorch's names: ``rlgrad.linalg.solve``, ``rlgrad.linalg.svd`` and so on.

Every function takes batches ``(*, m, n)`` and raises :class:`LinAlgError` where a matrix has no such decomposition.

Example:
    >>> import rlgrad
    >>> rlgrad.linalg.solve(rlgrad.eye(2) * 2, rlgrad.ones(2))
    tensor([0.5000, 0.5000])
"""

from rlgrad.autograd.ops.decompositions import (
    LinAlgError,
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    matrix_norm,
    matrix_power,
    matrix_rank,
    norm,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from rlgrad.autograd.ops.linalg import matmul, vector_norm
from rlgrad.autograd.ops.products import linalg_cross as cross
from rlgrad.autograd.ops.products import multi_dot

__all__ = [
    "LinAlgError",
    "cholesky",
    "cross",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vector_norm",
]
