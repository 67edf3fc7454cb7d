"""Environments: one `make` that returns a vector environment with same-step autoreset."""

from rlgrad.envs.arrays import ArrayVectorEnv
from rlgrad.envs.atari import atari
from rlgrad.envs.cartpole import CartPoleVectorEnv
from rlgrad.envs.check import InvalidEnvironmentError, check_env
from rlgrad.envs.make import EnvFactory, make, same_step
from rlgrad.envs.normalize import RewardScaler, RunningMeanStd
from rlgrad.envs.normalized import NormalizedVectorEnv, reset_and_seed
from rlgrad.envs.pool import EnvPoolVectorEnv
from rlgrad.envs.state import restore, state_of

__all__ = [
    "ArrayVectorEnv",
    "CartPoleVectorEnv",
    "EnvFactory",
    "EnvPoolVectorEnv",
    "InvalidEnvironmentError",
    "NormalizedVectorEnv",
    "RewardScaler",
    "RunningMeanStd",
    "atari",
    "check_env",
    "make",
    "reset_and_seed",
    "restore",
    "same_step",
    "state_of",
]
