"""What few programs use: the modules of these operations are imported when one of them is first asked for.

Importing all of them at once would cost every program a tenth of its start. Their tensor methods are put in place as
stand-ins that import the module, which overwrites them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from rlgrad.autograd.tensor import Tensor

FUNCTIONS = {
    "bessel": "i0",
    "distances": "cdist pdist",
    "factorizations": (
        "cholesky cholesky_inverse cholesky_solve geqrf lu lu_solve lu_unpack orgqr ormqr pca_lowrank svd svd_lowrank "
        "triangular_solve"
    ),
    "matrix_functions": "matrix_exp",
    "floats": "angle conj conj_physical frexp gcd imag lcm ldexp nextafter real resolve_conj resolve_neg vander",
    "probability": "igamma igammac",
    "window_functions": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "view_copies": (
        "alias_copy as_strided_copy constant_pad_nd detach_copy diagonal_copy empty_permuted empty_strided expand_copy fill "
        "nonzero_static permute_copy resize_as_ select_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy "
        "unbind_copy unfold_copy unravel_index unsafe_chunk unsafe_split unsqueeze_copy view_copy"
    ),
    "legacy": "qr range set_default_tensor_type split_with_sizes",
    "settings": (
        "get_num_interop_threads is_warn_always_enabled set_flush_denormal set_num_interop_threads set_warn_always"
    ),
    "sharing": "asarray detach frombuffer",
    "statistics": "corrcoef cov cumulative_trapezoid dist gradient histogram histogramdd renorm trapezoid trapz",
}
"""Functions of ``rlgrad`` by module of this package."""

METHODS = {
    "matrix_functions": "matrix_exp",
    "bessel": "i0 i0_",
    "factorizations": "cholesky cholesky_inverse cholesky_solve geqrf lu lu_solve orgqr ormqr svd triangular_solve",
    "floats": (
        "angle conj conj_physical conj_physical_ frexp gcd gcd_ lcm lcm_ ldexp ldexp_ nextafter nextafter_ "
        "resolve_conj resolve_neg"
    ),
    "methods": (
        "apply_ as_subclass dim_order fill_diagonal_ hardshrink is_nonzero is_pinned is_same_size is_set_to is_shared map_ "
        "new pin_memory to_dense"
    ),
    "probability": "igamma igamma_ igammac igammac_",
    "statistics": "corrcoef cov dist histogram renorm renorm_",
    "storages": "storage untyped_storage",
    "view_copies": ("new_empty_strided nonzero_static resize_ resize_as_ sum_to_size unsafe_chunk unsafe_split"),
}
"""Tensor methods by module of this package."""

IN_PLACE = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ "
    "ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ "
    "frac_ gcd_ i0_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ "
    "sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_"
)
"""In-place methods that ``rlgrad`` offers as functions too."""

_UNDER = {"lu": "packed_lu", "lu_solve": "solve_with_lu"}
"""Names that mean something else in ``rlgrad.linalg``."""

_MODULE_OF = {name: module for module, names in FUNCTIONS.items() for name in names.split()}
NAMES = (*_MODULE_OF, *IN_PLACE.split())
_in_place = frozenset(IN_PLACE.split())


def find(name: str) -> Any:
    """A function of ``rlgrad`` that is imported on first use.

    Raises:
        AttributeError: for a name that is none of them.
    """
    if name in _in_place:
        return getattr(Tensor, name)
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'rlgrad' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rlgrad.autograd.ops.{module}"), _UNDER.get(name, name))


def _stand_in(name: str, module: str) -> Callable[..., Any]:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        importlib.import_module(f"rlgrad.autograd.ops.{module}")
        return getattr(Tensor, name)(self, *args, **kwargs)

    call.__name__, call.__doc__ = name, f"See ``rlgrad.{name}``."
    return call


for _module, _names in METHODS.items():
    for _name in _names.split():
        setattr(Tensor, _name, _stand_in(_name, _module))
