"""What every trainer shares: metrics, progress, checkpoints, finiteness checks, run folders and seeding."""

from rlgrad.training.callbacks import (
    Callback,
    CheckpointCallback,
    EvaluationCallback,
    PeriodicCallback,
    ScheduleCallback,
    StopOnReward,
)
from rlgrad.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from rlgrad.training.guards import NonFiniteError, check_finite
from rlgrad.training.metrics import MetricLogger, encode_animation, encode_png, read_metrics
from rlgrad.training.progress import Progress
from rlgrad.training.run import Interrupt, prepare_run_directory
from rlgrad.training.schedules import Linear
from rlgrad.training.seeding import spawn_generators

__all__ = [
    "Callback",
    "CheckpointCallback",
    "CheckpointError",
    "EvaluationCallback",
    "Interrupt",
    "Linear",
    "MetricLogger",
    "NonFiniteError",
    "PeriodicCallback",
    "Progress",
    "ScheduleCallback",
    "StopOnReward",
    "check_finite",
    "encode_animation",
    "encode_png",
    "load_checkpoint",
    "prepare_run_directory",
    "read_metrics",
    "save_checkpoint",
    "spawn_generators",
]
