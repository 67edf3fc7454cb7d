"""Implicit Q-learning: from recorded steps, without ever asking for the value of an action that is not in them.

Source: Kostrikov, Nair and Levine, Offline Reinforcement Learning with Implicit Q-Learning (2022), equations 5 to 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.buffers import Transitions
from rlgrad.agents.config import require
from rlgrad.agents.critics import chosen_values, least, make_critics, squared_error
from rlgrad.agents.off_policy import OffPolicyAgent, OffPolicyConfig, require_bounded, target_of
from rlgrad.agents.offline import Dataset
from rlgrad.agents.soft_policy import SoftPolicy
from rlgrad.optim import polyak_update

__all__ = ["IQL", "IQLConfig", "expectile_loss"]


@dataclass
class IQLConfig(OffPolicyConfig):
    """Settings of `IQL`.

    Args:
        num_envs, gamma, solved_return, solved_episodes, learning_rate, learning_rate_end, hidden_sizes,
            activation, buffer_size, learning_starts, batch_size, train_freq, gradient_steps, n_steps,
            max_grad_norm, normalize_observations, hindsight_goals: as `OffPolicyConfig`.
        tau: how far target networks go towards the critics after each update.
        critics: number of critics, whose least value counts.
        expectile: of the values of recorded actions that a state's value is: 0.5 for their mean, towards 1 for
            the best of them.
        temperature: how sharply the policy prefers actions with an advantage; 0 imitates all alike.
        max_weight: largest weight of an action in the policy's loss.
    """

    tau: float = 0.005
    critics: int = 2
    expectile: float = 0.7
    temperature: float = 3.0
    max_weight: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, ["max_weight"], ["tau", "expectile"], {"critics": 1, "temperature": 0})


class IQL(OffPolicyAgent):
    """Implicit Q-learning for bounded Box or Discrete actions.

    Args:
        env, config, seed, num_envs, env_options, device: as `Agent`; the environment gives the spaces and
            serves evaluation.
        optimizer: `name` and further keyword options for `rlgrad.optim.make`; Adam by default.
        dataset: recorded steps to learn from, as `read_dataset` takes them; `learn(n)` then makes n updates.
        actor, critics: modules of your own, as `SAC` takes them.
        value: a module of your own from encoded observations (n, ...) to (n, 1).

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> obs, action = rng.uniform(-1, 1, (500, 3)), rng.uniform(-2, 2, (500, 1))
        >>> data = {"observations": obs, "actions": action, "rewards": -np.abs(action[:, 0]),
        ...         "next_observations": obs, "terminated": np.ones(500, bool)}
        >>> IQL("Pendulum-v1", IQLConfig(hidden_sizes=[16]), dataset=data).learn(20).num_updates
        20
    """

    config_class = IQLConfig
    config: IQLConfig

    def __init__(
        self,
        env: Any,
        config: IQLConfig | None = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        optimizer: dict[str, Any] | None = None,
        dataset: Dataset | None = None,
        actor: nn.Module | None = None,
        critics: Sequence[nn.Module] | None = None,
        value: nn.Module | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device, optimizer, dataset)
        config, dim, discrete = self.config, self.actions.dim, self.actions.discrete
        if not discrete:
            require_bounded(self.actions.space, "IQL")
        widths = (0, dim) if discrete else (dim, 1)
        self.remember_own(
            actor=(actor, dim if discrete else 2 * dim), critics=(critics, *widths[::-1]), value=(value, 1)
        )
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            net = self.make_net(0, dim if discrete else 2 * dim) if actor is None else actor
            self.policy = SoftPolicy(net, dim, discrete).to(device).eval()
            build = (self.make_net(*widths) for _ in range(config.critics))
            self.critics = make_critics(build, critics).to(device).eval()
            self.value = (self.make_net(0, 1) if value is None else value).to(device).eval()
        self.target_critics = target_of(self.critics)
        self.policy_optimizer = self.make_optimizer(self.policy)
        self.critic_optimizer = self.make_optimizer(self.critics)
        self.value_optimizer = self.make_optimizer(self.value)

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        return self.policy.draw(self.inputs(encoded), generator)

    def update(self, batch: Transitions) -> dict[str, Any]:
        config = self.config
        obs, next_obs, actions = self.inputs(batch.obs), self.inputs(batch.next_obs), self.tensor(batch.actions)
        rewards, discounts = self.tensor(batch.rewards), self.tensor(batch.discounts)

        with rlgrad.no_grad():
            recorded = least(chosen_values(self.target_critics, obs, actions))
            target = rewards + discounts * self.value(next_obs).squeeze(1)
        advantage = recorded - self.value(obs).squeeze(1)
        value_loss = expectile_loss(advantage, config.expectile).mean()
        self.descend(self.value_optimizer, {"value": value_loss})

        q = chosen_values(self.critics, obs, actions)
        critic_loss = squared_error(q, target)
        critic_norm = self.descend(self.critic_optimizer, {"critic": critic_loss})

        weights = (advantage.detach() * config.temperature).exp().clamp(max=config.max_weight)
        policy_loss = -(weights * self.policy.log_prob(obs, actions)).mean()
        policy_norm = self.descend(self.policy_optimizer, {"policy": policy_loss})
        polyak_update(self.critics, self.target_critics, config.tau)
        return {
            "loss/value": value_loss,
            "loss/critic": critic_loss,
            "loss/policy": policy_loss,
            "q/mean": q[0],
            "policy/weight": weights,
            "gradient_norm/critic": critic_norm,
            "gradient_norm/policy": policy_norm,
            "optimizer/learning_rate": self.policy_optimizer.param_groups[0]["lr"],
        }

    def components(self) -> dict[str, Any]:
        names = ("policy", "critics", "target_critics", "value")
        optimizers = ("policy_optimizer", "critic_optimizer", "value_optimizer")
        return {**super().components(), **{name: getattr(self, name) for name in (*names, *optimizers)}}


def expectile_loss(differences: Tensor, expectile: float) -> Tensor:
    """`|expectile - 1(u < 0)| u^2` for each difference u: least where the target's expectile is.

    Example:
        >>> expectile_loss(rlgrad.tensor([-1.0, 1.0]), 0.75)
        tensor([0.2500, 0.7500])
    """
    below = (differences.detach() < 0).to(differences.dtype)
    return (expectile - below).abs() * differences * differences
