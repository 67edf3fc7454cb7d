"""Samples of what rearranges, joins, splits and repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES: dict[str, Callable[[Any], list[Any]]] = {
    "roll": lambda m: [
        s(m.normal(2, 3), 1),
        s(m.normal(2, 3), 1, 0),
        s(m.normal(2, 3), (1, -2), (0, 1)),
        s(m.normal(0, 3), 1, 1),
    ],
    "rot90": lambda m: [
        s(m.normal(2, 3)),
        s(m.normal(2, 3, 2), 3, (0, 2)),
        s(m.normal(2, 3), -2),
        s(m.normal(2, 2), 4),
    ],
    "fliplr": lambda m: [s(m.normal(2, 3))],
    "flipud": lambda m: [s(m.normal(2, 3)), s(m.normal(3))],
    **{
        name: lambda m: [
            s([m.normal(2, 3), m.normal(2, 3)]),
            s([m.normal(3), m.normal(3)]),
            s([m.normal(), m.normal()]),
            s([m.normal(2, 3, 1), m.normal(2, 3, 1)]),
        ]
        for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack")
    },
    "tensor_split": lambda m: [
        s(m.normal(5, 2), 3),
        s(m.normal(2, 5), (1, 3), 1),
        s(m.normal(3), 5),
        s(m.normal(4), (3, 1)),
    ],
    "hsplit": lambda m: [s(m.normal(2, 4), 2), s(m.normal(4), [1, 3])],
    "vsplit": lambda m: [s(m.normal(4, 2), 2)],
    "dsplit": lambda m: [s(m.normal(1, 2, 4), 2)],
    "repeat_interleave": lambda m: [
        s(m.normal(2, 3), 2),
        s(m.normal(2, 3), 2, 0),
        s(m.normal(2, 3), 3, -1),
        s(m.normal(3, 2), np.array([1, 0, 2]), 0),
        s(m.normal(3), np.array([2])),
        s(m.normal(), 2),
    ],
    "as_strided": lambda m: [
        s(m.normal(6), (2, 2), (2, 1)),
        s(m.normal(6), (2, 3), (1, 1), 1),
        s(m.normal(6), (), ()),
    ],
    "diagonal": lambda m: [
        s(m.normal(3, 4)),
        s(m.normal(3, 4), 1),
        s(m.normal(3, 4), -1),
        s(m.normal(2, 3, 4), 0, 2, 0),
        s(m.normal(2, 3), 7),
    ],
    "diag": lambda m: [s(m.normal(3, 4)), s(m.normal(3)), s(m.normal(3), -1), s(m.normal(2, 3), 1)],
    "diagflat": lambda m: [s(m.normal(2, 2)), s(m.normal(3), 1)],
    "diag_embed": lambda m: [s(m.normal(2, 3)), s(m.normal(2, 3), 1), s(m.normal(2, 3), -1, 0, 2), s(m.normal(3))],
    "diagonal_scatter": lambda m: [s(m.normal(3, 4), m.normal(3)), s(m.normal(3, 4, 2), m.normal(4, 2), 0, 0, 2)],
    "select_scatter": lambda m: [s(m.normal(3, 4), m.normal(4), 0, 1), s(m.normal(3, 4), m.normal(3), -1, -2)],
    "slice_scatter": lambda m: [
        s(m.normal(4, 2), m.normal(2, 2), 0, 1, 3),
        s(m.normal(2, 5), m.normal(2, 2), 1, 0, -1, 2),
    ],
    **{
        name: lambda m: [s(m.normal()), s(m.normal(3)), s(m.normal(2, 3)), s(m.normal(), m.normal(2))]
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
    },
    "moveaxis": lambda m: [s(m.normal(2, 3, 4), 0, -1), s(m.normal(2, 3, 4), (0, 1), (1, 2))],
    "adjoint": lambda m: [s(m.normal(2, 3))],
    "block_diag": lambda m: [s(m.normal(2, 3), m.normal(1, 1), m.normal(2), m.normal())],
    "cartesian_prod": lambda m: [s(m.normal(2), m.normal(3)), s(m.normal(3)), s(m.normal(2), m.normal(1), m.normal(2))],
    "combinations": lambda m: [s(m.normal(4)), s(m.normal(3), 2, True), s(m.normal(4), 3), s(m.normal(2), 3)],
    "broadcast_tensors": lambda m: [s(m.normal(3, 1), m.normal(2)), s(m.normal(2), m.normal())],
    "narrow_copy": lambda m: [s(m.normal(4, 3), 0, 1, 2), s(m.normal(2, 3), 1, 0, 2)],
}

VALUES_ONLY: dict[str, Callable[[Any], list[Any]]] = {
    # torch 2.13 gives the gradient of its first argument at the places that were overwritten
    "as_strided_scatter": lambda m: [s(m.normal(6), m.normal(2, 2), (2, 2), (2, 1), 1)],
    "broadcast_shapes": lambda m: [s((3, 1), (2,)), s((), (4, 1))],
}

EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], list[np.ndarray]]]] = {
    "x.unfold": (lambda x: x.unfold(0, 2, 1), lambda m: [m.normal(4, 2)]),
    "x.unfold with steps": (lambda x: x.unfold(1, 2, 3), lambda m: [m.normal(2, 7)]),
    "number.unfold": (lambda x: x.unfold(0, 1, 1), lambda m: [m.normal()]),
    "x.H": (lambda x: x.H, lambda m: [m.normal(2, 3)]),
    "x.split_with_sizes": (lambda x: x.split_with_sizes([1, 2], 1)[1], lambda m: [m.normal(2, 3)]),
    "x[:]": (lambda x: x[:], lambda m: [m.normal(3)]),
    "x[...]": (lambda x: x[...], lambda m: [m.normal()]),
    "a strided view of a view": (
        lambda x: (x * 1).contiguous()[1].as_strided((2, 2), (1, 1)),
        lambda m: [m.normal(2, 3)],
    ),
    "write into a diagonal": (
        lambda x, y: _written(x, lambda z: z.diagonal().mul_(y)),
        lambda m: [m.normal(3, 4), m.normal(3)],
    ),
    "write into windows": (
        lambda x, y: _written(x, lambda z: z.unfold(0, 2, 2).mul_(y)),
        lambda m: [m.normal(4, 2), m.normal(2)],
    ),
    "write into a strided view": (
        lambda x, y: _written(x, lambda z: z[1:].as_strided((2, 2), (3, 1), 1).mul_(y)),
        lambda m: [m.normal(3, 3), m.normal(2)],
    ),
    "write into a view of a transposed copy": (
        lambda x, y: _written(x, lambda z: z.t().contiguous().t().t().view(-1)[1:3].mul_(y)),
        lambda m: [m.normal(3, 2), m.normal(2)],
    ),
    "write into a part of tensor_split": (
        lambda x, y: _written(x, lambda z: z.tensor_split(2)[1].mul_(y)),
        lambda m: [m.normal(3, 2), m.normal(2)],
    ),
    "turn in place": (
        lambda x: _written(x, lambda z: z.t_().unsqueeze_(0).squeeze_().transpose_(0, 1).unsqueeze_(-1).mul_(2)),
        lambda m: [m.normal(3, 2)],
    ),
    "turn a view in place": (
        lambda x, y: _written(x, lambda z: z[1:].t_().unsqueeze_(0).mul_(y)),
        lambda m: [m.normal(3, 2), m.normal(2, 2)],
    ),
    "restride in place": (lambda x: (x * 2).as_strided_((2, 2), (1, 2)), lambda m: [m.normal(3, 2)]),
}


def _written(x: Any, write: Callable[[Any], Any]) -> Any:
    z = x * 1
    write(z)
    return z * z


def s(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs
