"""The older names of :mod:`rlgrad.amp`, for the GPU."""

from __future__ import annotations

from typing import Any

from rlgrad import amp
from rlgrad.amp import custom_bwd, custom_fwd
from rlgrad.backend import dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """:class:`rlgrad.amp.autocast` on a GPU."""

    def __init__(
        self, enabled: bool = True, dtype: dtypes.dtype = dtypes.float16, cache_enabled: bool = True
    ) -> None:  # fmt: skip
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """:class:`rlgrad.amp.GradScaler` on a GPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)
