"""Soft actor-critic, for continuous and for discrete actions.

Source: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018); Christodoulou, Soft Actor-Critic for
Discrete Action Settings (2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import rlgrad
from rlgrad import nn
from rlgrad.agents.buffers import Transitions
from rlgrad.agents.config import require
from rlgrad.agents.cql import conservative_gap
from rlgrad.agents.critics import chosen_values, make_critics, squared_error
from rlgrad.agents.off_policy import OffPolicyAgent, OffPolicyConfig, require_bounded, target_of
from rlgrad.agents.offline import Dataset
from rlgrad.agents.soft_policy import SoftPolicy, Temperature
from rlgrad.optim import polyak_update

__all__ = ["SAC", "CQLConfig", "SACConfig"]


@dataclass
class SACConfig(OffPolicyConfig):
    """Settings of `SAC`.

    Args:
        num_envs, gamma, solved_return, solved_episodes, learning_rate, learning_rate_end, hidden_sizes,
            activation, buffer_size, learning_starts, batch_size, train_freq, gradient_steps, n_steps,
            max_grad_norm, normalize_observations, hindsight_goals: as `OffPolicyConfig`.
        tau: how far target networks go towards the critics after each update.
        critics: number of critics, whose least value counts.
        alpha: weight of the entropy, where it starts.
        learn_alpha: adjust it so that the policy's entropy stays at the target.
        target_entropy: in nats; None for minus the number of action components, or for discrete actions
            for `entropy_ratio` of the largest there is.
        entropy_ratio: for discrete actions; close to 1 the policy must stay random, and alpha explodes.
        conservative_weight: of the gap between the values of all actions and of those in the memory, which
            learning from recorded steps needs (CQL); 0 for none.
        sampled_actions: drawn from each of three sources to estimate it, for continuous actions.
    """

    tau: float = 0.005
    critics: int = 2
    alpha: float = 1.0
    learn_alpha: bool = True
    target_entropy: float | None = None
    entropy_ratio: float = 0.7
    conservative_weight: float = 0.0
    sampled_actions: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self, ["alpha"], ["tau", "entropy_ratio"], {"critics": 1, "conservative_weight": 0, "sampled_actions": 1}
        )


@dataclass
class CQLConfig(SACConfig):
    """Settings that make `SAC` conservative Q-learning, for use with a data set."""

    conservative_weight: float = 5.0
    entropy_ratio: float = 0.3


class SAC(OffPolicyAgent):
    """Soft actor-critic: rewards and the policy's entropy together, for bounded Box or Discrete actions.

    Args:
        env, config, seed, num_envs, env_options, device: as `Agent`.
        optimizer: `name` and further keyword options for `rlgrad.optim.make`; Adam by default.
        dataset: recorded steps to learn from instead of the environment, as `read_dataset` takes them.
        actor: a module of your own from encoded observations (n, ...) to (n, 2 action_dim), means before
            `tanh` and logarithms of standard deviations, or to (n, choices) logits.
        critics: modules of your own from observations beside actions (n, obs_dim + action_dim) to (n, 1), or
            from observations to (n, choices) values.

    Example:
        >>> config = SACConfig(hidden_sizes=[16], learning_starts=50, batch_size=8)
        >>> SAC("Pendulum-v1", config, seed=0).learn(60).num_updates
        10
    """

    config_class = SACConfig
    config: SACConfig

    def __init__(
        self,
        env: Any,
        config: SACConfig | None = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        optimizer: dict[str, Any] | None = None,
        dataset: Dataset | None = None,
        actor: nn.Module | None = None,
        critics: Sequence[nn.Module] | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device, optimizer, dataset)
        config, dim, discrete = self.config, self.actions.dim, self.actions.discrete
        if not discrete:
            require_bounded(self.actions.space, "SAC")
        widths = (0, dim) if discrete else (dim, 1)
        self.remember_own(actor=(actor, dim if discrete else 2 * dim), critics=(critics, *widths[::-1]))
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            net = self.make_net(0, dim if discrete else 2 * dim) if actor is None else actor
            self.policy = SoftPolicy(net, dim, discrete).to(device).eval()
            build = (self.make_net(*widths) for _ in range(config.critics))
            self.critics = make_critics(build, critics).to(device).eval()
        self.target_critics = target_of(self.critics)
        self.temperature = Temperature(config.alpha).to(device)
        self.actor_optimizer = self.make_optimizer(self.policy)
        self.critic_optimizer = self.make_optimizer(self.critics)
        self.alpha_optimizer = self.make_optimizer(self.temperature)
        default = config.entropy_ratio * math.log(dim) if discrete else -float(dim)
        self.target_entropy = default if config.target_entropy is None else config.target_entropy

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        return self.policy.draw(self.inputs(encoded), generator)

    def update(self, batch: Transitions) -> dict[str, Any]:
        config, alpha, generator = self.config, self.temperature.alpha, self.generators["minibatch"]
        obs, next_obs, actions = self.inputs(batch.obs), self.inputs(batch.next_obs), self.tensor(batch.actions)
        rewards, discounts = self.tensor(batch.rewards), self.tensor(batch.discounts)

        with rlgrad.no_grad():
            value, log_prob = self.policy.expectations(self.target_critics, next_obs, generator)
            target = rewards + discounts * (value - alpha * log_prob)
        q = chosen_values(self.critics, obs, actions)
        critic_loss = squared_error(q, target) * 0.5
        if config.conservative_weight:
            gap = conservative_gap(self.policy, self.critics, obs, next_obs, q, config.sampled_actions, generator)
            critic_loss = critic_loss + config.conservative_weight * gap
        critic_norm = self.descend(self.critic_optimizer, {"critic": critic_loss})

        value, log_prob = self.policy.expectations(self.critics, obs, generator)
        actor_loss = (alpha * log_prob - value).mean()
        actor_norm = self.descend(self.actor_optimizer, {"actor": actor_loss}, through_others=True)

        if config.learn_alpha:
            surplus = log_prob.detach().mean() + self.target_entropy
            self.descend(self.alpha_optimizer, {"alpha": -(self.temperature.log_alpha * surplus)})
        polyak_update(self.critics, self.target_critics, config.tau)
        return {
            "loss/critic": critic_loss,
            "loss/actor": actor_loss,
            "q/mean": q[0],
            "q/target": target,
            "policy/entropy": -log_prob,
            "policy/alpha": alpha,
            "gradient_norm/critic": critic_norm,
            "gradient_norm/actor": actor_norm,
            "optimizer/learning_rate": self.actor_optimizer.param_groups[0]["lr"],
        }

    def components(self) -> dict[str, Any]:
        names = ("policy", "critics", "target_critics", "temperature")
        optimizers = ("actor_optimizer", "critic_optimizer", "alpha_optimizer")
        return {**super().components(), **{name: getattr(self, name) for name in (*names, *optimizers)}}
