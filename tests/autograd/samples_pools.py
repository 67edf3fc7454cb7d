"""Sample inputs for pools of volumes, pools by index, bags of embeddings and products of features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .samples_layers import s


def _unpooled(rank: int) -> Callable[[Any], list[Any]]:
    def make(m: Any) -> list[Any]:
        shape = (1, 2, *[2] * rank)
        corners = np.arange(2) * 2
        places = corners
        for _ in range(rank - 1):
            places = places[..., None] * 4 + corners
        index = np.broadcast_to(places, shape).copy()
        longer = [5] * rank
        return [s(m.normal(*shape), index, 2), s(m.normal(*shape), index, 2, 2, 0, longer)]

    return make


def _bags(m: Any) -> list[Any]:
    table, index, starts = m.distinct(5, 3), m.ints(5, 6), np.array([0, 2, 2, 5])
    return [
        *[s(m.ints(5, 2, 3), table, mode=mode) for mode in ("sum", "mean", "max")],
        *[s(index, table, starts, mode=mode) for mode in ("sum", "mean", "max")],
        s(index, table, np.array([0, 2, 6]), include_last_offset=True),
        s(index, table, starts, mode="sum", per_sample_weights=m.normal(6)),
        s(index, table, starts, mode="mean", padding_idx=int(index[0])),
    ]


POOLS: dict[str, Callable[[Any], list[Any]]] = {
    "adaptive_avg_pool3d": lambda m: [
        s(m.normal(1, 2, 2, 4, 2), (1, 2, 2)),
        s(m.normal(1, 1, 3, 4, 5), (2, None, 3)),
    ],
    "adaptive_max_pool3d": lambda m: [s(m.distinct(1, 1, 3, 4, 3), (2, 3, None)), s(m.distinct(1, 2, 3, 2), 2, True)],
    "avg_pool3d": lambda m: [
        s(m.normal(1, 2, 2, 4, 2), 2),
        s(m.normal(1, 1, 3, 4, 3), 2, 1, 1, True, False),
        s(m.normal(1, 1, 2, 2, 3), (2, 1, 2), divisor_override=3),
    ],
    "bilinear": lambda m: [
        s(m.normal(3, 2), m.normal(3, 4), m.normal(5, 2, 4), m.normal(5)),
        s(m.normal(2), m.normal(3), m.normal(2, 2, 3)),
        s(m.normal(2, 1, 2), m.normal(2, 1, 3), m.normal(2, 2, 3)),
    ],
    "affine_grid": lambda m: [
        s(m.normal(2, 2, 3), (2, 1, 3, 2), True),
        s(m.normal(1, 3, 4), (1, 1, 2, 3, 1), False),
    ],
    "embedding_bag": _bags,
    "grid_sample": lambda m: [
        *[
            s(m.normal(1, 2, 4, 3), m.unit(1, 2, 2, 2) * 1.3, mode, padding, corners)
            for mode in ("bilinear", "bicubic")
            for padding in ("zeros", "border", "reflection")
            for corners in (True, False)
        ],
        s(m.normal(1, 2, 3, 4, 3), m.unit(1, 2, 2, 1, 3), "bilinear", "reflection", False),
        s(m.normal(2, 2, 4, 3), m.unit(2, 3, 2, 2), "nearest", "border", False),
    ],
    "local_response_norm": lambda m: [s(m.normal(2, 5, 3), 3), s(m.normal(1, 4, 2, 2), 2, 0.5, 0.6, 2.0)],
    "lp_pool3d": lambda m: [s(m.positive(1, 2, 2, 4, 2), 2, 2), s(m.positive(1, 1, 3, 2, 2), 3.0, 2, 1)],
    "max_pool3d": lambda m: [
        s(m.distinct(1, 2, 2, 4, 2), 2),
        s(m.distinct(1, 1, 3, 3, 3), 2, 1, 1, ceil_mode=True, return_indices=True),
    ],
    "max_unpool1d": _unpooled(1),
    "max_unpool2d": _unpooled(2),
    "max_unpool3d": _unpooled(3),
    "pdist": lambda m: [s(m.normal(4, 3)), s(m.distinct(3, 2), 1.0), s(m.normal(1, 3)), s(m.normal(4, 2), 3.0)],
    "upsample_bilinear": lambda m: [s(m.normal(1, 1, 3, 4), (5, 6)), s(m.normal(1, 2, 2, 3), None, 2)],
    "upsample_nearest": lambda m: [s(m.normal(1, 1, 3, 4), (5, 2)), s(m.normal(1, 2, 3), scale_factor=2)],
    "upsample": lambda m: [
        s(m.normal(1, 1, 3, 4), scale_factor=2),
        s(m.normal(1, 1, 3, 4), (5, 6), mode="bicubic", align_corners=True),
        s(m.normal(1, 1, 3, 4), scale_factor=1.5, mode="bicubic"),
    ],
}
"""Functions by name in ``nn.functional``."""
