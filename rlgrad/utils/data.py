"""``rlgrad.data`` under PyTorch's name for it."""

from rlgrad.data import *  # noqa: F403
from rlgrad.data import dataset as dataset
from rlgrad.data import loader as dataloader  # noqa: F401
from rlgrad.data import sampler as sampler


def get_worker_info() -> None:
    """Which process of a loader this is: ``None``, for there is only the main one."""
