"""Linear algebra under PyTorch's names: ``rlgrad.linalg.solve``, ``rlgrad.linalg.svd`` and so on.

Every function takes batches ``(*, m, n)`` and raises :class:`LinAlgError` where a matrix has no such decomposition.

Example:
    >>> import rlgrad
    >>> rlgrad.linalg.solve(rlgrad.eye(2) * 2, rlgrad.ones(2))
    tensor([0.5000, 0.5000])
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from rlgrad.autograd.ops.decompositions import cholesky, qr
from rlgrad.autograd.ops.determinants import det, slogdet
from rlgrad.autograd.ops.linalg import matmul, vector_norm
from rlgrad.autograd.ops.matrices import LinAlgError
from rlgrad.autograd.ops.products import linalg_cross as cross
from rlgrad.autograd.ops.products import multi_dot
from rlgrad.autograd.ops.solving import inv, lstsq, matrix_power, solve
from rlgrad.autograd.ops.spectra import eigh, eigvalsh, matrix_rank, pinv, svd, svdvals

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
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "vector_norm",
]

_LATER = {
    "factorizations": ("cholesky_ex householder_product inv_ex lu lu_factor lu_factor_ex lu_solve solve_ex"),
    "matrix_norms": "matrix_norm norm",
    "triangular": "solve_triangular",
    "matrix_functions": "cond diagonal matrix_exp tensorinv tensorsolve vander vecdot",
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
__all__ += list(_MODULE_OF)


def __getattr__(name: str) -> _Any:
    """What few programs use is imported when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rlgrad.linalg' has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(f"rlgrad.autograd.ops.{_MODULE_OF[name]}"), name)
    return found
