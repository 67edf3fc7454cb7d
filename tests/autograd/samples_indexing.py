"""Samples of what reads and writes by index, and of what sorts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def s(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def _reductions(m: Any) -> list[Any]:
    return [
        sample
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
        for sample in (
            s(
                m.distinct(3, 2),
                0,
                np.array([[0, 1], [0, 2]]),
                m.distinct(2, 2) + 0.03,
                reduce,
                include_self=include_self,
            ),
            s(m.distinct(2, 3), 1, np.array([[0, 1, 1]]), m.distinct(1, 3) + 0.03, reduce, include_self=include_self),
        )
    ]


def _ordered(m: Any) -> list[Any]:
    return [s(m.distinct(4)), s(m.distinct(2, 3), 0), s(m.distinct(2, 3), -1, True), s(m.distinct())]


ROWS = np.array([2, 0])

SAMPLES: dict[str, Callable[[Any], list[Any]]] = {
    "index_reduce": lambda m: [
        s(m.positive(3, 2), 0, np.array([0, 2, 0]), m.positive(3, 2), "prod"),
        s(m.normal(2, 3), 1, np.array([0, 0]), m.normal(2, 2), "mean"),
        s(m.distinct(3, 2), 0, np.array([0, 2]), m.distinct(2, 2) + 0.03, "amax", include_self=False),
    ],
    "index_add": lambda m: [
        s(m.normal(3, 2), 0, ROWS, m.normal(2, 2)),
        s(m.normal(2, 3), -1, np.array([1, 1, 0]), m.normal(2, 3), alpha=2),
        s(m.normal(), 0, np.array([0]), m.normal()),
    ],
    "index_copy": lambda m: [s(m.normal(3, 2), 0, ROWS, m.normal(2, 2)), s(m.normal(2, 3), 1, ROWS, m.normal(2, 2))],
    "index_fill": lambda m: [
        s(m.normal(3, 2), 0, ROWS, 1.5),
        s(m.normal(2, 3), 1, ROWS, m.normal()),
        s(m.normal(3), 0, np.array([-1]), 2.0),
    ],
    "scatter": lambda m: [
        s(m.normal(3, 2), 0, np.array([[2, 0]]), m.normal(1, 2)),
        s(m.normal(2, 3), 1, np.array([[2, 0], [1, 2]]), m.normal(2, 2)),
        s(m.normal(2, 3), 1, np.array([[2, 0]]), 1.5),
    ],
    "scatter_add": lambda m: [
        s(m.normal(3, 2), 0, np.array([[2, 0], [2, 1]]), m.normal(2, 2)),
        s(m.normal(2, 3), 1, m.ints(3, 2, 4), m.normal(2, 4)),
    ],
    "scatter_reduce": _reductions,
    "index_put": lambda m: [
        s(m.normal(3, 2), [ROWS], m.normal(2, 2)),
        s(m.normal(3, 2), [np.array([1, 1]), np.array([0, 0])], m.normal(2), True),
        s(m.normal(3, 2), [ROWS], m.normal(2), True),
        s(m.normal(3), [m.bools(3)], m.normal()),
    ],
    "take": lambda m: [s(m.normal(2, 3), np.array([[0, 5], [-1, 0]])), s(m.normal(), np.array([0, 0]))],
    "take_along_dim": lambda m: [
        s(m.normal(2, 3), m.ints(3, 2, 2), 1),
        s(m.normal(6), m.ints(6, 4)),
        s(m.normal(2, 3), m.ints(2, 1, 3), 0),
    ],
    "put": lambda m: [
        s(m.normal(2, 3), np.array([4, -6]), m.normal(2)),
        s(m.normal(2, 3), np.array([1, 1]), m.normal(2), True),
    ],
    "masked_scatter": lambda m: [
        s(m.normal(2, 3), m.bools(2, 3), m.normal(7)),
        s(m.normal(2, 3), m.bools(3), m.normal(2, 3)),
    ],
    "sort": lambda m: [*_ordered(m), s(m.distinct(2, 3), dim=0, descending=True, stable=True)],
    "msort": lambda m: [s(m.distinct(3, 2)), s(m.distinct(3))],
    "topk": lambda m: [
        s(m.distinct(4), 2),
        s(m.distinct(3, 4), 2, 0),
        s(m.distinct(2, 3), 3, -1, False),
        s(m.distinct(200), 3),
        s(m.distinct(2, 100), 3, 1, False),
    ],
    "kthvalue": lambda m: [
        s(m.distinct(4), 2),
        s(m.distinct(2, 3), 1, 0),
        s(m.distinct(2, 3), 3, -1, True),
        s(m.distinct(), 1),
    ],
}

VALUES_ONLY: dict[str, Callable[[Any], list[Any]]] = {
    "argsort": lambda m: [
        *_ordered(m),
        s(m.ints(3, 6), stable=True),
        s(m.ints(3, 6), dim=0, descending=True, stable=True),
    ],
    "argwhere": lambda m: [s(m.bools(2, 3)), s(m.ints(2, 4))],
    "unique": lambda m: [
        s(m.ints(3, 2, 3)),
        s(m.ints(3, 6), True, True, True),
        s(m.ints(2, 4, 2), return_inverse=True, return_counts=True, dim=0),
        s(m.bools(4)),
        s(m.ints(2, 2, 3), return_counts=True, dim=1),
    ],
    "unique_consecutive": lambda m: [
        s(np.array([1, 1, 2, 2, 1])),
        s(np.array([[1, 1], [2, 2]]), True, True),
        s(np.array([[1, 1], [1, 1], [2, 0]]), True, True, 0),
        s(np.array([], np.int64), True, True),
    ],
    "searchsorted": lambda m: [
        s(np.array([1, 3, 5]), np.array([0, 1, 4, 9])),
        s(np.array([1, 3, 5]), np.array([[1], [5]]), right=True),
        s(np.array([[1, 3, 5], [2, 4, 6]]), np.array([[3, 9], [3, 4]]), side="right"),
        s(np.array([1, 3, 5]), 3, out_int32=True),
        s(np.array([5, 1, 3]), np.array([2, 3]), sorter=np.array([1, 2, 0])),
    ],
    "bucketize": lambda m: [
        s(m.ints(6, 2, 3), np.array([1, 3, 5])),
        s(np.array([1, 3]), np.array([1, 3, 5]), right=True),
    ],
}


def _written(x: Any, write: Callable[[Any], Any]) -> Any:
    z = x * 1
    write(z)
    return z * z


EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], list[np.ndarray]]]] = {
    "x[True]": (lambda x: x[True], lambda m: [m.normal(2)]),
    "x[False]": (lambda x: x[False], lambda m: [m.normal(2)]),
    "x[index, None, :, index]": (lambda x, i: x[i, None, :, i], lambda m: [m.normal(3, 2, 3), m.ints(3, 2)]),
    "x[mask, 0]": (lambda x, k: x[k, 0], lambda m: [m.normal(3, 2), m.bools(3)]),
    "x[1:, index, None]": (lambda x, i: x[1:, i, None], lambda m: [m.normal(3, 2, 2), m.ints(2, 3)]),
    "x[index matrix, :1]": (lambda x, i: x[i, :1], lambda m: [m.normal(3, 2), m.ints(3, 2, 2)]),
    "index_add_ into a view": (
        lambda x, y, i: _written(x, lambda z: z[1:].index_add_(0, i, y)),
        lambda m: [m.normal(3, 2), m.normal(2, 2), m.ints(2, 2)],
    ),
    "index_put_ into a view": (
        lambda x, y, i: _written(x, lambda z: z.t().index_put_((i,), y, accumulate=True)),
        lambda m: [m.normal(3, 2), m.normal(3), m.ints(2, 3)],
    ),
    "masked_scatter_ into a view": (
        lambda x, y: _written(x, lambda z: z[:, 1].masked_scatter_(x[:, 0] > 0, y)),
        lambda m: [m.normal(3, 2), m.normal(3)],
    ),
    "write by index and slice": (
        lambda x, y, i: _written(x, lambda z: z.__setitem__((slice(1, None), i), y)),
        lambda m: [m.normal(3, 2), m.normal(2, 1), np.array([1, 0])],
    ),
    "write itself by index": (
        lambda x: _written(x, lambda z: z.__setitem__([0, 1], z[[1, 0]])),
        lambda m: [m.normal(3, 2)],
    ),
}
