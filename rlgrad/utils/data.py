"""``rlgrad.data`` under PyTorch's name for it."""

from rlgrad.data import *  # noqa: F403
