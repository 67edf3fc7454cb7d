"""Kernels compiled by Numba, the extra ``jit``. Their callers have the same computation in NumPy, which defines what
they do.

Every kernel takes the range of samples to work on as its last two arguments, see
:func:`rlgrad.backend.kernels.jit.shared`.
"""

from rlgrad.backend.compiled.layers import add_leaky_relu, add_relu, leaky_relu_adjoint, relu_adjoint
from rlgrad.backend.compiled.norms import affine, combined, moments, rows, rows_adjoint, sums
from rlgrad.backend.compiled.pointwise import erf
from rlgrad.backend.compiled.pools import max_pool, plane_scatter
from rlgrad.backend.compiled.recurrent import lstm, lstm_adjoint
from rlgrad.backend.compiled.tiles import input_tiles, input_tiles_adjoint, output, output_adjoint
from rlgrad.backend.compiled.updates import adam, amsgrad, towards
from rlgrad.backend.compiled.windows import gather, scatter

__all__ = [
    "adam",
    "add_leaky_relu",
    "add_relu",
    "affine",
    "amsgrad",
    "combined",
    "erf",
    "gather",
    "input_tiles",
    "input_tiles_adjoint",
    "leaky_relu_adjoint",
    "lstm",
    "lstm_adjoint",
    "max_pool",
    "moments",
    "output",
    "output_adjoint",
    "plane_scatter",
    "relu_adjoint",
    "rows",
    "rows_adjoint",
    "scatter",
    "sums",
    "towards",
]
