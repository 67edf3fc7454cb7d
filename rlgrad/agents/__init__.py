"""Reinforcement-learning algorithms, one file each."""

from rlgrad.agents.a2c import A2C, A2CConfig
from rlgrad.agents.base import Agent
from rlgrad.agents.config import AgentConfig
from rlgrad.agents.dqn import DQN, DQNConfig
from rlgrad.agents.iql import IQL, IQLConfig
from rlgrad.agents.ppo import PPO, PPOConfig
from rlgrad.agents.reinforce import Reinforce, ReinforceConfig
from rlgrad.agents.returns import gae, reward_to_go
from rlgrad.agents.sac import SAC, CQLConfig, SACConfig
from rlgrad.agents.td3 import TD3, DDPGConfig, TD3Config
from rlgrad.agents.trpo import TRPO, TRPOConfig

BY_NAME: dict[str, tuple[type[Agent], type[AgentConfig]]] = {
    "reinforce": (Reinforce, ReinforceConfig),
    "a2c": (A2C, A2CConfig),
    "ppo": (PPO, PPOConfig),
    "trpo": (TRPO, TRPOConfig),
    "dqn": (DQN, DQNConfig),
    "ddpg": (TD3, DDPGConfig),
    "td3": (TD3, TD3Config),
    "sac": (SAC, SACConfig),
    "cql": (SAC, CQLConfig),
    "iql": (IQL, IQLConfig),
}
"""Names in configurations: the algorithm, and its settings class."""

__all__ = [
    "A2C",
    "BY_NAME",
    "DQN",
    "IQL",
    "PPO",
    "SAC",
    "TD3",
    "TRPO",
    "A2CConfig",
    "Agent",
    "AgentConfig",
    "CQLConfig",
    "DDPGConfig",
    "DQNConfig",
    "IQLConfig",
    "PPOConfig",
    "Reinforce",
    "ReinforceConfig",
    "SACConfig",
    "TD3Config",
    "TRPOConfig",
    "gae",
    "reward_to_go",
]
