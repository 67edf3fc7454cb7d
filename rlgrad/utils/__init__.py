"""Tools around training: recomputing instead of storing."""

from rlgrad.utils import checkpoint

__all__ = ["checkpoint"]
