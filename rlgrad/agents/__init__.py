"""Reinforcement-learning algorithms, one file each."""

from rlgrad.agents.base import Agent
from rlgrad.agents.reinforce import Reinforce, ReinforceConfig
from rlgrad.agents.returns import reward_to_go

__all__ = ["Agent", "Reinforce", "ReinforceConfig", "reward_to_go"]
