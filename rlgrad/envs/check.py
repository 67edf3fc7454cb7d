"""`check_env`: what is wrong with an environment, in plain words, before hours of training on it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rlgrad.envs.check_spaces import action_space_findings, observation_space_findings, outside

__all__ = ["InvalidEnvironmentError", "check_env"]

_GOAL_KEYS = {"observation", "achieved_goal", "desired_goal"}


class InvalidEnvironmentError(ValueError):
    """An environment that breaks the rules of Gymnasium's interface.

    Attributes:
        problems: what is wrong, one sentence each; training would fail or learn nonsense.
        remarks: what is allowed but unwise.
    """

    def __init__(self, name: str, problems: list[str], remarks: list[str]) -> None:
        self.problems, self.remarks = problems, remarks
        listed = "".join(f"\n  {number}. {problem}" for number, problem in enumerate(problems, 1))
        super().__init__(f"{name} has {len(problems)} problem{'s' if len(problems) > 1 else ''}:{listed}")


def check_env(
    env: gym.Env[Any, Any] | Callable[[], gym.Env[Any, Any]] | str, steps: int = 200, seed: int = 0
) -> list[str]:
    """Plays random actions in one environment and looks at everything it returns.

    Args:
        env: an environment, a function that builds one, or a registered id.
        steps: environment steps to look at.
        seed: for the environment and the actions.

    Returns:
        Remarks: what is allowed, but likely to slow learning down. An empty list is a clean bill.

    Raises:
        InvalidEnvironmentError: lists every problem that was found.

    Example:
        >>> check_env("CartPole-v1")
        []
    """
    if isinstance(env, str):
        env = gym.make(env, disable_env_checker=True)
    elif not isinstance(env, gym.Env) and callable(env):
        env = env()
    check = _Check(env)
    check.run(steps, seed)
    if check.problems:
        raise InvalidEnvironmentError(check.name, check.problems, check.remarks)
    return check.remarks


class _Stop(Exception):
    """A problem after which nothing more can be looked at."""


class _Check:
    def __init__(self, env: Any) -> None:
        self.env = env
        self.name = type(getattr(env, "unwrapped", env)).__name__
        self.problems: list[str] = []
        self.remarks: list[str] = []

    def problem(self, text: str) -> None:
        """Notes what is wrong, once: a sentence that differs from an earlier one in its numbers only is dropped."""
        self._note(self.problems, text)

    def remark(self, text: str) -> None:
        """Notes what is unwise, once."""
        self._note(self.remarks, text)

    def _note(self, notes: list[str], text: str) -> None:
        gist = _gist(text)
        if all(_gist(note) != gist for note in notes):
            notes.append(text)

    def stop(self, text: str) -> _Stop:
        self.problem(text)
        return _Stop()

    def run(self, steps: int, seed: int) -> None:
        try:
            self.look_at_spaces()
            first, ended = self.play(steps, seed)
            if not ended and getattr(self.env.spec, "max_episode_steps", None) is None and not _is_limited(self.env):
                self.remark(
                    f"No episode ended within {steps} random steps, and there is no time limit: some algorithms learn nothing "
                    "from an episode before its end. Set max_episode_steps or wrap it in gymnasium.wrappers.TimeLimit."
                )
            again, _ = self.play(min(steps, 50), seed)
            self.compare(first, again)
        except _Stop:
            pass

    def look_at_spaces(self) -> None:
        env = self.env
        if not isinstance(env, gym.Env):
            raise self.stop(f"It must inherit from gymnasium.Env, but is a {type(env).__name__}.")
        for name in ("observation_space", "action_space"):
            space = getattr(env, name, None)
            if not isinstance(space, spaces.Space):
                raise self.stop(f"{name} must be a space from gymnasium.spaces, but is {space!r}.")
        for findings in (observation_space_findings(env.observation_space), action_space_findings(env.action_space)):
            self.problems += findings.problems
            self.remarks += findings.remarks
        modes = env.metadata.get("render_modes", [])
        if env.render_mode is not None and env.render_mode not in modes:
            self.problem(f"render_mode is {env.render_mode!r}, but metadata['render_modes'] lists {modes}.")

    def play(self, steps: int, seed: int) -> tuple[list[tuple[Any, float]], int]:
        """Takes random actions; returns copies of the observations and the rewards, and how many episodes ended."""
        env = self.env
        env.action_space.seed(seed)
        obs, _ = self.reset(seed)
        record = [(_copied(obs), 0.0)]
        ended = 0
        for _ in range(steps):
            before, kept = obs, _copied(obs)
            obs, reward, done = self.step(env.action_space.sample())
            if not _equal(before, kept):
                self.remark(
                    "step() writes the new observation into the array that it returned before: return a copy, or whoever kept "
                    "the old one finds the new one in it."
                )
            record.append((_copied(obs), reward))
            if done:
                ended += 1
                obs, _ = self.reset(None)
        return record, ended

    def reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        parameters = inspect.signature(self.env.unwrapped.reset).parameters
        flexible = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        missing = [name for name in ("seed", "options") if name not in parameters and not flexible]
        if missing:
            raise self.stop(
                f"reset() must take {' and '.join(missing)}: def reset(self, *, seed=None, options=None), and begin with "
                "super().reset(seed=seed)."
            )
        result = self.call("reset", lambda: self.env.reset(seed=seed) if seed is not None else self.env.reset())
        if not isinstance(result, tuple) or len(result) != 2:
            raise self.stop(
                f"reset() must return a tuple (observation, info), but returned {_described(result)}. Before Gymnasium it was "
                "the observation alone."
            )
        obs, info = result
        self.look_at_info("reset()", info)
        self.look_at_observation("reset()", obs)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool]:
        given = _copied(action)
        result = self.call(f"step({action!r})", lambda: self.env.step(action))
        if not isinstance(result, tuple) or len(result) != 5:
            old = " Before Gymnasium it was four values: split done into terminated and truncated."
            raise self.stop(
                "step() must return a tuple (observation, reward, terminated, truncated, info), but returned "
                f"{_described(result)}.{old if isinstance(result, tuple) and len(result) == 4 else ''}"
            )
        obs, reward, terminated, truncated, info = result
        if not _equal(action, given):
            self.remark("step() changes the action it is given: work on a copy.")
        self.look_at_observation("step()", obs)
        self.look_at_info("step()", info)
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(flag, (bool, np.bool_)):
                self.problem(f"{name} must be a bool, but step() returned {_described(flag)}: return bool(...).")
        number = self.look_at_reward(reward)
        self.look_at_goal(obs, reward, info)
        return obs, number, bool(np.any(terminated)) or bool(np.any(truncated))

    def call(self, what: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            raise self.stop(f"{what} raised {type(error).__name__}: {error}") from error

    def look_at_observation(self, where: str, obs: Any) -> None:
        for sentence in outside(self.env.observation_space, obs, f"The observation of {where}"):
            self.problem(sentence)

    def look_at_info(self, where: str, info: Any) -> None:
        if not isinstance(info, dict):
            self.problem(
                f"The info of {where} must be a dict, but is {_described(info)}: return {{}} if there is none."
            )
            return
        mask, space = info.get("action_mask"), self.env.action_space
        if mask is not None and isinstance(space, spaces.Discrete):
            array = np.asarray(mask)
            if array.shape != (space.n,):
                self.problem(
                    f"info['action_mask'] must have shape ({space.n},), one entry per action, but has {array.shape}."
                )
            elif not array.any():
                self.problem(f"info['action_mask'] of {where} forbids every action.")

    def look_at_reward(self, reward: Any) -> float:
        array = np.asarray(reward)
        if array.ndim or array.dtype.kind not in "biuf":
            self.problem(f"The reward must be one number, but step() returned {_described(reward)}.")
            return 0.0
        number = float(array)
        if not np.isfinite(number):
            self.problem(f"The reward must be finite, but step() returned {number}.")
        elif abs(number) > 1000:
            self.remark(f"A reward was {number:g}: scale rewards to the size of a few units, or normalise them.")
        return number

    def look_at_goal(self, obs: Any, reward: Any, info: Any) -> None:
        space = self.env.observation_space
        if not isinstance(space, spaces.Dict) or not set(space.spaces) >= _GOAL_KEYS:
            return
        compute = getattr(self.env.unwrapped, "compute_reward", None)
        if compute is None:
            self.problem("An environment with goals must have compute_reward(achieved_goal, desired_goal, info).")
            return
        expected = self.call("compute_reward()", lambda: compute(obs["achieved_goal"], obs["desired_goal"], info))
        if not np.allclose(expected, reward):
            self.problem(
                f"compute_reward() gives {expected}, but step() gave {reward} for the same goals: hindsight would learn from "
                "wrong rewards."
            )

    def compare(self, first: list[tuple[Any, float]], again: list[tuple[Any, float]]) -> None:
        """Looks for the first place where two plays from one seed differ."""
        for number, (one, other) in enumerate(zip(first, again, strict=False)):
            if _equal(one, other):
                continue
            what = "reward" if _equal(one[0], other[0]) else "observation"
            begin = f"The same seed and actions gave another {what} after {number} steps"
            if _close(one[0], other[0]) and _close(one[1], other[1]):
                self.remark(f"{begin}, by a little: something outlives reset(), so that runs repeat only roughly.")
                return
            raise self.stop(
                f"{begin}: some randomness is not seeded. Draw from self.np_random, which super().reset(seed=seed) seeds, and "
                "reset everything in reset()."
            )


def _gist(text: str) -> str:
    return re.sub(r"reset\(\)|step\(\)|True|False|[-+]?\d[-+.\de]*", "", text)


def _is_limited(env: Any) -> bool:
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            return True
        env = env.env
    return False


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_copied(part) for part in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return isinstance(second, dict) and all(name in second and _equal(first[name], second[name]) for name in first)
    if isinstance(first, tuple):
        return isinstance(second, tuple) and all(_equal(a, b) for a, b in zip(first, second, strict=False))
    return bool(np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f"))


def _close(first: Any, second: Any) -> bool:
    """Whether two values differ by no more than the leavings of a physics engine."""
    numbers = all(np.asarray(value).dtype.kind == "f" for value in (first, second))
    return numbers and bool(np.allclose(first, second, rtol=0.02, atol=0.02, equal_nan=True))


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)} values"
    return f"{value!r} of type {type(value).__name__}"
