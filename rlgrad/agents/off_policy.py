"""What agents with a replay memory share: collecting steps, drawing batches, saving both."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from rlgrad import Tensor, nn, optim
from rlgrad.agents.base import Agent
from rlgrad.agents.buffers import ReplayBuffer, Transitions
from rlgrad.agents.config import AgentConfig, require
from rlgrad.agents.exploration import NoisyLinear
from rlgrad.agents.her import Goals, HindsightReplay
from rlgrad.agents.networks import image_net, mlp
from rlgrad.agents.offline import Dataset, read_dataset, record
from rlgrad.envs import RunningMeanStd
from rlgrad.training.schedules import Linear

__all__ = ["OffPolicyAgent", "OffPolicyConfig"]


@dataclass
class OffPolicyConfig(AgentConfig):
    """Settings of agents that learn from a replay memory.

    Args:
        num_envs, gamma, solved_return, solved_episodes, max_grad_norm: as `AgentConfig`.
        learning_rate: step size of every optimizer.
        learning_rate_end: it falls in a straight line to this by the end of `learn`; None keeps it.
        hidden_sizes: widths of the hidden layers of each network.
        activation: function between layers: relu, tanh or leaky_relu.
        buffer_size: transitions that the replay memory keeps.
        learning_starts: environment steps with random actions before the first update.
        batch_size: transitions in one update.
        train_freq: steps of the vector environment between two rounds of updates.
        gradient_steps: updates in a round; -1 for as many as environment steps were taken.
        n_steps: rewards that are summed before the value function takes over.
        normalize_observations: shift and scale observations by their running mean and std.
        hindsight_goals: in goal environments, transitions drawn with a goal that was reached later on for each
            one with its own goal; 0 for plain replay.
    """

    num_envs: int = 1
    learning_rate: float = 3e-4
    learning_rate_end: float | None = None
    hidden_sizes: list[int] = field(default_factory=lambda: [256, 256])
    activation: str = "relu"
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 256
    train_freq: int = 1
    gradient_steps: int = 1
    n_steps: int = 1
    normalize_observations: bool = False
    hindsight_goals: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        least: dict[str, float] = dict.fromkeys(("buffer_size", "batch_size", "train_freq", "n_steps"), 1)
        require(
            self,
            ["learning_rate"],
            at_least={**least, "learning_starts": 0, "hindsight_goals": 0, "learning_rate_end": 0},
        )
        if self.gradient_steps < 1 and self.gradient_steps != -1:
            raise ValueError(f"gradient_steps must be at least 1, or -1, got {self.gradient_steps}.")


class OffPolicyAgent(Agent):
    """An agent that learns from a replay memory.

    Given a data set instead, it takes no steps of its own: `learn(n)` then makes n updates. A checkpoint leaves the
    data set out; to go on learning, give it to `load` too.

    A subclass builds its networks, implements `act` (exploring, when given a generator), `update` and
    `components`, and extends the components of this class.
    """

    config_class = OffPolicyConfig
    config: OffPolicyConfig
    log_every = 1000
    figures_every: ClassVar[int] = 100
    """Environment steps between two reports of what an update saw; forming the means takes time."""

    def __init__(
        self,
        env: Any,
        config: Any = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
        optimizer: dict[str, Any] | None = None,
        dataset: Dataset | None = None,
    ) -> None:
        super().__init__(env, config, seed, num_envs, env_options, device)
        self.optimizer_options = {"name": "adam", **(optimizer or {})}
        self.observation_stats = RunningMeanStd(self.observations.shape)
        self.optimizers: list[Any] = []
        self.offline = dataset is not None
        if dataset is None:
            self.buffer = self.make_buffer()
        else:
            self.buffer = record(read_dataset(dataset), self.observations, self.actions, self.buffer_layout())
            if self.config.normalize_observations:
                self.observation_stats.update(self.buffer.obs)
        self._next_figures = 0
        self._modal: list[nn.Module] | None = None

    @abstractmethod
    def update(self, batch: Transitions) -> dict[str, Any]:
        """One step of every optimizer on `batch`.

        Returns:
            Figures to log, under "group/name"; tensors and arrays stand for their mean.
        """

    def prepare(self, drawn: Transitions) -> None:
        """Adds to the batches of one round what stays the same all through it, before the first `update` sees any.

        Args:
            drawn: one batch or several together.
        """

    def iterate(self) -> dict[str, float]:
        config = self.config
        before = self.num_timesteps
        if self.offline:
            if not len(self.buffer):
                raise ValueError("There is nothing to learn from: give the data set to `load` with `dataset=`.")
            # No other steps are taken, so an update counts as one.
            self.num_timesteps += max(config.gradient_steps, 1)
        else:
            for _ in range(config.train_freq):
                self.collect()
            if self.num_timesteps <= config.learning_starts:
                return {}
        count = config.gradient_steps if config.gradient_steps > 0 else self.num_timesteps - before
        if config.learning_rate_end is not None:
            rate = Linear(config.learning_rate, config.learning_rate_end)(self.progress)
            for optimizer in self.optimizers:
                optimizer.param_groups[0]["lr"] = rate
        figures: dict[str, Any] = {}
        # Dropout and the like are for updates alone: who acts does so in evaluation mode.
        for network in self._networks():
            network.train()
        for batch in self.buffer.batches(count, config.batch_size, self.generators["minibatch"], self.prepare):
            figures = self.update(batch)
            self.num_updates += 1
        for network in self._networks():
            network.eval()
        if self.num_timesteps < self._next_figures:
            return {}
        self._next_figures = self.num_timesteps + self.figures_every
        return {**{name: mean_of(value) for name, value in figures.items()}, **self.buffer.metrics()}

    def collect(self) -> None:
        """Takes one step in every copy and stores it."""
        obs, began = self.obs, time.perf_counter()
        generator = self.generators["exploration"]
        if self.num_timesteps < self.config.learning_starts:
            actions = self.actions.sample(self.num_envs, generator)
        else:
            actions = self.explore(obs, generator)
        self.seconds += time.perf_counter() - began
        step = self.step(actions)
        self.buffer.add(obs, actions, step.rewards, step.next_obs, step.terminated, step.truncated)
        if self.config.normalize_observations:
            self.observation_stats.update(obs)

    def explore(self, encoded: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The actions to take in the running episodes."""
        return self.act(encoded, generator)

    def make_buffer(self) -> ReplayBuffer:
        """An empty replay memory for the settings."""
        if self.config.hindsight_goals:
            return HindsightReplay(
                Goals.of(self.envs, self.observations), self.config.hindsight_goals, **self.buffer_layout()
            )
        return ReplayBuffer(**self.buffer_layout())

    def buffer_layout(self) -> dict[str, Any]:
        """The arguments that every kind of replay memory takes."""
        return {
            "capacity": self.config.buffer_size,
            "num_envs": self.num_envs,
            "obs_shape": self.observations.shape,
            "obs_dtype": self.observations.dtype,
            "action_shape": self.actions.shape,
            "action_dtype": self.actions.dtype,
            "n_steps": self.config.n_steps,
            "gamma": self.config.gamma,
        }

    def make_net(self, extra_inputs: int, outputs: int) -> nn.Sequential:
        """A network from observations, and `extra_inputs` numbers beside each, to `outputs`.

        Raises:
            TypeError: observations are images and there are extra inputs.
        """
        codec, sizes = self.observations, [*self.config.hidden_sizes, outputs]
        if not codec.is_image:
            return mlp([codec.dim + extra_inputs, *sizes], self.config.activation, orthogonal=False)
        if extra_inputs:
            raise TypeError("There is no default critic of images with continuous actions: pass `critics=`.")
        return image_net(codec.shape, sizes, self.config.activation)

    def inputs(self, obs: np.ndarray) -> Tensor:
        """Encoded observations (n, ...) as the networks want them: normalised if so set, images as bytes."""
        return self.tensor(self.observation_stats.normalize(obs) if self.config.normalize_observations else obs)

    def make_optimizer(self, *modules: nn.Module) -> Any:
        """The optimizer of the settings over the parameters of `modules`."""
        parameters = [parameter for module in modules for parameter in module.parameters()]
        made = optim.make(params=parameters, lr=self.config.learning_rate, **self.optimizer_options)
        self.optimizers.append(made)
        return made

    def components(self) -> dict[str, Any]:
        own: dict[str, Any] = {"observation_stats": self.observation_stats}
        return own if self.offline else {"buffer": self.buffer, **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.offline = "buffer" not in state["components"]
        super().load_state_dict(state)

    def _networks(self) -> list[nn.Module]:
        """The networks in training that have more than one mode, such as those with dropout."""
        if self._modal is None:
            owned = [part for name, part in self.components().items() if not name.startswith("target_")]
            self._modal = [part for part in owned if isinstance(part, nn.Module) and has_modes(part)]
        return self._modal

    def _constructor_options(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer_options}


_ONE_MODE = (nn.Sequential, nn.ModuleList, nn.Linear, nn.Conv2d, nn.Flatten, nn.ReLU, nn.Tanh, nn.LeakyReLU)


def has_modes(network: nn.Module) -> bool:
    """Whether a network may compute differently in training and in evaluation."""
    return any(not isinstance(layer, _ONE_MODE) for layer in network.modules() if not list(layer.children()))


def target_of(network: nn.Module) -> nn.Module:
    """A copy of a network that follows it, gets no gradients, and stays in evaluation mode but for its noise."""
    target = copy.deepcopy(network).eval()
    for layer in target.modules():
        if isinstance(layer, NoisyLinear):
            layer.train()
    for parameter in target.parameters():
        parameter.requires_grad_(False)
    return target


def require_bounded(space: spaces.Space[Any], name: str) -> None:
    """Raises unless actions are continuous with bounds, which a squashed policy needs."""
    if not isinstance(space, spaces.Box) or not space.is_bounded():
        raise TypeError(
            f"{name} needs a Box of actions with finite bounds, got {space}: use DQN for Discrete actions, and "
            "gymnasium.wrappers.RescaleAction or PPO for unbounded ones."
        )


def mean_of(value: Any) -> float:
    """A number, or the mean of an array or tensor."""
    array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
    return float(np.mean(array))
