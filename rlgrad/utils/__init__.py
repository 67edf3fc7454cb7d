"""Tools around training: recomputing instead of storing, exchange with other libraries."""

from rlgrad.utils import checkpoint, dlpack

__all__ = ["checkpoint", "dlpack"]
