"""Sample inputs for convolutions, pools, normalisations, losses and what else ``nn.functional`` has beyond activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

REDUCTIONS = ("mean", "sum", "none")


def s(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def signs(m: Any, *shape: int) -> np.ndarray:
    return m.ints(2, *shape) * 2 - 1


def _gaussian(m: Any) -> list[Any]:
    x, t = m.normal(2, 3), m.normal(2, 3)
    return [
        *[s(x, t, m.positive(2, 3), reduction=r) for r in REDUCTIONS],
        s(x, t, m.positive(2), full=True),
        s(x, t, m.positive(2, 1)),
        s(x, t, 0.7),
    ]


def _kl(m: Any) -> list[Any]:
    return [
        *[s(m.normal(2, 3), m.positive(2, 3), reduction=r) for r in (*REDUCTIONS, "batchmean")],
        s(m.normal(2, 3), m.normal(2, 3), log_target=True, reduction="sum"),
    ]


LAYERS: dict[str, Callable[[Any], list[Any]]] = {
    "conv1d": lambda m: [
        s(m.normal(2, 2, 6), m.normal(3, 2, 3), m.normal(3), 2, 1),
        s(m.normal(2, 5), m.normal(3, 2, 3), padding="same"),
    ],
    "conv2d": lambda m: [
        s(m.normal(2, 2, 4, 4), m.normal(2, 2, 3, 2), m.normal(2), stride=(2, 1), padding=1),
        s(m.normal(1, 2, 4, 4), m.normal(2, 2, 2, 2), None, 2),
        s(m.normal(1, 4, 3, 3), m.normal(2, 2, 2, 2), groups=2),
        s(m.normal(1, 1, 5, 4), m.normal(1, 1, 2, 2), dilation=2, padding="valid"),
    ],
    "conv3d": lambda m: [s(m.normal(1, 1, 3, 3, 3), m.normal(2, 1, 2, 2, 2), m.normal(2), padding=(1, 0, 0))],
    "conv_transpose1d": lambda m: [s(m.normal(2, 2, 3), m.normal(2, 2, 3), m.normal(2), 2, 1, 1)],
    "conv_transpose2d": lambda m: [
        s(m.normal(1, 2, 3, 2), m.normal(2, 2, 4, 4), m.normal(2), 2, 1),
        s(m.normal(1, 2, 2, 2), m.normal(2, 1, 2, 3), groups=2, dilation=2),
    ],
    "conv_transpose3d": lambda m: [s(m.normal(1, 1, 2, 2, 2), m.normal(1, 1, 2, 2, 2), stride=2)],
    "max_pool1d": lambda m: [s(m.distinct(1, 2, 6), 2), s(m.distinct(1, 1, 7), 3, 2, 1, ceil_mode=True)],
    "max_pool2d": lambda m: [
        s(m.distinct(1, 2, 4, 4), 2),
        s(m.distinct(2, 5, 5), 3, 2, 1),
        s(m.distinct(1, 1, 6, 5), 2, 1, 0, 2),
        s(m.distinct(1, 1, 5, 5), 2, 2, return_indices=True, ceil_mode=True),
    ],
    "avg_pool1d": lambda m: [s(m.normal(1, 2, 6), 2), s(m.normal(2, 7), 3, 2, 1, True, False)],
    "avg_pool2d": lambda m: [
        s(m.normal(1, 2, 4, 4), 2),
        s(m.normal(1, 1, 5, 5), 3, 2, 1, ceil_mode=True),
        s(m.normal(1, 1, 5, 4), (3, 2), 2, (1, 0), count_include_pad=False),
        s(m.normal(1, 1, 4, 4), 2, divisor_override=3),
    ],
    "lp_pool1d": lambda m: [s(m.positive(1, 2, 6), 2, 3), s(m.positive(1, 2, 6), 3.0, 2, 1)],
    "lp_pool2d": lambda m: [s(m.positive(1, 2, 4, 4), 2, (2, 2))],
    "adaptive_avg_pool1d": lambda m: [s(m.normal(1, 2, 6), 3), s(m.normal(1, 2, 5), 3)],
    "adaptive_avg_pool2d": lambda m: [
        s(m.normal(1, 2, 4, 4), 1),
        s(m.normal(1, 2, 5, 4), (3, 2)),
        s(m.normal(1, 2, 3, 4), (None, 3)),
    ],
    "adaptive_max_pool1d": lambda m: [s(m.distinct(1, 2, 5), 3), s(m.distinct(1, 2, 6), 2, True)],
    "adaptive_max_pool2d": lambda m: [s(m.distinct(1, 2, 4, 5), (3, 2)), s(m.distinct(2, 4, 4), 2, True)],
    "layer_norm": lambda m: [
        s(m.normal(3, 4), (4,)),
        s(m.normal(2, 3, 4), (3, 4), m.normal(3, 4), m.normal(3, 4)),
        s(m.normal(2, 3), (3,), m.normal(3)),
        s(m.normal(2, 1, 3), (1, 3), m.normal(1, 3), m.normal(1, 3), 1e-2),
    ],
    "group_norm": lambda m: [
        s(m.normal(2, 4, 3), 2),
        s(m.normal(2, 4, 2, 2), 2, m.normal(4), m.normal(4)),
        s(m.normal(3, 4), 1, m.normal(4), m.normal(4)),
    ],
    "batch_norm": lambda m: [
        s(m.normal(4, 3), None, None, m.normal(3), m.normal(3), True),
        s(m.normal(2, 3, 4), None, None, None, None, True),
        s(m.normal(2, 2, 2, 3), None, None, m.normal(2), m.normal(2), True, 0.1, 1e-2),
    ],
    "instance_norm": lambda m: [s(m.normal(2, 3, 4)), s(m.normal(2, 2, 2, 3), None, None, m.normal(2), m.normal(2))],
    "rms_norm": lambda m: [s(m.normal(2, 3, 4), (4,)), s(m.normal(3, 4), (3, 4), m.normal(3, 4), 1e-3)],
    "pad": lambda m: [
        s(m.normal(2, 3), (1, 2)),
        s(m.normal(2, 3), (1, -1, -1, 2), "constant", 0.5),
        s(m.normal(1, 2, 4), (2, 1), "reflect"),
        s(m.normal(1, 1, 3, 4), (1, 2, 2, 0), "replicate"),
        s(m.normal(1, 1, 3, 4), (1, 2, 1, 0), "circular"),
        s(m.normal(1, 1, 3, 4), (1, 2, 1, 0), "reflect"),
    ],
    "unfold": lambda m: [s(m.normal(1, 2, 4, 4), 2), s(m.normal(2, 4, 5), (2, 3), 1, 1, 2)],
    "fold": lambda m: [s(m.normal(1, 8, 9), (4, 4), 2), s(m.normal(4, 4), (4, 4), 2, 1, 0, 2)],
    "pixel_shuffle": lambda m: [s(m.normal(2, 8, 2, 3), 2), s(m.normal(4, 1, 1), 2)],
    "pixel_unshuffle": lambda m: [s(m.normal(2, 2, 4, 2), 2)],
    "interpolate": lambda m: [
        s(m.normal(1, 2, 3), scale_factor=2),
        s(m.normal(1, 1, 3, 4), (5, 2)),
        s(m.normal(1, 1, 3, 3), (4, 5), mode="nearest-exact"),
        s(m.normal(1, 1, 3, 4), scale_factor=2.5, mode="bilinear"),
        s(m.normal(1, 1, 3, 4), (5, 6), mode="bilinear", align_corners=True),
        s(m.normal(1, 2, 4), 7, mode="linear"),
        s(m.normal(1, 1, 2, 3, 2), 4, mode="trilinear"),
        s(m.normal(1, 1, 5, 4), (3, 2), mode="area"),
        s(m.normal(1, 1, 3, 4), (7, 3), mode="bicubic"),
        s(m.normal(1, 1, 6, 4), (3, 5), mode="bicubic", antialias=True),
        s(m.normal(1, 1, 5, 4), scale_factor=0.6, mode="bilinear", antialias=True),
    ],
    "embedding": lambda m: [
        s(m.ints(4, 3), m.normal(4, 2)),
        s(m.ints(3, 2, 3), m.normal(4, 2), 3),
    ],
    "gelu": lambda m: [s(m.normal(2, 3)), s(m.normal(2, 3), approximate="tanh")],
    "dropout": lambda m: [s(m.normal(2, 3), 0.5, False), s(m.normal(2, 3), 0.0), s(m.normal(2, 3), 1.0)],
    "dropout1d": lambda m: [s(m.normal(2, 3, 2), 0.5, False), s(m.normal(2, 3, 2), 1.0)],
    "dropout2d": lambda m: [s(m.normal(2, 3, 2, 2), 0.5, False), s(m.normal(2, 3, 2, 2), 1.0)],
    "dropout3d": lambda m: [s(m.normal(2, 3, 2, 1, 2), 0.5, False), s(m.normal(2, 3, 1, 2), 1.0)],
    "alpha_dropout": lambda m: [s(m.normal(2, 3), 0.5, False), s(m.normal(2, 3), 1.0, True)],
    "feature_alpha_dropout": lambda m: [s(m.normal(2, 3, 2), 0.5, False), s(m.normal(2, 3, 2), 1.0, True)],
    "channel_shuffle": lambda m: [s(m.normal(2, 6, 2), 3), s(m.normal(1, 4, 2, 3), 2)],
    "scaled_dot_product_attention": lambda m: [
        s(m.normal(2, 3, 4), m.normal(2, 5, 4), m.normal(2, 5, 2)),
        s(m.normal(1, 2, 3, 4), m.normal(1, 2, 3, 4), m.normal(1, 2, 3, 4), is_causal=True),
        s(m.normal(2, 3, 4), m.normal(2, 3, 4), m.normal(2, 3, 4), m.normal(3, 3), scale=0.3),
        s(m.normal(2, 2, 4), m.normal(2, 2, 4), m.normal(2, 2, 4), np.array([[True, False], [True, True]])),
    ],
    "kl_div": _kl,
    "hinge_embedding_loss": lambda m: [s(m.distinct(2, 3), signs(m, 2, 3), 0.7, reduction=r) for r in REDUCTIONS],
    "margin_ranking_loss": lambda m: [
        s(m.distinct(4), m.distinct(4) + 0.03, signs(m, 4), 0.3, reduction=r) for r in REDUCTIONS
    ],
    "pairwise_distance": lambda m: [s(m.normal(2, 3), m.normal(2, 3)), s(m.normal(2, 3), m.normal(3), 1.0, 1e-3, True)],
    "cosine_similarity": lambda m: [s(m.normal(2, 3), m.normal(2, 3)), s(m.normal(2, 3), m.normal(3), dim=-1)],
    "cosine_embedding_loss": lambda m: [
        *[s(m.normal(4, 3), m.normal(4, 3), signs(m, 4), 0.1, reduction=r) for r in REDUCTIONS],
        s(m.normal(3), m.normal(3), np.array(1)),
    ],
    "triplet_margin_loss": lambda m: [
        s(m.normal(2, 3), m.normal(2, 3), m.normal(2, 3)),
        s(m.normal(2, 3), m.normal(2, 3), m.normal(2, 3), 2.0, 2, swap=True, reduction="none"),
    ],
    "triplet_margin_with_distance_loss": lambda m: [
        s(m.normal(2, 3), m.normal(2, 3), m.normal(2, 3)),
        s(m.normal(2, 3), m.normal(2, 3), m.normal(2, 3), margin=2.0, swap=True, reduction="none"),
    ],
    "gaussian_nll_loss": _gaussian,
    "poisson_nll_loss": lambda m: [
        *[s(m.normal(2, 3), m.positive(2, 3), reduction=r) for r in REDUCTIONS],
        s(m.positive(2, 3), m.positive(2, 3) * 3, False, True),
    ],
    "soft_margin_loss": lambda m: [s(m.normal(2, 3), signs(m, 2, 3), reduction=r) for r in REDUCTIONS],
    "multi_margin_loss": lambda m: [
        *[s(m.normal(3, 4), m.ints(4, 3), reduction=r) for r in REDUCTIONS],
        s(m.normal(3, 4), m.ints(4, 3), 2, 0.7),
        s(m.normal(4), m.ints(4)),
    ],
    "multilabel_margin_loss": lambda m: [
        *[s(m.normal(2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 0]]), reduction=r) for r in REDUCTIONS],
        s(m.normal(3), np.array([2, -1, 0])),
    ],
    "multilabel_soft_margin_loss": lambda m: [s(m.normal(2, 3), m.ints(2, 2, 3), reduction=r) for r in REDUCTIONS],
}
"""Layers by name in ``nn.functional``."""
