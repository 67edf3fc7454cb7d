"""A vector environment whose observations and rewards are brought to the size of 1, and one seed for all its randomness."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper

from rlgrad.envs.normalize import RewardScaler, RunningMeanStd

__all__ = ["NormalizedVectorEnv", "reset_and_seed"]


class NormalizedVectorEnv(VectorWrapper[Any, Any, Any, Any]):
    """Shifts and scales observations by their running mean and std, and rewards by the std of their discounted sums.

    The agents of this package normalise by themselves (`normalize_observations`, `normalize_rewards`); this is for code
    that steps environments on its own. Final observations in `infos` are normalised like all others;
    `infos["raw_reward"]` holds the rewards as they were.

    Args:
        envs: in SAME_STEP autoreset mode, with a Box of numbers that are no images as observations.
        observations, rewards: which of the two to normalise.
        gamma: discount per environment step.
        clip: bound on normalised observations.

    Attributes:
        training: whether the figures still change. In evaluation, see `eval`, they are frozen and rewards stay raw.

    Raises:
        TypeError: the observations are not a Box of numbers.

    Example:
        >>> from rlgrad.envs import make
        >>> envs = NormalizedVectorEnv(make("Pendulum-v1", 4))
        >>> obs, _ = envs.reset(seed=0)
        >>> obs, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        >>> infos["raw_reward"].shape
        (4,)
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        observations: bool = True,
        rewards: bool = True,
        gamma: float = 0.99,
        clip: float = 10.0,
    ) -> None:
        super().__init__(envs)
        self.training = True
        self.clip = clip
        self.observation_stats: RunningMeanStd | None = None
        self.reward_scaler = RewardScaler(envs.num_envs, gamma) if rewards else None
        space = envs.single_observation_space
        if observations:
            if not isinstance(space, spaces.Box) or space.dtype == np.uint8:
                raise TypeError(
                    f"Observations of {space} cannot be normalised: expected a Box of numbers that are no images. Pass "
                    "observations=False, or wrap the environment so that it gives one."
                )
            self.observation_stats = RunningMeanStd(space.shape)
            self.single_observation_space = spaces.Box(-clip, clip, space.shape, np.float32)
            self.observation_space = spaces.Box(-clip, clip, (envs.num_envs, *space.shape), np.float32)

    def train(self, mode: bool = True) -> Self:
        """Lets the figures change with what is seen from now on."""
        self.training = mode
        return self

    def eval(self) -> Self:
        """Freezes the figures and hands out raw rewards."""
        return self.train(False)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes in every copy."""
        obs, infos = self.env.reset(seed=seed, options=options)
        if self.reward_scaler is not None:
            self.reward_scaler.sums[:] = 0.0
        return self._normalized(obs), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advances every copy by one step."""
        obs, rewards, terminated, truncated, infos = self.env.step(actions)
        infos = {**infos, "raw_reward": rewards}
        if "final_obs" in infos and self.observation_stats is not None:
            final_obs = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(infos["_final_obs"]):
                final_obs[index] = self.observation_stats.normalize(infos["final_obs"][index], self.clip)
            infos["final_obs"] = final_obs
        if self.reward_scaler is not None and self.training:
            rewards = self.reward_scaler.scale(rewards[None], (terminated | truncated)[None])[0]
        return self._normalized(obs), rewards, terminated, truncated, infos

    def _normalized(self, obs: Any) -> Any:
        if self.observation_stats is None:
            return obs
        if self.training:
            self.observation_stats.update(obs)
        return self.observation_stats.normalize(obs, self.clip)

    def state_dict(self) -> dict[str, Any]:
        """The running figures, without the environments' own state, for which see `state_of`."""
        parts = {"observation_stats": self.observation_stats, "reward_scaler": self.reward_scaler}
        return {name: None if part is None else part.state_dict() for name, part in parts.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned; an evaluation environment takes the figures of training this way."""
        for name, saved in state.items():
            part = getattr(self, name)
            if saved is not None and part is not None:
                part.load_state_dict(saved)


def reset_and_seed(envs: VectorEnv[Any, Any, Any], seed: int) -> tuple[Any, dict[str, Any]]:
    """Starts new episodes, and seeds everything that draws random numbers for them: the copies and both action spaces.

    Args:
        envs: a vector environment.
        seed: non-negative; the streams that follow from it are independent of each other.

    Returns:
        What `envs.reset` returned.

    Example:
        >>> from rlgrad.envs import make
        >>> envs = make("CartPole-v1", 3)
        >>> first = reset_and_seed(envs, 7)[0], envs.action_space.sample()
        >>> second = reset_and_seed(envs, 7)[0], envs.action_space.sample()
        >>> all((a == b).all() for a, b in zip(first, second))
        True
    """
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer, got {seed}.")
    copies, several, single = (int(s) for s in np.random.SeedSequence(seed).generate_state(3) >> 1)
    envs.action_space.seed(several)
    envs.single_action_space.seed(single)
    return envs.reset(seed=copies)
