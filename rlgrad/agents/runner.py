"""Running episodes of a vector environment: one place that steps it, checks it and counts its rewards."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from rlgrad.agents.spaces import ActionCodec, ObservationCodec
from rlgrad.agents.tracking import EpisodeTracker
from rlgrad.envs import restore, state_of
from rlgrad.training import NonFiniteError

__all__ = ["Runner", "Step", "action_masks", "refuse_non_finite", "stack"]


class Step(NamedTuple):
    """What one step of a vector environment gave.

    Attributes:
        obs: (num_envs, ...) encoded observations to act on next; where an episode ended, the first of the next.
        rewards: (num_envs,).
        terminated: (num_envs,) bool.
        truncated: (num_envs,) bool.
        ended: (ended,) indices of the copies whose episode this step ended.
        final_obs: (ended, ...) encoded last observations of these episodes.
    """

    obs: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    ended: np.ndarray
    final_obs: np.ndarray

    @property
    def next_obs(self) -> np.ndarray:
        """(num_envs, ...) encoded observations that the actions led to, final ones included."""
        if not len(self.ended):
            return self.obs
        following = self.obs.copy()
        following[self.ended] = self.final_obs
        return following

    @property
    def cut(self) -> np.ndarray:
        """(num_envs,) bool, where a time limit ended the episode, not the task: bootstrap these."""
        return self.truncated & ~self.terminated


class Runner:
    """The running episodes of a vector environment in SAME_STEP autoreset mode.

    Args:
        envs: the vector environment.
        observations: encodes what it returns.
        actions: decodes what it is given.
        name: the environment's name, for messages.

    Attributes:
        obs: (num_envs, ...) encoded observations to act on; None before `start`.
        infos: the environment's own remarks of the newest step, such as action masks.
        starts: (num_envs,) bool, which copies have just begun an episode.
        tracker: raw returns and lengths.
        seconds: time spent in the environment so far.
    """

    def __init__(
        self, envs: VectorEnv[Any, Any, Any], observations: ObservationCodec, actions: ActionCodec, name: str
    ) -> None:
        self.envs = envs
        self.name = name
        self.tracker = EpisodeTracker(int(envs.num_envs))
        self.obs: np.ndarray | None = None
        self.infos: dict[str, Any] = {}
        self.starts = np.ones(int(envs.num_envs), dtype=bool)
        self.seconds = 0.0
        self._observations = observations
        self._actions = actions
        self._nothing = np.zeros(0, dtype=np.int64)

    def start(self, seed: int) -> None:
        """Begins new episodes in every copy."""
        obs, self.infos = self.envs.reset(seed=seed)
        self.obs = self._observations.encode(obs)
        self.starts = np.ones(int(self.envs.num_envs), dtype=bool)
        self.tracker.restart()

    def step(self, actions: np.ndarray, taken: int = 0) -> Step:
        """Steps every copy.

        Args:
            actions: as the policy drew them, (num_envs,) or (num_envs, action_dim).
            taken: environment steps of the run before this one, for messages.

        Raises:
            NonFiniteError: a reward or observation is NaN or infinite.
        """
        began = time.perf_counter()
        obs, rewards, terminated, truncated, infos = self.envs.step(self._actions.to_env(actions))
        self.seconds += time.perf_counter() - began
        encoded = self._observations.encode(obs)
        done = terminated | truncated
        ended, final_obs = self._nothing, encoded[:0]
        if True in done.tolist():
            ended = np.flatnonzero(done)
            final_obs = self._observations.encode(
                stack(self._observations.space, [infos["final_obs"][copy] for copy in ended])
            )
        if not (_finite(rewards) and _finite(encoded) and (not len(ended) or _finite(final_obs))):
            reached = encoded.copy()
            reached[ended] = final_obs
            refuse_non_finite(reached[None], rewards[None], None, taken, self.name, self.tracker.lengths)
        self.tracker.update(rewards, ended)
        self.obs, self.infos, self.starts = encoded, infos, done
        return Step(encoded, rewards, terminated, truncated, ended, final_obs)

    def state_dict(self) -> dict[str, Any]:
        """The running episodes, as far as the environment gives its state."""
        state: dict[str, Any] = {"tracker": self.tracker.state_dict(), "running": None}
        if self.obs is not None:
            inside = state_of(self.envs)
            if inside is not None:
                masks = {name: self.infos[name] for name in ("action_mask", "_action_mask") if name in self.infos}
                state["running"] = {"envs": inside, "obs": self.obs, "starts": self.starts, "masks": masks}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Restores what `state_dict` returned.

        Returns:
            Whether the episodes go on where they were; otherwise `start` begins new ones.
        """
        self.tracker.load_state_dict(state["tracker"])
        running = state["running"]
        if running is None:
            self.obs = None
            return False
        restore(self.envs, running["envs"])
        self.obs, self.starts, self.infos = running["obs"], running["starts"], dict(running["masks"])
        return True


def stack(space: Any, items: list[Any]) -> Any:
    """Single observations of a space as one batch of them."""
    if isinstance(items[0], (dict, tuple)):
        empty: Any = create_empty_array(space, len(items))
        return concatenate(space, items, empty)
    return np.stack(items)


def action_masks(envs: Any, infos: dict[str, Any]) -> np.ndarray | None:
    """(num_envs, choices) bool, which actions are allowed; None where neither infos nor environments say.

    Args:
        envs: the vector environment; copies behind `SyncVectorEnv` may have a method `action_masks`.
        infos: of its newest step; `action_mask` counts before that method, and a copy without one is free.
    """
    mask = infos.get("action_mask")
    if mask is not None:
        allowed = np.array(mask, dtype=bool)
        allowed[~np.asarray(infos.get("_action_mask", True))] = True
        return allowed
    if isinstance(envs, SyncVectorEnv) and envs.envs[0].has_wrapper_attr("action_masks"):
        return np.array(envs.call("action_masks"), dtype=bool)
    return None


def refuse_non_finite(
    obs: np.ndarray,
    rewards: np.ndarray,
    kept: np.ndarray | None,
    taken: int,
    name: str,
    since_reset: np.ndarray | None = None,
) -> None:
    """Raises at the first reward or observation that is NaN or infinite.

    Args:
        obs: (steps, num_envs, ...) encoded observations.
        rewards: (steps, num_envs).
        kept: (steps, num_envs) bool, which entries count; None for all.
        taken: environment steps of the run before these.
        name: the environment's name.
        since_reset: (num_envs,) steps of the running episodes before these; zeros by default.

    Raises:
        NonFiniteError: says which value, in which copy, at which step of the run and of the episode.
    """
    steps, copies = rewards.shape
    bad_rewards = ~np.isfinite(rewards)
    bad = bad_rewards | ~np.isfinite(obs.reshape(steps, copies, -1)).all(-1)
    if kept is not None:
        bad &= kept
    if not bad.any():
        return
    step, copy = (int(index) for index in np.argwhere(bad)[0])
    if bad_rewards[step, copy]:
        what = f"the reward is {rewards[step, copy]}"
    else:
        what = f"the observation is {obs[step, copy]}"
    when = taken + step * copies
    age = step + (0 if since_reset is None else int(since_reset[copy]))
    raise NonFiniteError(
        f"Training stopped at environment step {when}: {what} in copy {copy} of {copies} of {name}, "
        f"{age} steps after its reset. The environment has to return finite numbers.",
        when,
        None,
        None,
    )


def _finite(array: np.ndarray) -> bool:
    # A product is one pass without temporaries; it may overflow, so what it suspects is looked at again.
    flat = array.ravel()
    return array.dtype.kind != "f" or math.isfinite(flat.dot(flat))
