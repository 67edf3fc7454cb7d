"""Functions of networks on tensors of whole numbers: what PyTorch computes is computed, what it refuses is refused."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

TARGETS = [[0, 1, -1], [0, -1, -1]]
PLACES = [[[[0, 2], [8, 10]]]]
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: lambda F, T, lib, name=name: getattr(F, name)(T(2, 3, 8))
        for name in ("silu", "logsigmoid", "leaky_relu", "rrelu", "gelu", "normalize", "instance_norm")
    },
    **{
        f"{name} of {kind}": lambda F, T, lib, name=name, kind=kind: getattr(F, name)(
            T(2, 3, 8), T(2, 3, 8) if kind == "whole" else T(2, 3, 8).float()
        )
        for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "binary_cross_entropy")
        for kind in ("whole", "floats")
    },
    "prelu": lambda F, T, lib: F.prelu(T(2, 3, 8), T(1)),
    "with_logits": lambda F, T, lib: F.binary_cross_entropy_with_logits(T(2, 3), T(2, 3)),
    "with_logits of floats": lambda F, T, lib: F.binary_cross_entropy_with_logits(T(2, 3), T(2, 3).float()),
    "nll_loss": lambda F, T, lib: F.nll_loss(T(2, 3), lib.tensor([0, 1])),
    "cross_entropy": lambda F, T, lib: F.cross_entropy(T(2, 3), lib.tensor([0, 1])),
    "multi_margin_loss": lambda F, T, lib: F.multi_margin_loss(T(2, 3), lib.tensor([0, 1])),
    "multilabel_margin_loss": lambda F, T, lib: F.multilabel_margin_loss(T(2, 3), lib.tensor(TARGETS)),
    "multilabel_soft_margin_loss": lambda F, T, lib: F.multilabel_soft_margin_loss(T(2, 3), T(2, 3)),
    "fractional_max_pool2d": lambda F, T, lib: F.fractional_max_pool2d(T(2, 3, 8, 8), 2, output_size=3),
    "max_unpool2d": lambda F, T, lib: F.max_unpool2d(T(1, 1, 2, 2), lib.tensor(PLACES), 2),
    "batch_norm": lambda F, T, lib: F.batch_norm(T(2, 3, 8), None, None, training=True),
    "batch_norm in evaluation": lambda F, T, lib: F.batch_norm(T(2, 3, 8), T(3), T(3)),
    "rms_norm": lambda F, T, lib: F.rms_norm(T(2, 8), (8,)),
    "layer_norm": lambda F, T, lib: F.layer_norm(T(2, 8), (8,)),
    "group_norm": lambda F, T, lib: F.group_norm(T(2, 3, 8), 1),
    "grid_sample": lambda F, T, lib: F.grid_sample(T(2, 3, 8, 8), T(2, 3, 3, 2), align_corners=True),
    **{
        f"{name}{rank}d": lambda F, T, lib, name=name, rank=rank: getattr(F, f"{name}{rank}d")(T(2, 3, *[4] * rank), 2)
        for name in ("adaptive_avg_pool", "adaptive_max_pool", "max_pool", "avg_pool")
        for rank in (1, 2, 3)
    },
    **{
        f"interpolate {mode} {rank}": lambda F, T, lib, mode=mode, rank=rank: F.interpolate(
            T(2, 3, *[4] * rank), scale_factor=2, mode=mode
        )
        for mode, ranks in {
            "nearest": (1, 2, 3),
            "nearest-exact": (2,),
            "area": (1, 2, 3),
            "linear": (1,),
            "bilinear": (2,),
            "bicubic": (2,),
            "trilinear": (3,),
        }.items()
        for rank in ranks
    },
}


def outcome(library: str, call: Callable[[Any, Any, Any], Any], dtype: str) -> str:
    lib, functional = importlib.import_module(library), importlib.import_module(f"{library}.nn.functional")

    def zeros_and_ones(*shape: int) -> Any:
        return (lib.arange(math.prod(shape)).reshape(shape) % 2).to(getattr(lib, dtype))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(call(functional, zeros_and_ones, lib).dtype)
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_whole_numbers_are_taken_or_refused_as_in_torch(name: str, dtype: str) -> None:
    assert outcome("rlgrad", CALLS[name], dtype) == outcome("torch", CALLS[name], dtype)
