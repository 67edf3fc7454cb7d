"""A2C: the synchronous advantage actor-critic.

Source: Mnih et al., Asynchronous Methods for Deep Reinforcement Learning (2016), algorithm S3, with the workers in
step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rlgrad import optim
from rlgrad.agents.on_policy import OnPolicyAgent, OnPolicyConfig
from rlgrad.agents.rollout import Rollout
from rlgrad.nn import functional as F
from rlgrad.training import Linear

__all__ = ["A2C", "A2CConfig"]


@dataclass
class A2CConfig(OnPolicyConfig):
    """Settings of `A2C`, beside those of every agent that learns from rollouts.

    Args:
        optimizer: "rmsprop" or "adam".
    """

    n_steps: int = 5
    learning_rate: float = 7e-4
    gae_lambda: float = 1.0
    normalize_advantages: bool = False
    optimizer: Literal["rmsprop", "adam"] = "rmsprop"


class A2C(OnPolicyAgent):
    """The advantage actor-critic: one gradient step on each short rollout of all copies.

    Args:
        env, config, seed, num_envs, env_options, device, policy, value: see `OnPolicyAgent`.

    Example:
        >>> from rlgrad.agents import A2C
        >>> A2C("CartPole-v1", seed=0).learn(400).num_updates
        10
    """

    config_class = A2CConfig
    config: A2CConfig

    def build_optimizer(self) -> Any:
        options: dict[str, Any] = {"alpha": 0.99} if self.config.optimizer == "rmsprop" else {}
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return optim.make(self.config.optimizer, parameters, lr=rate, eps=1e-5, **options)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """One gradient step on `-log pi(a|s) A + value_coef (V - R)^2 - entropy_coef H`.

        Returns:
            Figures for the logger, under "group/name".
        """
        config = self.config
        self.optimizer.param_groups[0]["lr"] = Linear(config.learning_rate, config.learning_rate_end)(self.progress)
        (batch,) = self.minibatches(rollout, len(rollout.obs))
        parameters = self.policy(batch.obs, batch.sequences.get("policy"))
        log_prob = self.head.log_prob(parameters, batch.actions, batch.masks)
        policy_loss = -(log_prob * batch.advantages).mean()
        value_loss = F.mse_loss(self.values_of(batch), batch.returns)
        loss = policy_loss + config.value_coef * value_loss
        if config.entropy_coef:
            loss = loss - config.entropy_coef * self.head.entropy(parameters, batch.masks).mean()
        norm = self.descend(self.optimizer, {"total": loss})
        names = ("loss/policy", "loss/value", "optimizer/gradient_norm")
        return self.summary(rollout, names, [(policy_loss.item(), value_loss.item(), norm)])
