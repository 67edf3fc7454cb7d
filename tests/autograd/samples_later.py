"""Samples for the operations that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.autograd.ops import later

if TYPE_CHECKING:
    from .samples import Maker, Sample


def s(*args: object, **kwargs: object) -> Sample:
    return args, kwargs


def _library(x: Any) -> Any:
    return sys.modules[type(x).__module__.split(".")[0]]


def _special(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(_library(args[-1]).special, name)(*args)


class _Fixed:
    """An argument that gets no gradient, as an array made by the tensor's library."""

    def __init__(self, function: Callable[..., Any], value: Any) -> None:
        self.function, self.value = function, value

    def __call__(self, x: Any) -> Any:
        return self.function(_library(x).from_numpy(self.value), x)


def _well(m: Maker, n: int, *batch: int) -> np.ndarray:
    """Lower triangles of matrices far from singular."""
    return np.asarray(np.tril(m.normal(*batch, n, n)) * 0.3 + np.eye(n) * np.arange(1, n + 1))


def _full(m: Maker, rows: int, columns: int) -> np.ndarray:
    return np.asarray(m.normal(rows, columns) * 0.3 + np.eye(rows, columns) * np.arange(1, columns + 1))


def _positive_definite(x: Any) -> Any:
    return x @ x.mT + _library(x).eye(x.shape[-1], dtype=x.dtype)


