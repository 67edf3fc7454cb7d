"""Environments: one `make` that returns a vector environment with same-step autoreset."""

from rlgrad.envs.cartpole import CartPoleVectorEnv
from rlgrad.envs.make import EnvFactory, make
from rlgrad.envs.normalize import RunningMeanStd

__all__ = ["CartPoleVectorEnv", "EnvFactory", "RunningMeanStd", "make"]
