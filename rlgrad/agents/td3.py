"""TD3, and DDPG as its settings: deterministic policies for continuous actions.

Source: Fujimoto, van Hoof and Meger, Addressing Function Approximation Error in Actor-Critic Methods (2018),
algorithm 1; Lillicrap et al., Continuous Control with Deep Reinforcement Learning (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import rlgrad
from rlgrad import nn
from rlgrad.agents.buffers import Transitions
from rlgrad.agents.config import require
from rlgrad.agents.critics import least, make_critics, squared_error, values
from rlgrad.agents.exploration import make_noise
from rlgrad.agents.off_policy import OffPolicyAgent, OffPolicyConfig, require_bounded, target_of
from rlgrad.agents.offline import Dataset
from rlgrad.optim import polyak_update

__all__ = ["TD3", "DDPGConfig", "TD3Config"]


@dataclass
class TD3Config(OffPolicyConfig):
    """Settings of `TD3`.

    Args:
        num_envs, gamma, solved_return, solved_episodes, learning_rate, learning_rate_end, hidden_sizes,
            activation, buffer_size, learning_starts, batch_size, train_freq, gradient_steps, n_steps,
            max_grad_norm, normalize_observations, hindsight_goals: as `OffPolicyConfig`.
        tau: how far target networks go towards the networks in training after each update of the policy.
        critics: number of critics, whose least value counts.
        policy_delay: updates of the critics for one of the policy.
        noise: what is added to actions while exploring: "gaussian" or "ou", which wanders.
        noise_std: its standard deviation, where the actions' bounds are -1 and 1.
        noise_dt: of noise that wanders, the time between two steps: larger values wander faster. It swings best in
            time with an oscillation of n steps where 0.15 times this is about 6 / n.
        target_noise_std: standard deviation of the noise on the target policy's actions.
        target_noise_clip: largest size of it.
    """

    learning_rate: float = 1e-3
    hidden_sizes: list[int] = field(default_factory=lambda: [400, 300])
    tau: float = 0.005
    critics: int = 2
    policy_delay: int = 2
    noise: Literal["gaussian", "ou"] = "gaussian"
    noise_std: float = 0.1
    noise_dt: float = 0.01
    target_noise_std: float = 0.2
    target_noise_clip: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        noises = dict.fromkeys(("noise_std", "target_noise_std", "target_noise_clip"), 0.0)
        require(self, ["noise_dt"], ["tau"], at_least={"critics": 1, "policy_delay": 1, **noises})
        if self.noise not in ("gaussian", "ou"):
            raise ValueError(f"noise must be gaussian or ou, got {self.noise!r}.")


@dataclass
class DDPGConfig(TD3Config):
    """Settings that make `TD3` the older DDPG: one critic, no delay, no noise on targets."""

    critics: int = 1
    policy_delay: int = 1
    target_noise_std: float = 0.0


class TD3(OffPolicyAgent):
    """Twin delayed deep deterministic policy gradient, for bounded Box actions.

    Args:
        env, config, seed, num_envs, env_options, device: as `Agent`.
        optimizer: `name` and further keyword options for `rlgrad.optim.make`; Adam by default.
        dataset: recorded steps to learn from instead of the environment, as `read_dataset` takes them.
        actor: a module of your own from encoded observations (n, ...) to actions (n, action_dim) in [-1, 1].
        critics: modules of your own from observations beside actions (n, obs_dim + action_dim) to (n, 1).

    Example:
        >>> config = TD3Config(hidden_sizes=[16], learning_starts=50, batch_size=8)
        >>> TD3("Pendulum-v1", config, seed=0).learn(60).num_updates
        10
    """

    config_class = TD3Config
    config: TD3Config

    def __init__(
        self,
        env: Any,
        config: TD3Config | None = None,
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
        require_bounded(self.actions.space, "TD3")
        config, dim = self.config, self.actions.dim
        self.remember_own(actor=(actor, dim), critics=(critics, 1, dim))
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            net = nn.Sequential(*self.make_net(0, dim), nn.Tanh()) if actor is None else actor
            self.actor = net.to(device).eval()
            build = (self.make_net(dim, 1) for _ in range(config.critics))
            self.critics = make_critics(build, critics).to(device).eval()
        self.target_actor, self.target_critics = target_of(self.actor), target_of(self.critics)
        self.actor_optimizer = self.make_optimizer(self.actor)
        self.critic_optimizer = self.make_optimizer(self.critics)
        self.noise = make_noise(config.noise, self.num_envs, dim, config.noise_std, config.noise_dt)
        self._actor_figures: dict[str, Any] = {}

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        with rlgrad.no_grad():
            actions = self.array(self.actor(self.inputs(encoded)))
        if generator is None:
            return actions
        noise = generator.standard_normal(actions.shape, np.float32) * np.float32(self.config.noise_std)
        return (actions + noise).clip(-1.0, 1.0)

    def explore(self, encoded: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        self.noise.restart(np.flatnonzero(self.runner.starts))
        return (self.act(encoded, None) + self.noise.draw(generator)).clip(-1.0, 1.0)

    def update(self, batch: Transitions) -> dict[str, Any]:
        config = self.config
        obs, next_obs, actions = self.inputs(batch.obs), self.inputs(batch.next_obs), self.tensor(batch.actions)
        rewards, discounts = self.tensor(batch.rewards), self.tensor(batch.discounts)

        with rlgrad.no_grad():
            next_actions = self.target_actor(next_obs)
            if config.target_noise_std:
                draw = self.generators["minibatch"].standard_normal(tuple(next_actions.shape), np.float32)
                limit = config.target_noise_clip
                noise = (draw * np.float32(config.target_noise_std)).clip(-limit, limit)
                next_actions = (next_actions + self.tensor(noise)).clamp(-1.0, 1.0)
            target = rewards + discounts * least(values(self.target_critics, next_obs, next_actions))
        q = values(self.critics, obs, actions)
        critic_loss = squared_error(q, target)
        norm = self.descend(self.critic_optimizer, {"critic": critic_loss})

        if self.num_updates % config.policy_delay == 0:
            actor_loss = -values(self.critics[:1], obs, self.actor(obs))[0].mean()
            actor_norm = self.descend(self.actor_optimizer, {"actor": actor_loss}, through_others=True)
            polyak_update(self.critics, self.target_critics, config.tau)
            polyak_update(self.actor, self.target_actor, config.tau)
            self._actor_figures = {"loss/actor": actor_loss, "gradient_norm/actor": actor_norm}
        return {
            "loss/critic": critic_loss,
            "q/mean": q[0],
            "q/target": target,
            "gradient_norm/critic": norm,
            "optimizer/learning_rate": self.actor_optimizer.param_groups[0]["lr"],
            **self._actor_figures,
        }

    def components(self) -> dict[str, Any]:
        names = ("actor", "critics", "target_actor", "target_critics", "actor_optimizer", "critic_optimizer", "noise")
        return {**super().components(), **{name: getattr(self, name) for name in names}}
