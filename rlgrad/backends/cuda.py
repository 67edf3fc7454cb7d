"""Switches of products of matrices on a GPU: permissions that are not made use of, as float32 stays float32."""

from __future__ import annotations

import importlib.util


class _Products:
    """``allow_tf32`` and its kin; setting any other name is an AttributeError."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction", "allow_tf32")

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True


matmul = _Products()


def is_built() -> bool:
    """Whether CuPy is installed, without which there is no GPU."""
    return importlib.util.find_spec("cupy") is not None
