"""What every agent shares: environments, the learning loop, prediction, evaluation, saving and loading."""

from __future__ import annotations

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.config import AgentConfig
from rlgrad.agents.loop import train
from rlgrad.agents.networks import Recurrent, require_fit
from rlgrad.agents.persistence import load_agent, save_agent
from rlgrad.agents.playing import evaluate, vector_env
from rlgrad.agents.runner import Runner, Step
from rlgrad.agents.spaces import ActionCodec, ObservationCodec
from rlgrad.envs import EnvFactory
from rlgrad.training import Callback, Interrupt, MetricLogger, check_finite, spawn_generators
from rlgrad.training.evaluation import Evaluation

__all__ = ["Agent"]

_COUNTERS = ("num_timesteps", "num_updates", "solved", "next_check")


class Agent(ABC):
    """A policy with the environments it learns in.

    A subclass names its settings class in `config_class` and implements `iterate`, `act` and `components`; it
    builds its networks in its constructor, after this one. What it must keep to be resumed exactly is in
    `components`, `generators` and `runner`.

    Args:
        env: registered Gymnasium id, a function that builds one environment, or a Gymnasium vector environment
            in SAME_STEP autoreset mode.
        config: the algorithm's settings; None for the defaults.
        seed: start of every random stream of the run, non-negative.
        num_envs: copies of the environment that are stepped together; None for the settings' own.
        env_options: keyword arguments of the environment itself.
        device: "cpu" or "cuda", where the networks live.

    Attributes:
        envs: the vector environment.
        observations, actions: codecs between its spaces and the networks' arrays.
        generators: one random generator for each purpose, all of them saved: "parameters", "environment",
            "exploration", "minibatch" and "check".
        runner: the running episodes.
        num_timesteps: environment steps taken so far, over all copies.
        num_updates: for the subclass to count.
        total_timesteps: the mark of the newest `learn`.
        seconds: time spent choosing actions, for the subclass to add to.
        evaluation_envs: where `evaluate` plays, once it has.
        own_modules: names of the networks that the constructor was given, see `remember_own`.
    """

    config_class: type[Any] = AgentConfig
    config: Any
    recurrent = False
    """Whether acting needs a state that goes along from step to step."""
    log_every: ClassVar[int] = 0
    """Environment steps between two entries in the log, whose figures are averaged; 0 logs every iteration."""
    check_every: ClassVar[int] = 100
    """Finished episodes between two checks whether the environment is solved."""

    def __init__(
        self,
        env: str | EnvFactory | VectorEnv[Any, Any, Any],
        config: Any = None,
        seed: int = 0,
        num_envs: int | None = None,
        env_options: dict[str, Any] | None = None,
        device: str = "cpu",
    ) -> None:
        if config is None:
            config = self.config_class()
        elif not isinstance(config, self.config_class):
            raise TypeError(f"config must be a {self.config_class.__name__}, got {type(config).__name__}.")
        self.env = env
        self.config = config
        self.seed = seed
        self.device = device
        self.env_options = dict(env_options or {})
        self.envs = vector_env(env, num_envs, config.num_envs, self.env_options)
        self.observations = ObservationCodec(self.envs.single_observation_space)
        self.actions = ActionCodec(self.envs.single_action_space)
        self.generators = spawn_generators(seed, "parameters", "environment", "exploration", "minibatch", "check")
        self.runner = Runner(self.envs, self.observations, self.actions, self.env_name)
        self.num_timesteps = 0
        self.num_updates = 0
        self.total_timesteps = 0
        self.next_check = 0
        self.solved = False
        self.seconds = 0.0
        self.own_modules: Sequence[str] = ()
        self.evaluation_envs: Any = None
        self._cut_short = False

    def remember_own(self, **networks: tuple[Any, int] | tuple[Any, int, int]) -> None:
        """Notes which networks the constructor was given, for which `load` then asks, and checks that they fit.

        Args:
            networks: the argument's name to what was given (a module, several, or None), the number of outputs
                that it has to have, and how many action components it takes beside observations.

        Raises:
            ValueError: a network fails on what the agent sees, or returns another shape.
        """
        given = {name: entry for name, entry in networks.items() if entry[0] is not None}
        for name, (network, outputs, *beside) in given.items():
            codec, extra = self.observations, sum(beside)
            seen = self.tensor(
                np.zeros((2, codec.dim + extra), np.float32) if extra else np.zeros((2, *codec.shape), codec.dtype)
            )
            for module in [network] if isinstance(network, nn.Module) else network:
                if not isinstance(module, Recurrent):
                    require_fit(name, module.to(self.device), seen, outputs)
        self.own_modules = list(given)

    @abstractmethod
    def iterate(self) -> dict[str, float]:
        """Collects some experience and learns from it.

        Advances `num_timesteps` (as `step` does by itself) and `num_updates`.

        Returns:
            Figures to log, under "group/name", such as "loss/policy".
        """

    @abstractmethod
    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        """Actions for encoded observations (n, ...), drawn by `generator`, or the likeliest without one."""

    @abstractmethod
    def components(self) -> dict[str, Any]:
        """Name to object with `state_dict` and `load_state_dict`: networks, optimizers, normalisers, buffers."""

    def act_in_context(
        self, encoded: np.ndarray, generator: np.random.Generator | None, state: Any, mask: np.ndarray | None
    ) -> tuple[np.ndarray, Any]:
        """`act` with a recurrent state and allowed actions, for agents that know them.

        Args:
            encoded: (n, ...) encoded observations.
            generator: draws the actions; None takes the likeliest.
            state: what the previous call returned; None at the start of episodes.
            mask: (n, choices) bool, which actions are allowed; None for all.

        Returns:
            The actions and the state for the next call, None if the agent is not recurrent.
        """
        if mask is not None:
            raise ValueError(f"{type(self).__name__} takes no action masks.")
        return self.act(encoded, generator), None

    def forget(self, state: Any, starts: np.ndarray) -> Any:
        """The recurrent state with the entries of copies that begin an episode set back to the start."""
        return state

    @property
    def num_envs(self) -> int:
        """Copies of the environment that are stepped together."""
        return int(self.envs.num_envs)

    @property
    def env_name(self) -> str:
        """The environment's id, or the name of the function that builds it."""
        if isinstance(self.env, str):
            return self.env
        spec = getattr(self.env, "spec", None)
        return spec.id if spec is not None else getattr(self.env, "__name__", type(self.env).__name__)

    @property
    def reward_threshold(self) -> float | None:
        """The mean return at which the environment's authors call it solved, if they said."""
        first = self.envs.envs[0] if isinstance(self.envs, SyncVectorEnv) else None
        spec = self.envs.spec if self.envs.spec is not None else getattr(first, "spec", None)
        return None if spec is None else spec.reward_threshold

    @property
    def progress(self) -> float:
        """The part of the running `learn` that is done, from 0 to 1: what schedules depend on."""
        return min(self.num_timesteps / self.total_timesteps, 1.0) if self.total_timesteps else 0.0

    @property
    def obs(self) -> np.ndarray:
        """(num_envs, ...) encoded observations to act on; begins episodes where none are running."""
        if self.runner.obs is None:
            if self._cut_short and self.runner.tracker.lengths.any():
                warnings.warn(
                    f"{self.env_name} does not give its state, so the resumed run begins new episodes where the "
                    "stopped one was in the middle of some.",
                    stacklevel=4,
                )
            self._cut_short = False
            self.runner.start(int(self.generators["environment"].integers(2**31 - 1)))
        assert self.runner.obs is not None
        return self.runner.obs

    def step(self, actions: np.ndarray) -> Step:
        """Steps every copy with actions as the policy drew them, and counts it in `num_timesteps`."""
        self.runner.name = self.env_name
        result = self.runner.step(actions, self.num_timesteps)
        self.num_timesteps += self.num_envs
        return result

    def tensor(self, array: np.ndarray) -> Tensor:
        """An array as a tensor on the agent's device: float32, bytes as they are, int64 for other whole numbers."""
        kind = np.float32 if array.dtype.kind == "f" else np.uint8 if array.dtype == np.uint8 else np.int64
        tensor = rlgrad.from_numpy(np.ascontiguousarray(array, kind))
        return tensor if self.device == "cpu" else tensor.to(self.device)

    def array(self, tensor: Tensor) -> np.ndarray:
        """The numbers of a tensor, without its history; on the CPU they share the memory. The opposite of `tensor`."""
        tensor = tensor.detach()
        return tensor.numpy() if self.device == "cpu" else tensor.cpu().numpy()

    def descend(self, optimizer: Any, losses: Mapping[str, Tensor], through_others: bool = False) -> float:
        """One optimizer step down the sum of `losses`, with the gradient checked, and clipped to `max_grad_norm`.

        Args:
            optimizer: whose parameters learn.
            losses: name to scalar loss; the names are for messages.
            through_others: the losses depend on further networks, which shall get no gradients.

        Returns:
            The gradient's norm before it was clipped.

        Raises:
            NonFiniteError: a loss or gradient is NaN or infinite; the parameters are as they were.
        """
        groups = optimizer.param_groups
        parameters = groups[0]["params"] if len(groups) == 1 else [p for group in groups for p in group["params"]]
        optimizer.zero_grad()
        figures = {name: loss.item() for name, loss in losses.items()}
        for loss in losses.values():
            loss.backward(inputs=parameters if through_others else None)
        limit = self.config.max_grad_norm
        norm = float(nn.utils.clip_grad_norm_(parameters, math.inf if limit is None else limit))
        figures["grad_norm"] = norm
        check_finite(self.num_timesteps, figures, self._named(parameters))
        optimizer.step()
        return norm

    def _named(self, parameters: Sequence[Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Parameters with the names they have in a checkpoint, looked up when the first is asked for."""
        parts = [(name, part) for name, part in self.components().items() if isinstance(part, nn.Module)]
        names = {id(parameter): f"{name}.{path}" for name, part in parts for path, parameter in part.named_parameters()}
        for number, parameter in enumerate(parameters):
            yield names.get(id(parameter), str(number)), parameter

    def learn(
        self,
        total_timesteps: int,
        callbacks: Callback | Sequence[Callback] = (),
        logger: MetricLogger | None = None,
        progress: bool = False,
        checkpoint_path: str | os.PathLike[str] | None = None,
        interrupt: Interrupt | None = None,
    ) -> Self:
        """Trains until `num_timesteps` reaches `total_timesteps`, or something stops it before.

        The last iteration may run past `total_timesteps`. What stops before: the environment is solved, a
        callback returns True, or an interrupt. A solved agent does not train further.

        Args:
            total_timesteps: environment steps since the agent's creation, so a loaded agent goes on to the
                same mark. Schedules end there.
            callbacks: called in this order after every iteration.
            logger: receives the figures of the iterations.
            progress: show a live progress line.
            checkpoint_path: file that is written after the first iteration, every half minute and at the end.
            interrupt: training stops after the iteration in which `interrupt.requested` becomes true.

        Raises:
            NonFiniteError: a reward, observation, loss or gradient is NaN or infinite; a checkpoint written
                before stays.
        """
        if total_timesteps < 1:
            raise ValueError(f"total_timesteps must be at least 1, got {total_timesteps}.")
        self.total_timesteps = total_timesteps
        hooks = [callbacks] if isinstance(callbacks, Callback) else list(callbacks)
        train(self, hooks, logger, progress, checkpoint_path, interrupt)
        return self

    def predict(
        self,
        obs: Any,
        state: Any = None,
        deterministic: bool = True,
        generator: np.random.Generator | None = None,
        action_mask: np.ndarray | None = None,
    ) -> Any:
        """The action, or actions, for one observation or a batch of them.

        Args:
            obs: (*obs_shape) for one observation or (n, *obs_shape) for a batch.
            state: for a recurrent agent, what the previous `predict` of this episode returned beside the
                action; None at its start.
            deterministic: take the most probable action; otherwise draw one from the policy.
            generator: owns the draw of `deterministic=False`; a fresh unseeded one by default.
            action_mask: (choices,) or (n, choices) bool, which actions are allowed, for agents that know masks.

        Returns:
            An element of the action space, or a batch of n of them; from a recurrent agent, the pair of it and
            the state for the next call.

        Raises:
            TypeError: `obs` is not an array of numbers.
            ValueError: `obs` has a shape or values that the observation space does not.
        """
        batch, single = self.observations.check(obs)
        if not deterministic and generator is None:
            generator = np.random.default_rng()
        mask = None if action_mask is None else np.asarray(action_mask, dtype=bool)
        if mask is not None and single:
            mask = mask[None]
        encoded = self.observations.encode(batch)
        drawn, state = self.act_in_context(encoded, None if deterministic else generator, state, mask)
        actions = self.actions.to_env(drawn)
        action = actions[0] if single else actions
        return (action, state) if self.recurrent else action

    def evaluate(
        self,
        env: str | EnvFactory | VectorEnv[Any, Any, Any] | None = None,
        episodes: int = 100,
        deterministic: bool = True,
        seed: int | None = None,
    ) -> Evaluation:
        """Undiscounted raw returns over whole episodes, in environments of their own.

        The episodes depend on `seed` alone, so equal policies get equal figures; training is not disturbed,
        and normalisers are frozen.

        Args:
            env: where to play; the agent's own environment by default. An agent made from a vector environment
                needs another one here.
            episodes: number of episodes.
            deterministic: take the most probable actions; otherwise draw them from the policy.
            seed: start of the environments' random streams; derived from the agent's seed by default.
        """
        return evaluate(self, env, episodes, deterministic, seed)

    def mask_of(self, envs: Any, infos: dict[str, Any]) -> np.ndarray | None:
        """(num_envs, choices) bool, which actions the environments allow; None where they do not say."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Everything the agent would need to go on as if it had not been stopped."""
        return {
            **{name: getattr(self, name) for name in _COUNTERS},
            "generators": {name: source.bit_generator.state for name, source in self.generators.items()},
            "components": {name: component.state_dict() for name, component in self.components().items()},
            "runner": self.runner.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned.

        Where the environment does not give its state, going on to learn begins new episodes, with a warning.
        """
        for name in _COUNTERS:
            setattr(self, name, state[name])
        for name, source in self.generators.items():
            source.bit_generator.state = state["generators"][name]
        for name, component in self.components().items():
            component.load_state_dict(state["components"][name])
        self._cut_short = not self.runner.load_state_dict(state["runner"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes networks, optimizers, generators, counters and settings to one file, atomically."""
        save_agent(self, path, self._constructor_options())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        env: str | EnvFactory | VectorEnv[Any, Any, Any] | None = None,
        device: str = "cpu",
        **modules: Any,
    ) -> Self:
        """Rebuilds an agent from `save`; going on with `learn` continues the run.

        Args:
            path: a file written by `save`. Reading it never executes code.
            env: needed only if the agent was made from a function or a vector environment instead of an id.
            device: where the networks shall live.
            modules: networks of the same build, if the agent was given its own, under the constructor's names.

        Raises:
            CheckpointError: the file is missing, damaged, of another format, or of another agent.
        """
        return load_agent(cls, path, env, device, modules)

    def _constructor_options(self) -> dict[str, Any]:
        """Further arguments of the subclass's constructor that a checkpoint keeps."""
        return {}

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()
        if self.evaluation_envs is not None:
            self.evaluation_envs.close()
