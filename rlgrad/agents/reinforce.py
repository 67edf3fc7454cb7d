"""REINFORCE: the Monte-Carlo policy gradient.

Source: Williams, Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning
(1992); Sutton and Barto, Reinforcement Learning (2018), sections 13.3 and 13.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rlgrad
from rlgrad import nn, optim
from rlgrad.agents.base import Agent
from rlgrad.agents.config import AgentConfig, require
from rlgrad.agents.episodes import play_episodes
from rlgrad.agents.heads import make_head
from rlgrad.agents.networks import Policy, default_net
from rlgrad.agents.returns import gae, reward_to_go
from rlgrad.envs import EnvFactory, RunningMeanStd

__all__ = ["Batch", "Reinforce", "ReinforceConfig"]


@dataclass
class ReinforceConfig(AgentConfig):
    """Settings of `Reinforce`, beside those of every agent.

    Args:
        learning_rate: step size of the policy's optimizer.
        batch_steps: new episodes are started until a batch holds this many steps; every started one is
            finished.
        hidden_sizes: widths of the hidden layers of the policy and of the baseline.
        activation: function between layers: tanh, relu or leaky_relu.
        normalize_returns: shift and scale the batch's advantages (returns, without a baseline) to mean 0 and
            std 1.
        normalize_observations: shift and scale observations by their running mean and std.
        entropy_coef: weight of the policy's entropy, which rewards exploration.
        baseline: learn the value of states, subtract it from returns, and continue truncated episodes with
            it. Without one a time limit counts as the end of the task: the return of a truncated episode is
            the sum of the rewards that were seen.
        gae_lambda: 1 for the advantage of REINFORCE with a baseline, return minus value; less trusts the values more,
            see `rlgrad.agents.gae`.
        baseline_learning_rate: step size of the baseline's optimizer.
        baseline_epochs: passes over the batch in which the baseline is fitted.
        baseline_batch_size: rows per step of that fit.
        log_std: initial logarithm of the policy's standard deviation, for continuous actions.
        solved_return: as in every agent, but by default the environment's own reward threshold stops training.
    """

    learning_rate: float = 1e-2
    batch_steps: int = 2000
    hidden_sizes: list[int] = field(default_factory=lambda: [64, 64])
    activation: str = "tanh"
    normalize_returns: bool = True
    normalize_observations: bool = False
    entropy_coef: float = 0.0
    max_grad_norm: float | None = 0.5
    baseline: bool = True
    gae_lambda: float = 1.0
    baseline_learning_rate: float = 3e-3
    baseline_epochs: int = 4
    baseline_batch_size: int = 256
    log_std: float = 0.0
    solved_return: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            positive=["learning_rate", "baseline_learning_rate"],
            fractions=["gae_lambda"],
            at_least={"batch_steps": 1, "baseline_epochs": 1, "baseline_batch_size": 1},
        )
        if self.gae_lambda < 1 and not self.baseline:
            raise ValueError(
                f"gae_lambda below 1 needs the baseline's values, got {self.gae_lambda} with baseline=False."
            )


@dataclass
class Batch:
    """The steps of whole episodes, in no particular order.

    Attributes:
        obs: (n, obs_dim) encoded observations, not normalised.
        actions: (n,) indices or (n, action_dim) numbers, as the policy drew them.
        returns: (n,) discounted reward-to-go.
        values: (n,) of the baseline; zeros without one.
        advantages: (n,) returns minus values, or generalised advantage estimates.
        episode_returns: (episodes,) undiscounted sums of rewards.
        episode_lengths: (episodes,) steps.
        steps: environment steps taken to collect the batch, those of copies that waited for the last one
            included.
    """

    obs: np.ndarray
    actions: np.ndarray
    returns: np.ndarray
    values: np.ndarray
    advantages: np.ndarray
    episode_returns: np.ndarray
    episode_lengths: np.ndarray
    steps: int


class Reinforce(Agent):
    """REINFORCE over vector environments, with an optional learned baseline.

    Every update plays whole episodes from fresh resets with the newest policy, takes one gradient step on
    `-log pi(a|s) * advantage` and fits the baseline. The resets are seeded from a generator that the agent
    owns, so a run that is saved after an update and loaded again is the run that was not stopped, in every
    environment whose course depends on its reset seed alone.

    Args:
        env: registered Gymnasium id, or a function that builds one environment.
        config: settings; None for the defaults.
        seed: start of every random stream of the run, non-negative.
        num_envs: copies of the environment that are stepped together.
        env_options: keyword arguments of the environment itself.
        device: "cpu" or "cuda", where the networks live.
        optimizer: `name` and further keyword options for `rlgrad.optim.make`; Adam by default.
        policy: module of your own from (n, ...) to the parameters of the actions' distribution.
        value: module of your own from (n, ...) to (n, 1), for the baseline.

    Example:
        >>> agent = Reinforce("CartPole-v1", seed=0).learn(300_000)
        >>> agent.evaluate(episodes=100).mean >= 475
        True
    """

    config_class = ReinforceConfig
    config: ReinforceConfig
    check_every = 0

    def __init__(
        self,
        env: str | EnvFactory,
        config: ReinforceConfig | None = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        optimizer: dict[str, Any] | None = None,
        policy: nn.Module | None = None,
        value: nn.Module | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device)
        config = self.config
        self.optimizer_options = {"name": "adam", **(optimizer or {})}
        head = make_head(self.envs.single_action_space, config.log_std)
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            net = self._network(head.width, 0.01) if policy is None else policy
            self.policy = Policy(net, head).to(device)
            baseline = self._network(1, 1.0) if value is None and config.baseline else value
            self.baseline = baseline.to(device) if baseline is not None and config.baseline else None
        self.remember_own(policy=(policy, head.width), value=(value, 1))
        options = self.optimizer_options
        self.optimizer = optim.make(params=self.policy.parameters(), lr=config.learning_rate, **options)
        if self.baseline is not None:
            self.baseline_optimizer = optim.make(
                params=self.baseline.parameters(), lr=config.baseline_learning_rate, **options
            )
        self.observation_stats = RunningMeanStd(self.observations.shape)
        self.return_stats = RunningMeanStd()

    def _network(self, width: int, gain: float) -> nn.Module:
        return default_net(self.observations, [*self.config.hidden_sizes, width], self.config.activation, gain)

    @property
    def num_episodes(self) -> int:
        """Episodes finished since the agent's creation."""
        return self.runner.tracker.finished

    def iterate(self) -> dict[str, float]:
        batch = self.collect()
        return {
            "rollout/return": float(batch.episode_returns.mean()),
            "rollout/length": float(batch.episode_lengths.mean()),
            **self.update(batch),
        }

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        with rlgrad.no_grad():
            output = self.array(self.policy.net(self.tensor(self._normalize(encoded))))
        return self.policy.head.draw(output, generator, None)

    def values(self, encoded: np.ndarray) -> np.ndarray:
        """(n,) values of encoded observations (n, obs_dim), in units of return; zeros without a baseline."""
        if self.baseline is None:
            return np.zeros(len(encoded), dtype=np.float32)
        with rlgrad.no_grad():
            output = self.array(self.baseline(self.tensor(self._normalize(encoded))))[:, 0]
        return output * np.float32(self.return_stats.std) + np.float32(self.return_stats.mean)

    def collect(self) -> Batch:
        """Plays whole episodes from fresh resets until `batch_steps` steps are in the batch."""
        episodes = play_episodes(
            self.envs,
            lambda encoded: self.act(encoded, self.generators["exploration"]),
            self.observations.encode,
            self.actions.to_env,
            self.config.batch_steps,
            seed=int(self.generators["environment"].integers(2**31 - 1)),
            first_step=self.num_timesteps,
            name=self.env_name,
        )
        final_values = np.zeros(episodes.rewards.shape, dtype=np.float32)
        final_values[tuple(episodes.cut_at.T)] = self.values(episodes.cut_obs)
        rewards, terminated, truncated = episodes.rewards, episodes.terminated, episodes.truncated
        kept, sums, lengths = episodes.kept, episodes.sums(), episodes.lengths()
        returns = reward_to_go(rewards, terminated, truncated, final_values, self.config.gamma)[kept]
        obs = episodes.obs[kept]
        values = self.values(obs)
        advantages = returns - values
        if self.config.gae_lambda < 1:
            before = np.zeros(rewards.shape, dtype=np.float32)
            before[kept] = values
            # Copies are kept to the end of an episode, so what follows the last row is never read.
            estimates = gae(
                rewards,
                before,
                terminated,
                truncated,
                final_values,
                before[-1],
                self.config.gamma,
                self.config.gae_lambda,
            )
            advantages = estimates[kept]
        self.num_timesteps += kept.size
        self.runner.tracker.finished += len(sums)
        return Batch(obs, episodes.actions[kept], returns, values, advantages, sums, lengths, kept.size)

    def update(self, batch: Batch) -> dict[str, float]:
        """One step of the policy on the batch, and a fit of the baseline to its returns.

        Returns:
            Figures for the logger, under "group/name".
        """
        config, returns = self.config, batch.returns
        obs, actions = self.tensor(self._normalize(batch.obs)), self.tensor(batch.actions)
        values, advantage = batch.values, batch.advantages
        if config.normalize_returns:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        output = self.policy(obs)
        log_prob = self.policy.head.log_prob(output, actions)
        entropy = self.policy.head.entropy(output).mean()
        policy_loss = -(log_prob * self.tensor(advantage)).mean()
        loss = policy_loss - config.entropy_coef * entropy
        metrics = {
            "optimizer/gradient_norm": self.descend(self.optimizer, {"policy": loss}),
            "optimizer/learning_rate": self.optimizer.param_groups[0]["lr"],
            "loss/policy": policy_loss.item(),
            "policy/entropy": entropy.item(),
        }

        if self.baseline is not None:
            # Returns in units of their running std let one step size fit every reward scale.
            self.return_stats.update(returns)
            target = self.tensor((returns - self.return_stats.mean) / self.return_stats.std)
            losses = []
            for _ in range(config.baseline_epochs):
                order = self.generators["minibatch"].permutation(len(returns))
                for start in range(0, len(returns), config.baseline_batch_size):
                    index = self.tensor(order[start : start + config.baseline_batch_size])
                    error = self.baseline(obs[index]).squeeze(-1) - target[index]
                    baseline_loss = (error * error).mean()
                    self.descend(self.baseline_optimizer, {"baseline": baseline_loss})
                    losses.append(baseline_loss.item())
            metrics["loss/baseline"] = float(np.mean(losses))
            spread = float(returns.var())
            metrics["value/explained_variance"] = 1 - float((returns - values).var()) / spread if spread else 0.0
        if config.normalize_observations:
            self.observation_stats.update(batch.obs)
        self.num_updates += 1
        return metrics

    def components(self) -> dict[str, Any]:
        names = ["policy", "optimizer", "observation_stats", "return_stats"]
        names += [] if self.baseline is None else ["baseline", "baseline_optimizer"]
        return {name: getattr(self, name) for name in names}

    def _constructor_options(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer_options}

    def _normalize(self, encoded: np.ndarray) -> np.ndarray:
        return self.observation_stats.normalize(encoded) if self.config.normalize_observations else encoded
