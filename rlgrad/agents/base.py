"""What every agent shares: environments, prediction, evaluation, saving and loading."""

from __future__ import annotations

import dataclasses
import os
import typing
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from gymnasium.vector import SyncVectorEnv

from rlgrad.agents.spaces import ActionCodec, ObservationCodec
from rlgrad.backend.errors import nearest
from rlgrad.envs import EnvFactory, make
from rlgrad.training import (
    CheckpointError,
    Interrupt,
    MetricLogger,
    load_checkpoint,
    save_checkpoint,
    spawn_generators,
)
from rlgrad.training.evaluation import Evaluation, evaluate_policy

__all__ = ["Agent"]


class Agent(ABC):
    """A policy with the environments it learns in.

    A subclass names its settings class in `config_class` and implements `learn`, `act`, `state_dict` and
    `load_state_dict`.

    Args:
        env: registered Gymnasium id, or a function that builds one environment.
        config: the algorithm's settings; None for the defaults.
        seed: start of every random stream of the run, non-negative.
        num_envs: copies of the environment that are stepped together.
        env_options: keyword arguments of the environment itself.
        device: "cpu" or "cuda", where the networks live.

    Attributes:
        envs: the vector environment, in SAME_STEP autoreset mode.
        num_timesteps: environment steps taken so far, over all copies.
    """

    config_class: type[Any]

    def __init__(
        self,
        env: str | EnvFactory,
        config: Any = None,
        seed: int = 0,
        num_envs: int = 8,
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
        self.envs = make(env, num_envs, **self.env_options)
        self.observations = ObservationCodec(self.envs.single_observation_space)
        self.actions = ActionCodec(self.envs.single_action_space)
        self.num_timesteps = 0
        self._evaluation_envs: Any = None

    @abstractmethod
    def learn(
        self,
        total_timesteps: int,
        logger: MetricLogger | None = None,
        progress: bool = False,
        checkpoint_path: str | os.PathLike[str] | None = None,
        interrupt: Interrupt | None = None,
    ) -> Self:
        """Trains until `num_timesteps` reaches `total_timesteps`, counted from the agent's creation."""

    @abstractmethod
    def act(self, encoded: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
        """Actions for encoded observations (n, obs_dim), drawn by `generator`, or the likeliest."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything the agent would need to go on as if it had not been stopped."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""

    @property
    def num_envs(self) -> int:
        """Copies of the environment that are stepped together."""
        return int(self.envs.num_envs)

    @property
    def env_name(self) -> str:
        """The environment's id, or the name of the function that builds it."""
        return self.env if isinstance(self.env, str) else getattr(self.env, "__name__", repr(self.env))

    @property
    def reward_threshold(self) -> float | None:
        """The mean return at which the environment's authors call it solved, if they said."""
        spec = self.envs.spec if self.envs.spec is not None else getattr(self._first_env(), "spec", None)
        return None if spec is None else spec.reward_threshold

    def _first_env(self) -> Any:
        return self.envs.envs[0] if isinstance(self.envs, SyncVectorEnv) else None

    def predict(
        self, obs: Any, deterministic: bool = True, generator: np.random.Generator | None = None
    ) -> np.ndarray | np.generic:
        """The action, or actions, for one observation or a batch of them.

        Args:
            obs: (*obs_shape) for one observation or (n, *obs_shape) for a batch.
            deterministic: take the most probable action; otherwise draw one from the policy.
            generator: owns the draw of `deterministic=False`; a fresh unseeded one by default.

        Returns:
            An element of the action space, or a batch of n of them.

        Raises:
            TypeError: `obs` is not an array of numbers.
            ValueError: `obs` has a shape or values that the observation space does not.
        """
        batch, single = self.observations.check(obs)
        if not deterministic and generator is None:
            generator = np.random.default_rng()
        actions = self.actions.to_env(self.act(self.observations.encode(batch), None if deterministic else generator))
        return actions[0] if single else actions

    def evaluate(self, episodes: int = 100, deterministic: bool = True, seed: int | None = None) -> Evaluation:
        """Undiscounted returns over whole episodes, in environments of their own.

        The episodes depend on `seed` alone, so equal policies get equal figures; training is not disturbed.

        Args:
            episodes: number of episodes.
            deterministic: take the most probable actions; otherwise draw them from the policy.
            seed: start of the environments' random streams; derived from the agent's seed by default.
        """
        if episodes < 1:
            raise ValueError(f"episodes must be at least 1, got {episodes}.")
        source = spawn_generators(self.seed if seed is None else seed, "evaluation")["evaluation"]
        start = int(source.integers(2**31 - 1))
        # Array environments cost next to nothing per copy; Python objects do, so they play several episodes
        # each.
        wanted = min(episodes, 10 if isinstance(self.envs, SyncVectorEnv) else 100)
        if self._evaluation_envs is None or self._evaluation_envs.num_envs != wanted:
            if self._evaluation_envs is not None:
                self._evaluation_envs.close()
            self._evaluation_envs = make(self.env, wanted, **self.env_options)

        def act(obs: np.ndarray) -> np.ndarray:
            return self.actions.to_env(self.act(self.observations.encode(obs), None if deterministic else source))

        return evaluate_policy(act, self._evaluation_envs, episodes, start)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes networks, optimizers, generators, counters and settings to one file, atomically."""
        description = {
            "agent": type(self).__name__,
            "env": self.env if isinstance(self.env, str) else None,
            "env_options": self.env_options,
            "num_envs": self.num_envs,
            "seed": self.seed,
            "config": dataclasses.asdict(self.config),
            **self._constructor_options(),
        }
        save_checkpoint(path, {"description": description, "state": self.state_dict()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: str | EnvFactory | None = None, device: str = "cpu") -> Self:
        """Rebuilds an agent from `save`; going on with `learn` continues the run.

        Args:
            path: a file written by `save`. Reading it never executes code.
            env: needed only if the agent was made from a function instead of an id.
            device: where the networks shall live.

        Raises:
            CheckpointError: the file is missing, damaged, of another format, or of another agent.
        """
        checkpoint = load_checkpoint(path)
        try:
            description, state = dict(checkpoint["description"]), checkpoint["state"]
            name, saved_env = description.pop("agent"), description.pop("env")
            settings = description.pop("config")
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{path} is not a checkpoint of an agent: it has no entry {error}.") from error
        if name != cls.__name__:
            raise CheckpointError(f"{path} holds a {name} agent: load it with {name}.load.")
        if env is None and saved_env is None:
            raise ValueError(
                f"The agent in {path} was made from a function, which a checkpoint cannot hold: pass `env=`."
            )
        agent = cls(
            env if env is not None else saved_env,
            make_config(cls.config_class, settings),
            device=device,
            **description,
        )
        agent.load_state_dict(state)
        return agent

    def _constructor_options(self) -> dict[str, Any]:
        """Further arguments of the subclass's constructor that a checkpoint keeps."""
        return {}

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()
        if self._evaluation_envs is not None:
            self._evaluation_envs.close()


def make_config(config_class: type[Any], settings: dict[str, Any]) -> Any:
    """Builds a settings dataclass and names the nearest field where a name is wrong."""
    fields = typing.get_type_hints(config_class)
    for name in settings:
        if name not in fields:
            raise ValueError(f"{config_class.__name__} has no setting {name!r}.{nearest(name, fields)}")
    return config_class(**settings)
