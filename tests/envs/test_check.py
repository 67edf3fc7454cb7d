"""A sound environment passes; each mistake is told in words that name it."""

import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rlgrad.envs import InvalidEnvironmentError, check_env


class Sound(gym.Env):
    """Walks on a line for ten steps. Each test breaks one thing."""

    observation_space = spaces.Box(-20, 20, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def observe(self):
        return np.array([self.place, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = self.np_random.uniform(-1, 1), 0
        return self.observe(), {}

    def outcome(self):
        return self.observe(), float(self.place), self.time == 10, False, {}

    def step(self, action):
        self.place += 2 * int(np.ravel(action)[0]) - 1
        self.time += 1
        return self.outcome()


def broken(**changes):
    """`Sound` with some methods or attributes replaced."""
    return type("Broken", (Sound,), changes)


def gives(**parts):
    """A step that returns other parts."""
    names = ("obs", "reward", "terminated", "truncated", "info")

    def outcome(self):
        values = dict(zip(names, Sound.outcome(self), strict=True))
        return tuple(parts[name](self) if name in parts else value for name, value in values.items())

    return broken(outcome=outcome)


def old_reset(self):
    return Sound.reset(self)


def aliased(self):
    self.memory = getattr(self, "memory", np.zeros(2, np.float32))
    self.memory[:] = self.place, self.time
    return self.memory


def leftover(self):
    self.calls = getattr(self, "calls", 0) + 1
    return np.array([0.0, 1e-6 * self.calls], np.float32)


GOALS = spaces.Dict(
    {name: spaces.Box(-20, 20, (1,), np.float32) for name in ("observation", "achieved_goal", "desired_goal")}
)


def goal_observation(self):
    return {name: np.array([self.place], np.float32) for name in GOALS.spaces}


PROBLEMS = {
    "no environment": (lambda: object(), "must inherit from gymnasium.Env, but is a object"),
    "no space": (broken(action_space=3), "action_space must be a space from gymnasium.spaces, but is 3"),
    "a space that agents cannot read": (
        broken(observation_space=spaces.Text(3)),
        "observation_space is Text.*no agent reads",
    ),
    "a space that agents cannot act in": (
        broken(action_space=spaces.Text(3)),
        "action_space is Text.*no agent acts in",
    ),
    "integer boxes": (broken(action_space=spaces.Box(0, 1, (1,), np.int64)), "Box of int64: use a Box of floats"),
    "empty bounds": (broken(observation_space=spaces.Box(1, 1, (2,))), "allows a single value"),
    "reset without seed": (broken(reset=old_reset), r"reset\(\) must take seed and options"),
    "reset of the old kind": (
        broken(reset=lambda self, seed=None, options=None: np.zeros(2)),
        r"tuple \(observation, info\)",
    ),
    "step of the old kind": (
        broken(outcome=lambda self: Sound.outcome(self)[:4]),
        "split done into terminated and truncated",
    ),
    "an info that is none": (gives(info=lambda self: None), r"info of step\(\) must be a dict, but is None"),
    "wrong shape": (
        broken(observe=lambda self: np.zeros(3, np.float32)),
        r"has shape \(3,\), but the space says \(2,\)",
    ),
    "wrong dtype": (
        broken(observe=lambda self: np.zeros(2)),
        r"is of float64, but the space says float32: use .astype",
    ),
    "a list": (broken(observe=lambda self: [0.0, 0.0]), "must be a NumPy array of Box.*but is a list"),
    "out of bounds": (
        broken(observe=lambda self: np.array([0, 30], np.float32)),
        r"is 30.0 at index \(1,\).*-20.0 to 20.0",
    ),
    "nan": (broken(observe=lambda self: np.array([np.nan, 0], np.float32)), r"holds nan at index \(0,\)"),
    "a fraction for a choice": (
        broken(observation_space=spaces.Discrete(3), observe=lambda self: 1.5),
        "must be an integer of Discrete",
    ),
    "a missing part": (
        broken(
            observation_space=spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)}),
            observe=lambda self: {"a": 0},
        ),
        r"must have the parts \['a', 'b'\], but has \['a'\]",
    ),
    "a part out of bounds": (
        broken(observation_space=spaces.Tuple((spaces.Discrete(2),)), observe=lambda self: (5,)),
        r"\[0\] is 5, outside Discrete",
    ),
    "a reward array": (gives(reward=lambda self: np.zeros(1)), r"reward must be one number.*array of shape \(1,\)"),
    "a reward of nan": (gives(reward=lambda self: float("nan")), "reward must be finite, but step.. returned nan"),
    "a number for a flag": (gives(terminated=lambda self: 0), "terminated must be a bool.*0 of type int"),
    "no flag": (gives(truncated=lambda self: None), "truncated must be a bool.*None"),
    "an error": (gives(reward=lambda self: 1 / 0), r"step\(.*\) raised ZeroDivisionError: division by zero"),
    "unseeded start": (
        broken(observe=lambda self: np.array([np.random.rand(), 0], np.float32)),
        "another observation after 0 steps: some randomness is not seeded",
    ),
    "unseeded reward": (gives(reward=lambda self: np.random.rand()), "another reward after 1 steps"),
    "a mask of the wrong length": (gives(info=lambda self: {"action_mask": np.ones(3)}), r"must have shape \(2,\)"),
    "a mask that forbids everything": (gives(info=lambda self: {"action_mask": np.zeros(2)}), "forbids every action"),
    "goals without a reward": (broken(observation_space=GOALS, observe=goal_observation), "must have compute_reward"),
    "goals with another reward": (
        broken(observation_space=GOALS, observe=goal_observation, compute_reward=lambda self, a, d, info: 77.0),
        "compute_reward.. gives 77.0",
    ),
    "a mode that is not declared": (broken(render_mode="rgb_array"), "render_mode is 'rgb_array', but metadata"),
}

