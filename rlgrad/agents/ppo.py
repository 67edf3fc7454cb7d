"""PPO: proximal policy optimization with a clipped objective.

Source: Schulman et al., Proximal Policy Optimization Algorithms (2017), equations 7 and 9; Huang et al., The 37
Implementation Details of Proximal Policy Optimization (2022), for the details.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, optim
from rlgrad.agents.config import require
from rlgrad.agents.objectives import clipped_surrogate
from rlgrad.agents.on_policy import OnPolicyAgent, OnPolicyConfig
from rlgrad.agents.rollout import Rollout
from rlgrad.nn import functional as F
from rlgrad.training import Linear

__all__ = ["PPO", "PPOConfig"]


@dataclass
class PPOConfig(OnPolicyConfig):
    """Settings of `PPO`, beside those of every agent that learns from rollouts.

    Args:
        batch_size: rows per gradient step.
        epochs: passes over each rollout.
        clip_range: how far the probability of an action may move, relative to what it was, before it gains
            nothing more.
        clip_range_end: the clip range falls in a straight line to this by the end of `learn`; None keeps it.
        value_clip_range: how far values may move from what they were, likewise; None does not clip them.
        target_kl: an epoch ends the update before a step, once the policy has moved further than 1.5 times this
            from where it was; None never.
    """

    batch_size: int = 256
    epochs: int = 10
    clip_range: float = 0.2
    clip_range_end: float | None = None
    value_clip_range: float | None = None
    target_kl: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            positive=["clip_range", "value_clip_range", "target_kl"],
            at_least={"batch_size": 1, "epochs": 1, "clip_range_end": 0},
        )


class PPO(OnPolicyAgent):
    """Proximal policy optimization over vector environments, feed-forward or recurrent.

    Args:
        env, config, seed, num_envs, env_options, device, policy, value: see `OnPolicyAgent`.

    Example:
        >>> from rlgrad.agents import PPO, PPOConfig
        >>> agent = PPO("CartPole-v1", PPOConfig(n_steps=32, epochs=4), seed=0).learn(2_000)
        >>> agent.num_updates
        8
    """

    config_class = PPOConfig
    config: PPOConfig

    def build_optimizer(self) -> Any:
        return optim.Adam(self.model.parameters(), lr=self.config.learning_rate, eps=1e-5)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """`epochs` passes of clipped gradient steps over a rollout.

        Returns:
            Figures for the logger, under "group/name".
        """
        config = self.config
        clip = Linear(config.clip_range, config.clip_range_end)(self.progress)
        self.optimizer.param_groups[0]["lr"] = Linear(config.learning_rate, config.learning_rate_end)(self.progress)
        head, figures, movements = self.head, [], []
        for batch in self.minibatches(rollout, config.batch_size, config.epochs):
            parameters = self.policy(batch.obs, batch.sequences.get("policy"))
            log_prob = head.log_prob(parameters, batch.actions, batch.masks)
            if config.target_kl is not None or batch.epoch == config.epochs - 1:
                movements.append(_movement(log_prob, batch.log_probs, clip))
                if config.target_kl is not None and movements[-1][0] > 1.5 * config.target_kl:
                    break
            objective = clipped_surrogate(log_prob, batch.log_probs, batch.advantages, clip)

            values = self.values_of(batch)
            if config.value_clip_range is None:
                value_loss = F.mse_loss(values, batch.returns)
            else:
                limit = config.value_clip_range
                near = batch.values + (values - batch.values).clamp(-limit, limit)
                value_loss = rlgrad.maximum((values - batch.returns).square(), (near - batch.returns).square()).mean()

            loss = config.value_coef * value_loss - objective
            if config.entropy_coef:
                loss = loss - config.entropy_coef * head.entropy(parameters, batch.masks).mean()
            norm = self.descend(self.optimizer, {"total": loss})
            figures.append((-objective.item(), value_loss.item(), norm))
        metrics = self.summary(rollout, ("loss/policy", "loss/value", "optimizer/gradient_norm"), figures)
        # Of the newest batches, so that they say how far the whole update went.
        kl, outside = np.mean(movements[-max(1, len(rollout.obs) // config.batch_size) :], axis=0).tolist()
        return metrics | {"policy/kl": kl, "policy/clip_fraction": outside, "policy/clip_range": clip}


def _movement(log_prob: Tensor, old_log_prob: Tensor, clip: float) -> tuple[float, float]:
    """How far the policy moved: an estimate of KL(old || new), and the fraction of ratios beyond the clip range.

    The estimate is the mean of `(r - 1) - log r`, which is never negative: Schulman, Approximating KL Divergence
    (2020).
    """
    log_ratio = (log_prob.detach() - old_log_prob).cpu().numpy()
    change, number = np.expm1(log_ratio), max(log_ratio.size, 1)
    kl = float((change - log_ratio).sum()) / number
    return kl, np.count_nonzero(np.abs(change) > clip) / number
