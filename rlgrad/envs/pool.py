"""EnvPool's environments, written in C++, with SAME_STEP autoreset (extra `envpool`)."""

from __future__ import annotations

import difflib
import warnings
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

__all__ = ["EnvPoolVectorEnv"]

_SEEDS = 2**31 - 1


class EnvPoolVectorEnv(VectorEnv[Any, Any, Any]):
    """Copies of an EnvPool environment that reset in the step which ends an episode.

    EnvPool itself resets in the step after (NEXT_STEP). Here the copies whose episode ended are reset by themselves
    before `step` returns, so that no step is spent on it: `obs` holds the first observation of the next episode and
    `infos["final_obs"]` the last of the finished one. EnvPool reports an episode that ends in its last allowed step as
    truncated only, whatever ended it.

    EnvPool takes its seed when it is made, so `reset(seed=...)` makes the pool anew. The state of its environments
    cannot be saved.

    Args:
        env_id: EnvPool's name, such as "CartPole-v1", "HalfCheetah-v5" or "Pong-v5"; "ALE/Pong-v5" means the last.
        num_envs: number of copies.
        options: EnvPool's settings, such as `num_threads`, `max_episode_steps` or `episodic_life`.

    Raises:
        ImportError: EnvPool is not installed.
        ValueError: EnvPool has no such environment.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # type: ignore[misc]

    def __init__(self, env_id: str, num_envs: int = 1, **options: Any) -> None:
        self._envpool = _import_envpool()
        name = env_id.removeprefix("ALE/")
        known = self._envpool.list_all_envs()
        if name not in known:
            close = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
            hint = f" The nearest ones are: {', '.join(close)}." if close else ""
            raise ValueError(f"EnvPool has no environment {env_id!r}.{hint}")
        self._name, self._pool_options = name, options
        self.num_envs = num_envs
        self.spec = gym.registry.get(env_id)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Gymnasium, about float64 bounds that become float32
            spec = self._envpool.make_spec(name, **options)
            self.single_observation_space = spec.gymnasium_observation_space
            self.single_action_space = spec.gymnasium_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._pool: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes in every copy.

        Args:
            seed: makes the pool anew with this seed; without one the first call takes one from the operating system.
            options: EnvPool takes none here.
        """
        if options:
            raise ValueError(f"EnvPool takes no options at a reset, got {options}: pass them to make().")
        if seed is not None or self._pool is None:
            if self._pool is not None:
                self._pool.close()
            start = int(np.random.SeedSequence(seed).generate_state(1)[0]) % _SEEDS
            self._pool = self._envpool.make(
                self._name, env_type="gymnasium", num_envs=self.num_envs, seed=start, **self._pool_options
            )
        obs, infos = self._pool.reset()
        return obs, _without_bookkeeping(infos)

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advances every copy by one step and starts a new episode where one ended.

        Args:
            actions: (num_envs, *action_shape).
        """
        if self._pool is None:
            raise RuntimeError("EnvPoolVectorEnv.step() needs running episodes: call reset() first.")
        actions = np.asarray(actions, dtype=self.single_action_space.dtype)
        obs, rewards, terminated, truncated, infos = self._pool.step(actions)
        infos = _without_bookkeeping(infos)
        rewards = rewards.astype(np.float64)
        done = terminated | truncated
        if not done.any():
            return obs, rewards, terminated, truncated, infos
        ended = np.flatnonzero(done)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for index in ended:
            final_obs[index] = _row(obs, int(index))
        starts, start_infos = self._pool.reset(ended.astype(np.int32))
        obs = _replaced(obs, starts, np.asarray(start_infos["env_id"]))
        return obs, rewards, terminated, truncated, {**infos, "final_obs": final_obs, "_final_obs": done}

    def close_extras(self, **kwargs: Any) -> None:
        """Stops EnvPool's threads."""
        if self._pool is not None:
            self._pool.close()


def _import_envpool() -> Any:
    try:
        import envpool
    except ImportError as error:
        raise ImportError(
            f"vectorization='envpool' needs the extra 'envpool', which is not installed: pip install 'rlgrad[envpool]' ({error})"
        ) from error
    return envpool


def _without_bookkeeping(infos: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in infos.items() if name not in ("env_id", "players")}


def _row(obs: Any, index: int) -> Any:
    if isinstance(obs, dict):
        return {name: _row(part, index) for name, part in obs.items()}
    return obs[index].copy()


def _replaced(obs: Any, starts: Any, copies: np.ndarray) -> Any:
    """`obs` with the rows of `copies` taken from `starts`."""
    if isinstance(obs, dict):
        return {name: _replaced(part, starts[name], copies) for name, part in obs.items()}
    result = obs if obs.flags.writeable else obs.copy()
    result[copies] = starts
    return result