REMARKS = {
    "actions that are not normalised": (
        broken(action_space=spaces.Box(0, 1.5, (1,))),
        "action_space is not normalised: its bounds are 0.0 to 1.5",
    ),
    "actions without bounds": (broken(action_space=spaces.Box(-np.inf, np.inf, (1,))), "no finite bounds"),
    "images of floats": (
        broken(observation_space=spaces.Box(0, 1, (3, 64, 64)), observe=lambda self: np.zeros((3, 64, 64), np.float32)),
        "looks like an image but is of float32",
    ),
    "channels in the middle": (
        broken(
            observation_space=spaces.Box(0, 255, (64, 3, 64), np.uint8),
            observe=lambda self: np.zeros((64, 3, 64), np.uint8),
        ),
        "channels neither first nor last",
    ),
    "a small image": (
        broken(
            observation_space=spaces.Box(0, 255, (8, 8, 3), np.uint8),
            observe=lambda self: np.zeros((8, 8, 3), np.uint8),
        ),
        "smaller than 36 x 36",
    ),
    "something that outlives a reset": (broken(observe=leftover), "by a little: something outlives reset"),
    "large rewards": (gives(reward=lambda self: 1e6), "A reward was 1e.06"),
    "shared memory": (broken(observe=aliased), "writes the new observation into the array"),
    "endless episodes": (
        gives(terminated=lambda self: False, obs=lambda self: np.zeros(2, np.float32)),
        "there is no time limit",
    ),
}


def test_sound_environments_pass():
    assert check_env(Sound) == []
    assert check_env(Sound()) == []
    assert check_env("Acrobot-v1") == []
    assert len(check_env("Pendulum-v1")) == 1


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_named(name):
    build, message = PROBLEMS[name]
    with pytest.raises(InvalidEnvironmentError, match=message) as caught:
        check_env(build)
    assert len(caught.value.problems) <= 2


@pytest.mark.parametrize("name", REMARKS)
def test_what_is_unwise_is_remarked(name):
    build, message = REMARKS[name]
    remarks = check_env(build)
    assert len(remarks) == 1
    assert re.search(message, remarks[0])


def test_every_problem_is_listed():
    several = gives(terminated=lambda self: 1, reward=lambda self: float("inf"))
    with pytest.raises(InvalidEnvironmentError, match=r"Broken has 2 problems:\n  1\. .*\n  2\. "):
        check_env(several)
