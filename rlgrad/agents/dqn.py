"""Deep Q-learning with the improvements that together make Rainbow, each a setting of its own.

Source: Mnih et al., Human-Level Control through Deep Reinforcement Learning (2015); van Hasselt, Guez and Silver,
Deep Reinforcement Learning with Double Q-learning (2016); Wang et al., Dueling Network Architectures (2016); Hessel
et al., Rainbow (2018). The parts' own papers are named where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.buffers import PrioritizedReplay, ReplayBuffer, Transitions
from rlgrad.agents.config import require
from rlgrad.agents.exploration import NoisyLinear
from rlgrad.agents.objectives import huber_of_chosen
from rlgrad.agents.off_policy import OffPolicyAgent, OffPolicyConfig, target_of
from rlgrad.agents.offline import Dataset
from rlgrad.agents.projections import project_categorical, quantile_huber_loss
from rlgrad.optim import polyak_update
from rlgrad.training.schedules import Linear

__all__ = ["DQN", "DQNConfig"]

_ROWS_PER_FORWARD = 512
"""States that the target network is shown at once: what its layers compute stays in the cache."""


@dataclass
class DQNConfig(OffPolicyConfig):
    """Settings of `DQN`; with `rainbow()` all improvements are on.

    Args:
        num_envs, gamma, solved_return, solved_episodes, learning_rate, learning_rate_end, hidden_sizes,
            activation, buffer_size, learning_starts, batch_size, train_freq, gradient_steps, n_steps,
            max_grad_norm, normalize_observations, hindsight_goals: as `OffPolicyConfig`.
        double: the network in training chooses the next action, the target network values it.
        dueling: the network puts out the state's value and the actions' advantages.
        prioritized: draw transitions with large errors more often.
        priority_alpha: 0 for uniform draws, 1 for draws in proportion to the error.
        priority_beta: how far weights undo the bias of the draws at first; it grows to 1.
        priority_beta_steps: environment steps until it is 1.
        distribution: what is learned of the return: its "mean", a "categorical" distribution (C51) or
            "quantile" values (QR-DQN).
        atoms: atoms or quantiles of it.
        v_min, v_max: ends of the categorical support, in units of return.
        noisy: explore by learned noise in the network, besides epsilon.
        noisy_sigma: its initial size.
        exploration_initial, exploration_final: chance of a random action at first and in the end.
        exploration_steps: environment steps in which it falls from one to the other.
        target_update_interval: environment steps between two updates of the target network.
        tau: how far the target network goes towards the other then; 1 copies it.
    """

    learning_rate: float = 1e-4
    hidden_sizes: list[int] = field(default_factory=lambda: [64, 64])
    batch_size: int = 32
    train_freq: int = 4
    max_grad_norm: float | None = 10.0
    double: bool = True
    dueling: bool = False
    prioritized: bool = False
    priority_alpha: float = 0.6
    priority_beta: float = 0.4
    priority_beta_steps: int = 100_000
    distribution: Literal["mean", "categorical", "quantile"] = "mean"
    atoms: int = 51
    v_min: float = -10.0
    v_max: float = 10.0
    noisy: bool = False
    noisy_sigma: float = 0.5
    exploration_initial: float = 1.0
    exploration_final: float = 0.05
    exploration_steps: int = 10_000
    target_update_interval: int = 10_000
    tau: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        fractions = ["tau", "exploration_initial", "exploration_final", "priority_alpha", "priority_beta"]
        counts = ("exploration_steps", "target_update_interval", "priority_beta_steps")
        require(self, ["noisy_sigma"], fractions, {**dict.fromkeys(counts, 1), "atoms": 2})
        if self.distribution not in ("mean", "categorical", "quantile"):
            raise ValueError(f"distribution must be mean, categorical or quantile, got {self.distribution!r}.")
        if self.prioritized and self.hindsight_goals:
            raise ValueError("prioritized must be off with hindsight_goals: a priority belongs to one goal.")
        if not self.v_min < self.v_max:
            raise ValueError(f"v_min must be below v_max, got {self.v_min} and {self.v_max}.")

    @classmethod
    def rainbow(cls, **settings: Any) -> DQNConfig:
        """All improvements on, with three-step returns; `settings` go on top."""
        on = dict.fromkeys(("double", "dueling", "prioritized", "noisy"), True)
        exploration = {"exploration_initial": 0.0, "exploration_final": 0.0}
        return cls(**{**on, "distribution": "categorical", "n_steps": 3, **exploration, **settings})


class DQN(OffPolicyAgent):
    """Deep Q-learning for Discrete actions.

    Args:
        env, config, seed, num_envs, env_options, device: as `Agent`.
        optimizer: `name` and further keyword options for `rlgrad.optim.make`; Adam by default.
        dataset: recorded steps to learn from instead of the environment, as `read_dataset` takes them.
        q_network: a module of your own from encoded observations (n, ...) to (n, outputs), where outputs is
            the number of actions, one more if `dueling`, times `atoms` for distributions. The dueling value
            comes first. Noise inside it is yours.

    Example:
        >>> config = DQNConfig(hidden_sizes=[32], learning_starts=64, prioritized=True, n_steps=3)
        >>> DQN("CartPole-v1", config, seed=0).learn(128).num_updates
        16
    """

    config_class = DQNConfig
    config: DQNConfig

    def __init__(
        self,
        env: Any,
        config: DQNConfig | None = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        optimizer: dict[str, Any] | None = None,
        dataset: Dataset | None = None,
        q_network: nn.Module | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device, optimizer, dataset)
        config = self.config
        if not self.actions.discrete:
            raise TypeError(
                f"DQN chooses among Discrete actions, got {self.actions.space}: use SAC or TD3 for a bounded Box, PPO or A2C for others."
            )
        if config.prioritized and dataset is not None:
            raise ValueError("prioritized is for steps of the agent's own: turn it off to learn from a data set.")
        self.width = 1 if config.distribution == "mean" else config.atoms
        self.remember_own(q_network=(q_network, (self.actions.dim + config.dueling) * self.width))
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            net = self._default_network() if q_network is None else q_network
        self.q_network = net.to(device).eval()
        self.target_network = target_of(self.q_network)
        self.noisy_layers = [
            layer
            for network in (self.q_network, self.target_network)
            for layer in network.modules()
            if isinstance(layer, NoisyLinear)
        ]
        self.optimizer = self.make_optimizer(self.q_network)
        self.support = self.tensor(np.linspace(config.v_min, config.v_max, config.atoms, dtype=np.float32))
        self._epsilon = Linear(config.exploration_initial, config.exploration_final)
        self._beta = Linear(config.priority_beta, 1.0)
        self._moved = True

    @property
    def epsilon(self) -> float:
        """The chance of a random action at this step."""
        return self._epsilon(self.num_timesteps / self.config.exploration_steps)

    def outputs(self, network: nn.Module, obs: Tensor) -> Tensor:
        """What a network says of each action: (n, actions) values, or (n, actions, atoms) logits or quantiles."""
        out = network(obs)
        if self.width > 1:
            out = out.reshape(len(obs), -1, self.width)
        if not self.config.dueling:
            return out
        advantage = out[:, 1:]
        return out[:, :1] + advantage - advantage.mean(1, keepdim=True)

    def q_values(self, network: nn.Module, obs: Tensor) -> Tensor:
        """(n, actions) expected returns."""
        return self.expected(self.outputs(network, obs))

    def expected(self, outputs: Tensor) -> Tensor:
        """(n, actions) expected returns of what `outputs` gave."""
        if self.config.distribution == "mean":
            return outputs
        if self.config.distribution == "quantile":
            return outputs.mean(2)
        return outputs.softmax(2) @ self.support

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        number, epsilon = len(encoded), self.epsilon
        if generator is None:
            return self._greedy(encoded, noisy=False)
        chance, choice = generator.random((2, number))
        explore, actions = chance < epsilon, (choice * self.actions.dim).astype(np.int64)
        if False in explore.tolist():
            self._reset_noise(generator)
            actions = np.where(explore, actions, self._greedy(encoded, noisy=True))
        return actions

    def collect(self) -> None:
        before = self.num_timesteps
        super().collect()
        interval = self.config.target_update_interval
        # A hard update between two rounds of training copies what is already there.
        if self.num_timesteps // interval > before // interval and (self._moved or self.config.tau < 1.0):
            polyak_update(self.q_network, self.target_network, self.config.tau)
            self._moved = False

    def prepare(self, drawn: Transitions) -> None:
        # The target network rests during a round of updates; noise alone is new in every one.
        if self.noisy_layers:
            return
        if self.config.hindsight_goals or len(drawn.index) == self.config.batch_size:
            drawn.following = self._following(drawn.next_obs)
            return
        # From a small memory many transitions are drawn more than once; with hindsight each time has its own goal.
        distinct, place = np.unique(drawn.index, return_inverse=True)
        rows = np.empty_like(distinct)
        rows[place] = np.arange(len(place))
        drawn.following = self._following(drawn.next_obs.take(rows, axis=0)).take(place, axis=0)

    def update(self, batch: Transitions) -> dict[str, Any]:
        config, weights = self.config, batch.weights
        obs = self.inputs(batch.obs)
        self._reset_noise(self.generators["minibatch"])
        self._moved = True

        following = self._following(batch.next_obs) if batch.following is None else batch.following
        with rlgrad.no_grad():
            if config.double:
                judge = self.q_values(self.q_network, self.inputs(batch.next_obs))
            else:
                judge = self.expected(self.tensor(following))
        rows, best = np.arange(len(batch.index)), self.array(judge).argmax(1)
        following_best = following[rows, best]
        outputs = self.outputs(self.q_network, obs)

        if config.distribution == "mean":
            targets = batch.rewards + batch.discounts * following_best
            chosen = self.array(outputs)[rows, batch.actions]
            errors = targets - chosen
            importance = None if weights is None else self.tensor(weights)
            loss = huber_of_chosen(outputs, self.tensor(batch.actions), self.tensor(targets), importance)
        else:
            index = self.tensor(batch.actions).reshape(-1, 1, 1).expand(-1, 1, config.atoms)
            picked = outputs.gather(1, index).squeeze(1)
            if config.distribution == "quantile":
                targets = batch.rewards[:, None] + batch.discounts[:, None] * following_best
                losses = quantile_huber_loss(picked, self.tensor(targets))
                chosen = picked.detach()
            else:
                probabilities = np.exp(following_best - following_best.max(1, keepdims=True))
                probabilities /= probabilities.sum(1, keepdims=True)
                support = (config.v_min, config.v_max)
                targets = project_categorical(probabilities, batch.rewards, batch.discounts, *support)
                losses = -(self.tensor(targets) * picked.log_softmax(1)).sum(1)
                chosen = picked.detach().softmax(1) @ self.support
            errors = self.array(losses)
            loss = (losses if weights is None else losses * self.tensor(weights)).mean()
        norm = self.descend(self.optimizer, {"q": loss})

        if isinstance(self.buffer, PrioritizedReplay):
            self.buffer.update_priorities(batch.index, errors)
            self.buffer.beta = self._beta(self.num_timesteps / config.priority_beta_steps)
        return {
            "loss/q": loss,
            "q/mean": chosen,
            "optimizer/gradient_norm": norm,
            "exploration/epsilon": self.epsilon,
            "optimizer/learning_rate": self.optimizer.param_groups[0]["lr"],
        }

    def make_buffer(self) -> ReplayBuffer:
        config = self.config
        if not config.prioritized:
            return super().make_buffer()
        return PrioritizedReplay(**self.buffer_layout(), alpha=config.priority_alpha, beta=config.priority_beta)

    def components(self) -> dict[str, Any]:
        names = ("q_network", "target_network", "optimizer")
        return {**super().components(), **{name: getattr(self, name) for name in names}}

    def _following(self, next_obs: np.ndarray) -> np.ndarray:
        """What the target network says of each action in the states that followed."""
        pieces = []
        with rlgrad.no_grad():
            for start in range(0, len(next_obs), _ROWS_PER_FORWARD):
                inputs = self.inputs(next_obs[start : start + _ROWS_PER_FORWARD])
                pieces.append(self.array(self.outputs(self.target_network, inputs)))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _greedy(self, encoded: np.ndarray, noisy: bool) -> np.ndarray:
        if self.noisy_layers:
            self.q_network.train(noisy)
        with rlgrad.no_grad():
            values = self.array(self.q_values(self.q_network, self.inputs(encoded)))
        if self.noisy_layers:
            self.q_network.eval()
        return values.argmax(1)

    def _reset_noise(self, generator: np.random.Generator) -> None:
        for layer in self.noisy_layers:
            layer.reset_noise(generator)

    def _default_network(self) -> nn.Sequential:
        net = self.make_net(0, (self.actions.dim + self.config.dueling) * self.width)
        if not self.config.noisy:
            return net
        return nn.Sequential(
            *[
                NoisyLinear(layer.in_features, layer.out_features, self.config.noisy_sigma)
                if isinstance(layer, nn.Linear)
                else layer
                for layer in net
            ]
        )
