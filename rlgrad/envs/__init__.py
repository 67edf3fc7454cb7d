"""Environments: one `make` that returns a vector environment with same-step autoreset."""

from rlgrad.envs.arrays import ArrayVectorEnv
from rlgrad.envs.cartpole import CartPoleVectorEnv
from rlgrad.envs.make import EnvFactory, make
from rlgrad.envs.normalize import RunningMeanStd
from rlgrad.envs.state import restore, state_of

__all__ = ["ArrayVectorEnv", "CartPoleVectorEnv", "EnvFactory", "RunningMeanStd", "make", "restore", "state_of"]
