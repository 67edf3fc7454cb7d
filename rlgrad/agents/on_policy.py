"""What A2C, PPO and TRPO share: a policy and a value network, and rollouts of running episodes."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.base import Agent
from rlgrad.agents.config import AgentConfig, require
from rlgrad.agents.heads import CategoricalHead, make_head
from rlgrad.agents.networks import Policy, Recurrent, Sequences, cut_into_sequences, default_net, recurrent, run_net
from rlgrad.agents.returns import gae
from rlgrad.agents.rollout import Memory, Minibatch, Recording, Rollout
from rlgrad.agents.runner import action_masks
from rlgrad.envs import RewardScaler, RunningMeanStd

__all__ = ["OnPolicyAgent", "OnPolicyConfig"]


@dataclass
class OnPolicyConfig(AgentConfig):
    """Settings that agents learning from rollouts share.

    Args:
        n_steps: steps of every copy in a rollout.
        learning_rate: step size of the optimizer.
        learning_rate_end: the step size falls in a straight line to this by the end of `learn`; None keeps it.
        gae_lambda: weight of later steps in the advantage, see `rlgrad.agents.returns.gae`.
        normalize_advantages: shift and scale advantages to mean 0 and std 1 within each batch of an update.
        entropy_coef: weight of the policy's entropy, which rewards exploration.
        value_coef: weight of the value loss against the policy's.
        hidden_sizes: widths of the hidden layers of the policy and of the value network, each its own.
        activation: function between layers: tanh, relu or leaky_relu.
        recurrent: "lstm" or "gru" puts such a layer before them, so that the agent remembers; "none" does not.
        recurrent_size: width of that layer.
        log_std: initial logarithm of the policy's standard deviation, for continuous actions.
        normalize_observations: shift and scale observations by their running mean and std, clipped to +-10.
        normalize_rewards: divide rewards by the running std of their discounted sums, clipped to +-10.
        bootstrap_time_limits: where a time limit cuts an episode, count on with the value of the state it
            stopped in. False treats the limit as the end of the task, which is wrong but for comparisons.
    """

    n_steps: int = 128
    learning_rate: float = 3e-4
    learning_rate_end: float | None = None
    gae_lambda: float = 0.95
    normalize_advantages: bool = True
    entropy_coef: float = 0.0
    value_coef: float = 0.5
    max_grad_norm: float | None = 0.5
    hidden_sizes: list[int] = field(default_factory=lambda: [64, 64])
    activation: str = "tanh"
    recurrent: Literal["none", "lstm", "gru"] = "none"
    recurrent_size: int = 64
    log_std: float = 0.0
    normalize_observations: bool = False
    normalize_rewards: bool = False
    bootstrap_time_limits: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            positive=["learning_rate"],
            fractions=["gae_lambda"],
            at_least={"n_steps": 1, "recurrent_size": 1, "entropy_coef": 0, "value_coef": 0, "learning_rate_end": 0},
        )
        if self.recurrent not in ("none", "lstm", "gru"):
            raise ValueError(f"recurrent is one of none, lstm, gru, not {self.recurrent!r}.")


class _ActorCritic(nn.Module):
    def __init__(self, policy: Policy, value: nn.Module) -> None:
        super().__init__()
        self.policy = policy
        self.value = value


class OnPolicyAgent(Agent):
    """An agent that learns from what its newest policy has just done, and then throws it away.

    A subclass implements `build_optimizer` and `update`.

    Args:
        env, config, seed, num_envs, env_options, device: see `Agent`.
        policy: module from (n, obs_dim) to the parameters of the actions' distribution, as wide as the head of
            the action space; an MLP by default.
        value: module from (n, obs_dim) to (n, 1); an MLP by default.

    Attributes:
        policy, value: the networks; together they are `model`.
        head: the policy's head.
        memory: recurrent states of the running episodes.
    """

    config_class = OnPolicyConfig
    config: OnPolicyConfig

    def __init__(
        self,
        env: Any,
        config: Any = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        policy: nn.Module | None = None,
        value: nn.Module | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device)
        with rlgrad.random.fork_rng(int(self.generators["parameters"].integers(2**31))):
            head = make_head(self.envs.single_action_space, self.config.log_std)
            net = self._network(head.width, 0.01) if policy is None else policy
            self.model = _ActorCritic(Policy(net, head), self._network(1, 1.0) if value is None else value).to(device)
        # Reaching a submodule by its name costs about a microsecond, in every step of the environment.
        self.policy: Policy = self.model.policy
        self.head = head
        self.value: nn.Module = self.model.value
        self.remember_own(policy=(policy, head.width), value=(value, 1))
        self.recurrent = isinstance(net, Recurrent)
        self.observation_stats = RunningMeanStd(self.observations.shape)
        self.reward_scaler = RewardScaler(self.num_envs, self.config.gamma)
        self.memory = Memory()
        self.optimizer = self.build_optimizer()

    def _network(self, width: int, gain: float) -> nn.Module:
        config, sizes = self.config, [*self.config.hidden_sizes, width]
        if config.recurrent == "none":
            return default_net(self.observations, sizes, config.activation, gain)
        if self.observations.is_image:
            raise ValueError("A recurrent agent on images needs networks of your own: pass `policy=` and `value=`.")
        return recurrent(config.recurrent, self.observations.dim, config.recurrent_size, sizes, config.activation, gain)

    @abstractmethod
    def build_optimizer(self) -> Any:
        """The optimizer of `model`."""

    @abstractmethod
    def update(self, rollout: Rollout) -> dict[str, float]:
        """Learns from a rollout and returns figures to log."""

    def components(self) -> dict[str, Any]:
        names = ("model", "optimizer", "observation_stats", "reward_scaler", "memory")
        return {name: getattr(self, name) for name in names}

    def iterate(self) -> dict[str, float]:
        recording = self.collect()
        metrics = self.update(self.judge(recording))
        if self.config.normalize_observations:
            # After the update, so that the policy is improved on the inputs that it acted on.
            self.observation_stats.update(recording.obs.reshape(-1, *self.observations.shape))
        self.num_updates += 1
        return metrics

    def collect(self) -> Recording:
        """Plays `n_steps` steps in every copy, going on with the running episodes."""
        config, runner, obs = self.config, self.runner, self.obs
        states = self._states()
        state: Any = states.get("policy")
        recording = Recording(config.n_steps, obs, states)
        for step in range(config.n_steps):
            began = time.perf_counter()
            mask, starts = self.mask_of(self.envs, runner.infos), runner.starts
            if state is not None:
                state = self.forget(state, starts)
            actions, state = self.act_in_context(obs, self.generators["exploration"], state, mask)
            self.seconds += time.perf_counter() - began
            got = self.step(actions)
            recording.add(step, obs, starts, actions, mask, got)
            obs = got.obs
        if state is not None:
            self.memory.states["policy"] = state
        return recording

    def judge(self, recording: Recording) -> Rollout:
        """Values, log-probabilities and advantages of a recording, each network running once over all of it."""
        config, shape = self.config, recording.rewards.shape
        obs = self._flat_inputs(recording.obs)
        actions = recording.actions.reshape(-1, *recording.actions.shape[2:])
        masks = None if recording.masks is None else recording.masks.reshape(-1, recording.masks.shape[-1])
        log_probs, values = np.empty((2, len(obs)), dtype=np.float32)
        places = np.array(recording.tail_places, dtype=np.int64).reshape(-1, 2).T
        tails = self._flat_inputs(np.array([recording.tails])) if recording.tails else obs[:0]
        sequences = self._sequences(recording.starts, recording.states, np.arange(shape[1]))
        rows = sequences["policy"].index if sequences else slice(None)
        with rlgrad.no_grad():
            inputs = self.tensor(obs[rows])
            allowed = None if masks is None else masks[rows]
            parameters = self.policy(inputs, sequences.get("policy"))
            head = self.head
            log_probs[rows] = self.array(head.log_prob(parameters, self.tensor(actions[rows]), allowed))
            entropy = head.entropy(parameters, allowed).mean().item()
            if isinstance(self.value, Recurrent):
                output, after = self.value(inputs, sequences["value"])
                piece = np.empty(len(obs), dtype=np.int64)
                piece[sequences["value"].ends] = np.arange(len(sequences["value"].ends))
                pieces = piece[places[0] * shape[1] + places[1]]
                states = tuple(part[:, pieces] for part in after)
                tail_values = self.value.step(self.tensor(tails), states)[0] if len(tails) else output[:0]
                self.memory.states["value"] = tuple(part[:, sequences["value"].last] for part in after)
            else:
                output, tail_values = self.value(inputs), self.value(self.tensor(tails))
            values[rows] = self.array(output)[:, 0]
        following = np.zeros(shape, dtype=np.float32)
        following[tuple(places)] = self.array(tail_values)[:, 0]

        rewards, terminated, truncated = recording.rewards, recording.terminated, recording.truncated
        if config.normalize_rewards:
            rewards = self.reward_scaler.scale(rewards, terminated | truncated)
        if not config.bootstrap_time_limits:
            terminated = terminated | truncated
        before = values.reshape(shape)
        advantages = gae(
            rewards, before, terminated, truncated, following, following[-1], config.gamma, config.gae_lambda
        )
        return Rollout(
            obs,
            actions,
            masks,
            log_probs,
            values,
            advantages.ravel(),
            (advantages + before).ravel(),
            entropy,
            recording.starts,
            recording.states,
        )

    def minibatches(self, rollout: Rollout, batch_size: int, epochs: int = 1) -> Iterator[Minibatch]:
        """The rows of a rollout in random order, `batch_size` at a time, `epochs` times over.

        A recurrent agent gets whole copies of the environment, as many as hold about `batch_size` rows.
        """
        generator, rows, copies = self.generators["minibatch"], len(rollout.obs), self.num_envs
        if not self.recurrent:
            if batch_size >= rows:
                whole = self._minibatch(rollout, np.arange(rows), {}, 0)
                yield from (whole._replace(epoch=epoch) for epoch in range(epochs))
                return
            for epoch in range(epochs):
                order = generator.permutation(rows)
                for start in range(0, rows, batch_size):
                    yield self._minibatch(rollout, order[start : start + batch_size], {}, epoch)
            return
        number = max(1, batch_size * copies // rows)
        for epoch in range(epochs):
            order = generator.permutation(copies)
            for start in range(0, copies, number):
                sequences = self._sequences(rollout.starts, rollout.states, order[start : start + number])
                yield self._minibatch(rollout, sequences["policy"].index, sequences, epoch)

    def values_of(self, batch: Minibatch) -> Tensor:
        """(n, 1) values of a minibatch under the newest value network."""
        return run_net(self.value, batch.obs, batch.sequences.get("value"))

    def summary(self, rollout: Rollout, names: Sequence[str], figures: Sequence[Sequence[float]]) -> dict[str, float]:
        """The means of an update's figures, with how well the values explained the returns."""
        spread = float(rollout.returns.var())
        explained = 1.0 - float((rollout.returns - rollout.values).var()) / spread if spread else 0.0
        means = np.mean(figures, axis=0).tolist() if figures else [0.0] * len(names)
        return {
            **dict(zip(names, means, strict=True)),
            "policy/entropy": rollout.entropy,
            "value/explained_variance": explained,
            "optimizer/learning_rate": self.optimizer.param_groups[0]["lr"],
        }

    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        return self.act_in_context(encoded, generator, None, None)[0]

    def act_in_context(
        self, encoded: np.ndarray, generator: np.random.Generator | None, state: Any, mask: np.ndarray | None
    ) -> tuple[np.ndarray, Any]:
        net = self.policy.net
        with rlgrad.no_grad():
            inputs = self.tensor(self._inputs(encoded))
            if isinstance(net, Recurrent):
                output, state = net.step(inputs, net.initial_state(len(encoded)) if state is None else state)
            else:
                output = net(inputs)
        return self.head.draw(self.array(output), generator, mask), state

    def forget(self, state: Any, starts: np.ndarray) -> Any:
        if not starts.any():
            return state
        kept = (~starts).astype(np.float32)[None, :, None]
        return tuple(part * kept for part in state)

    def mask_of(self, envs: Any, infos: dict[str, Any]) -> np.ndarray | None:
        return action_masks(envs, infos) if isinstance(self.head, CategoricalHead) else None

    def values(self, encoded: np.ndarray) -> np.ndarray:
        """(n,) values of encoded observations (n, ...) at the start of an episode, in units of the (scaled) return."""
        with rlgrad.no_grad():
            inputs = self.tensor(self._inputs(encoded))
            if isinstance(self.value, Recurrent):
                return self.array(self.value.step(inputs, self.value.initial_state(len(encoded)))[0])[:, 0]
            return self.array(self.value(inputs))[:, 0]

    def _inputs(self, encoded: np.ndarray) -> np.ndarray:
        return self.observation_stats.normalize(encoded) if self.config.normalize_observations else encoded

    def _flat_inputs(self, obs: np.ndarray) -> np.ndarray:
        return self._inputs(obs.reshape(-1, *obs.shape[2:]))

    def _states(self) -> dict[str, tuple[np.ndarray, ...]]:
        """The recurrent states of the running episodes; zeros before the first."""
        nets = {"policy": self.policy.net, "value": self.value}
        kept = self.memory.states
        return {
            name: kept[name] if name in kept else net.initial_state(self.num_envs)
            for name, net in nets.items()
            if isinstance(net, Recurrent)
        }

    def _sequences(
        self, starts: np.ndarray, states: dict[str, tuple[np.ndarray, ...]], copies: np.ndarray
    ) -> dict[str, Sequences]:
        return {name: cut_into_sequences(starts, state, copies) for name, state in states.items()}

    def _minibatch(self, rollout: Rollout, rows: np.ndarray, sequences: dict[str, Sequences], epoch: int) -> Minibatch:
        advantages = rollout.advantages.take(rows)
        if self.config.normalize_advantages and len(advantages) > 1:
            advantages -= advantages.mean()
            advantages /= math.sqrt(advantages.dot(advantages) / len(advantages)) + 1e-8
        return Minibatch(
            self.tensor(rollout.obs.take(rows, axis=0)),
            self.tensor(rollout.actions.take(rows, axis=0)),
            None if rollout.masks is None else rollout.masks.take(rows, axis=0),
            self.tensor(rollout.log_probs.take(rows)),
            self.tensor(rollout.values.take(rows)[:, None]),
            self.tensor(advantages),
            self.tensor(rollout.returns.take(rows)[:, None]),
            sequences,
            epoch,
        )