def _linalg(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda *tensors: getattr(_library(tensors[0]).linalg, name)(*tensors, *args, **kwargs)


def _solved_with_lu(a: Any, b: Any, **kwargs: Any) -> Any:
    return _library(a).linalg.lu_solve(*_library(a).linalg.lu_factor(a), b, **kwargs)


def _unpacked(a: Any) -> Any:
    return _library(a).lu_unpack(*_library(a).linalg.lu_factor(a))[1:]


def _triangles(a: Any) -> Any:
    return _library(a).linalg.lu(a)[1:]


def _parts(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(_library(x), name)(x, *args, **kwargs)


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    "i0": lambda m: [s(m.normal(2, 3)), s(m.normal())],
    "angle": lambda m: [s(m.distinct(2, 3))],
    **{name: lambda m: [s(m.normal(2, 3))] for name in ("conj", "real", "resolve_conj", "resolve_neg")},
    "frexp": lambda m: [s(m.normal(2, 3))],
    "ldexp": lambda m: [s(m.normal(2, 3), m.ints(3, 3)), s(m.normal(2), m.normal(2))],
    "alias_copy": lambda m: [s(m.normal(2, 3))],
    "as_strided_copy": lambda m: [s(m.normal(3, 3), (2, 2), (3, 1))],
    "constant_pad_nd": lambda m: [s(m.normal(2, 3), (1, 2)), s(m.normal(2, 3), (1, -1, 0, 2), 1.5)],
    "diagonal_copy": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 3, 3), 1, -2, -1)],
    "expand_copy": lambda m: [s(m.normal(3, 1), (2, 3, 4))],
    "fill": lambda m: [s(m.normal(2, 3), 1.5)],
    "permute_copy": lambda m: [s(m.normal(2, 3), (1, 0))],
    "select_copy": lambda m: [s(m.normal(2, 3), 0, 1)],
    "split_with_sizes_copy": lambda m: [s(m.normal(4, 2), (1, 3))],
    "squeeze_copy": lambda m: [s(m.normal(2, 1, 3))],
    "t_copy": lambda m: [s(m.normal(2, 3))],
    "transpose_copy": lambda m: [s(m.normal(2, 3), 0, 1)],
    "unbind_copy": lambda m: [s(m.normal(2, 3)), s(m.normal(2, 3), 1)],
    "unfold_copy": lambda m: [s(m.normal(5), 0, 3, 2)],
    "unsafe_chunk": lambda m: [s(m.normal(5, 2), 2)],
    "unsafe_split": lambda m: [s(m.normal(5, 2), 2)],
    "unsqueeze_copy": lambda m: [s(m.normal(2, 3), 1)],
    "view_copy": lambda m: [s(m.normal(2, 3), (6,))],
    "cov": lambda m: [
        s(m.normal(3, 5)),
        s(m.normal(4)),
        s(m.normal(2, 4), correction=0, fweights=m.ints(3, 4) + 1),
        s(m.normal(2, 4), aweights=m.positive(4)),
    ],
    "corrcoef": lambda m: [s(m.normal(3, 5))],
    "cumulative_trapezoid": lambda m: [
        s(m.normal(2, 4)),
        s(m.normal(2, 4), m.normal(4)),
        s(m.normal(3, 2), dx=0.5, dim=0),
    ],
    "dist": lambda m: [s(m.normal(2, 3), m.normal(3)), s(m.normal(3), m.normal(3), 1)],
    "gradient": lambda m: [
        s(m.normal(5)),
        s(m.normal(3, 4), spacing=0.5, dim=1, edge_order=2),
        s(m.normal(4, 4), spacing=[np.array([0.0, 1.0, 1.5, 3.0]), np.array([0.0, 0.5, 2.0, 3.0])], edge_order=2),
        s(m.normal(4), spacing=[np.array([0.0, 1.0, 1.5, 3.0])]),
    ],
    "renorm": lambda m: [s(m.normal(3, 4), 2, 0, 1.5), s(m.normal(2, 3, 2), 1, 1, 2.0)],
    **{
        name: lambda m: [s(m.normal(2, 4)), s(m.normal(2, 4), m.normal(2, 4)), s(m.normal(3, 2), dx=0.5, dim=0)]
        for name in ("trapezoid", "trapz")
    },
    "matrix_exp": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 2, 2) * 3)],
    "triangular_solve": lambda m: [
        s(m.normal(3, 2), _well(m, 3).T.copy()),
        s(m.normal(3, 2), _well(m, 3), False, True),
    ],
}
VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    "igamma": lambda m: [s(m.positive(3), m.positive(2, 3))],
    "igammac": lambda m: [s(m.positive(3), m.positive(2, 3))],
    "gcd": lambda m: [s(m.ints(20, 4), m.ints(20, 4))],
    "lcm": lambda m: [s(m.ints(20, 4), m.ints(20, 4))],
    "nonzero_static": lambda m: [s(m.ints(2, 2, 3), size=4), s(m.ints(2, 2, 3), size=9, fill_value=7)],
    "unravel_index": lambda m: [s(m.ints(12, 5), (3, 4))],
    "lu": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 3, 2), get_infos=True)],
}
ELSEWHERE = {
    *("empty_permuted", "empty_strided", "resize_as_"),  # PyTorch's own samples
    *("cholesky", "cholesky_inverse", "cholesky_solve", "lu_solve", "lu_unpack", "orgqr", "ormqr"),  # as expressions
    *("detach_copy", "conj_physical"),  # nothing to differentiate
    *(
        "geqrf",
        "vander",
        "histogram",
        "histogramdd",
        "imag",
        "nextafter",
        "pca_lowrank",
        "svd",
        "svd_lowrank",
    ),  # tests/autograd/test_later.py
    *("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"),
    *("asarray", "detach", "frombuffer", "qr", "range", "set_default_tensor_type", "split_with_sizes"),
    *later.FUNCTIONS["settings"].split(),  # tests/autograd/test_less_used.py
}
EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[[Maker], list[np.ndarray]]]] = {
    "x.sum_to_size": (lambda x: x.sum_to_size(3, 1), lambda m: [m.normal(2, 3, 4)]),
    "cholesky": (lambda x: _library(x).cholesky(_positive_definite(x), True), lambda m: [m.normal(3, 3)]),
    "cholesky_inverse": (lambda x: _library(x).cholesky_inverse(x.tril()), lambda m: [_well(m, 3)]),
    "cholesky_solve": (
        lambda b, x: _library(x).cholesky_solve(b, x.tril()),
        lambda m: [m.normal(3, 2), _well(m, 3)],
    ),
    "linalg.cholesky_ex": (
        lambda x: _library(x).linalg.cholesky_ex(_positive_definite(x))[0],
        lambda m: [m.normal(3, 3)],
    ),
    "linalg.inv_ex": (lambda x: _library(x).linalg.inv_ex(x)[0], lambda m: [_full(m, 3, 3)]),
    "linalg.solve_ex": (lambda x, b: _library(x).linalg.solve_ex(x, b)[0], lambda m: [_full(m, 3, 3), m.normal(3, 2)]),
    **{
        f"linalg.lu, {rows} by {columns}": (_triangles, lambda m, n=rows, k=columns: [_full(m, n, k)])
        for rows, columns in ((3, 3), (4, 2), (2, 4))
    },
    "lu_unpack": (_unpacked, lambda m: [_full(m, 3, 3)]),
    "linalg.lu_solve": (_solved_with_lu, lambda m: [_full(m, 3, 3), m.normal(3, 2)]),
    "linalg.lu_solve, adjoint": (
        lambda a, b: _solved_with_lu(a, b, adjoint=True),
        lambda m: [_full(m, 3, 3), m.normal(3, 2)],
    ),
    "linalg.householder_product": (_linalg("householder_product"), lambda m: [m.normal(4, 3), m.positive(3)]),
    "ormqr": (_parts("ormqr"), lambda m: [m.normal(4, 3), m.positive(3), m.normal(4, 2)]),
    **{f"linalg.cond, {p}": (_linalg("cond", p), lambda m: [_full(m, 3, 3)]) for p in (None, -2)},
    "linalg.diagonal": (_linalg("diagonal", offset=1), lambda m: [m.normal(2, 3, 3)]),
    "linalg.tensorinv": (_linalg("tensorinv"), lambda m: [_full(m, 6, 6).reshape(2, 3, 3, 2)]),
    "linalg.tensorsolve": (_linalg("tensorsolve"), lambda m: [_full(m, 6, 6).reshape(2, 3, 6), m.normal(2, 3)]),
    "linalg.vander": (_linalg("vander", N=4), lambda m: [m.normal(2, 3)]),
    "linalg.vecdot": (_linalg("vecdot"), lambda m: [m.normal(2, 3), m.normal(3)]),
    "linalg.solve_triangular, large": (
        _linalg("solve_triangular", upper=True),
        lambda m: [np.eye(18) * 2 + np.triu(m.normal(18, 18)) * 0.1, m.normal(18, 1)],
    ),
    **{
        f"special.{name}": (_special(name), lambda m: [m.normal(2, 3)])
        for name in ("i0e", "i1", "i1e", "ndtr", "log_ndtr", "erfcx")
    },
    "special.ndtri": (_special("ndtri"), lambda m: [m.positive(2, 3) / 2.1]),
    "special.entr": (_special("entr"), lambda m: [m.positive(2, 3)]),
    "special.xlog1py": (_special("xlog1py"), lambda m: [m.normal(2, 3), m.positive(3)]),
    "special.zeta": (lambda x: _special("zeta")(2.5, x), lambda m: [m.positive(3)]),
    "igamma of a constant": (
        _Fixed(lambda a, x: a.igamma(x), np.array([0.7, 1.5, 2.5])),
        lambda m: [m.positive(2, 3)],
    ),
    "igammac of a constant": (
        _Fixed(lambda a, x: a.igammac(x), np.array([0.7, 1.5, 2.5])),
        lambda m: [m.positive(2, 3)],
    ),
}
