"""Sample inputs for products, Einstein sums and the functions of ``rlgrad.linalg``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def s(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def _library(x: Any) -> Any:
    return sys.modules[type(x).__module__.split(".")[0]]


def _linalg(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda *tensors: getattr(_library(tensors[0]).linalg, name)(*tensors, *args, **kwargs)


def _well(m: Any, *shape: int) -> np.ndarray:
    """Matrices far from singular."""
    return m.normal(*shape) * 0.3 + np.eye(shape[-2], shape[-1]) * np.arange(1, shape[-1] + 1)


def _one(draw: Callable[..., Any], *shape: int) -> Callable[[Any], list[np.ndarray]]:
    return lambda m: [draw(m, *shape)]


def _product(x: Any) -> Any:
    eye = _library(x).eye(x.shape[-1], dtype=x.dtype)
    return x @ x.mT + eye


def _signless(pair: Any) -> list[Any]:
    """Vectors up to their sign, which is arbitrary."""
    return [part * part if part.ndim > 1 else part for part in pair]


def _svd(x: Any) -> Any:
    u, values, vh = _library(x).linalg.svd(x, full_matrices=False)
    k = values.shape[-1]
    return [values, u[..., :, :k].abs(), vh[..., :k, :].abs(), (u[..., :1, :k] * vh[..., :k, :1].mT)]


def _qr(x: Any, mode: str = "reduced") -> Any:
    return [part.abs() for part in _library(x).linalg.qr(x, mode)]


ALGEBRA: dict[str, Callable[[Any], list[Any]]] = {
    "addmv": lambda m: [
        s(m.normal(2), m.normal(2, 3), m.normal(3)),
        s(m.normal(1), m.normal(2, 3), m.normal(3), beta=2, alpha=3),
    ],
    "addr": lambda m: [s(m.normal(2, 3), m.normal(2), m.normal(3), beta=0.5, alpha=2)],
    "addbmm": lambda m: [s(m.normal(2, 2), m.normal(3, 2, 4), m.normal(3, 4, 2), alpha=2)],
    "baddbmm": lambda m: [
        s(m.normal(3, 2, 2), m.normal(3, 2, 4), m.normal(3, 4, 2)),
        s(m.normal(2), m.normal(3, 2, 4), m.normal(3, 4, 2), beta=2),
    ],
    "inner": lambda m: [s(m.normal(3), m.normal(3)), s(m.normal(2, 3), m.normal(2, 2, 3)), s(m.normal(), m.normal(2))],
    "vdot": lambda m: [s(m.normal(3), m.normal(3))],
    "tensordot": lambda m: [
        s(m.normal(2, 3, 4), m.normal(3, 4, 2)),
        s(m.normal(2, 3), m.normal(3, 2), ([1, 0], [0, 1])),
        s(m.normal(2), m.normal(3), 0),
    ],
    "kron": lambda m: [s(m.normal(2), m.normal(3))],
    "chain_matmul": lambda m: [s(m.normal(2, 3), m.normal(3, 4), m.normal(4, 2))],
    "cross": lambda m: [s(m.normal(2, 3), m.normal(2, 3), 1), s(m.normal(3, 2), m.normal(3, 2), dim=0)],
    "cdist": lambda m: [
        s(m.normal(2, 3), m.normal(4, 3)),
        s(m.normal(2, 3), m.normal(2, 3), 1.0),
        s(m.normal(2, 2, 3), m.normal(2, 1, 3), math.inf),
        s(m.normal(2, 2, 3), m.normal(4, 3), 2.0, "use_mm_for_euclid_dist"),
    ],
    "einsum": lambda m: [
        s("ij,jk->ik", m.normal(2, 3), m.normal(3, 4)),
        s("bij,bjk", m.normal(2, 2, 3), m.normal(2, 3, 2)),
        s("ii", m.normal(3, 3)),
        s("ii->i", m.normal(3, 3)),
        s("...ij,...jk->...ik", m.normal(2, 1, 2, 3), m.normal(2, 3, 2)),
        s("i,j,k->kji", m.normal(2), m.normal(3), m.normal(2)),
        s("ab,bc,cd,da->", m.normal(2, 3), m.normal(3, 2), m.normal(2, 3), m.normal(3, 2)),
        s("b...->...", m.normal(2, 3)),
        s("iji,jk->k", m.normal(2, 3, 2), m.normal(3, 2)),
        s("ij,ij->j", m.normal(2, 3), m.normal(1, 3)),
        s("bn,anm,bm->ba", m.normal(2, 3), m.normal(4, 3, 2), m.normal(2, 2)),
    ],
    "det": lambda m: [s(_well(m, 3, 3)), s(_well(m, 2, 2, 2))],
    "logdet": lambda m: [s(_well(m, 3, 3))],
    "slogdet": lambda m: [s(_well(m, 3, 3)), s(_well(m, 2, 2, 2))],
    "inverse": lambda m: [s(_well(m, 3, 3)), s(_well(m, 2, 2, 2))],
    "pinverse": lambda m: [s(_well(m, 3, 2)), s(_well(m, 2, 3)), s(_well(m, 2, 2, 2))],
    "matrix_power": lambda m: [s(_well(m, 2, 2), n) for n in (0, 1, 2, 5, -2)],
}
"""Functions by name."""

DECOMPOSITIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], list[np.ndarray]]]] = {
    "kron of tensors": (
        lambda x, y: _library(x).kron(x.contiguous(), y.contiguous()),  # torch fails on other layouts
        lambda m: [m.normal(2, 3), m.normal(2, 1, 2)],
    ),
    "linalg.inv": (_linalg("inv"), _one(_well, 2, 2, 2)),
    "linalg.det": (_linalg("det"), _one(_well, 3, 3)),
    "linalg.slogdet": (_linalg("slogdet"), _one(_well, 3, 3)),
    "linalg.solve": (_linalg("solve"), lambda m: [_well(m, 2, 2, 2), m.normal(2, 2, 3)]),
    "linalg.solve, broadcast": (_linalg("solve"), lambda m: [_well(m, 2, 2), m.normal(3, 2, 2)]),
    "linalg.solve, vector": (_linalg("solve"), lambda m: [_well(m, 2, 2), m.normal(2)]),
    "linalg.solve, right": (_linalg("solve", left=False), lambda m: [_well(m, 2, 2), m.normal(3, 2)]),
    "linalg.solve_triangular": (
        _linalg("solve_triangular", upper=True),
        lambda m: [_well(m, 3, 3), m.normal(3, 2)],
    ),
    "linalg.solve_triangular, lower": (
        _linalg("solve_triangular", upper=False, left=False, unitriangular=True),
        lambda m: [_well(m, 3, 3), m.normal(2, 3)],
    ),
    "linalg.cholesky": (lambda x: _library(x).linalg.cholesky(_product(x)), lambda m: [m.normal(2, 3, 3)]),
    "linalg.cholesky, upper": (
        lambda x: _library(x).linalg.cholesky(_product(x), upper=True),
        lambda m: [m.normal(3, 3)],
    ),
    "linalg.eigh": (lambda x: _signless(_library(x).linalg.eigh(x + x.mT)), _one(_well, 3, 3)),
    "linalg.eigh, projector": (
        lambda x: (lambda v: v[..., :1] @ v[..., :1].mT)(_library(x).linalg.eigh(x + x.mT)[1]),
        _one(_well, 2, 3, 3),
    ),
    "linalg.eigvalsh": (lambda x: _library(x).linalg.eigvalsh(x + x.mT), _one(_well, 2, 3, 3)),
    "linalg.svd": (_svd, _one(_well, 3, 3)),
    "linalg.svd, tall": (_svd, _one(_well, 4, 2)),
    "linalg.svd, wide": (_svd, _one(_well, 2, 2, 3)),
    "linalg.svdvals": (_linalg("svdvals"), _one(_well, 3, 2)),
    "linalg.qr": (_qr, _one(_well, 3, 3)),
    "linalg.qr, tall": (_qr, _one(_well, 2, 3, 2)),
    "linalg.qr, wide": (_qr, _one(_well, 2, 4)),
    "linalg.pinv": (_linalg("pinv"), _one(_well, 3, 2)),
    "linalg.lstsq": (lambda a, b: _library(a).linalg.lstsq(a, b)[0], lambda m: [_well(m, 4, 2), m.normal(4, 2)]),
    "linalg.matrix_power": (_linalg("matrix_power", 3), _one(_well, 2, 2)),
    "linalg.multi_dot": (
        lambda a, b, c: _library(a).linalg.multi_dot([a, b, c]),
        lambda m: [m.normal(3), m.normal(3, 4), m.normal(4, 2)],
    ),
    "linalg.cross": (_linalg("cross"), lambda m: [m.normal(2, 3), m.normal(1, 3)]),
    **{
        f"linalg.matrix_norm, {order}": (_linalg("matrix_norm", order), _one(_well, 2, 3, 2))
        for order in ("fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf)
    },
    "linalg.norm": (_linalg("norm"), lambda m: [m.normal(2, 3)]),
    "linalg.norm, 1": (_linalg("norm", 1), lambda m: [m.normal(2, 3)]),
    "linalg.norm, 3 along 1": (_linalg("norm", 3, 1), lambda m: [m.normal(2, 3)]),
    "linalg.norm, keepdim": (_linalg("norm", "nuc", (0, 2), True), lambda m: [m.normal(2, 2, 3)]),
}
"""Functions of ``linalg``, up to the signs that a decomposition leaves open."""
