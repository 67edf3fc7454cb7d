"""Small environments whose right answers are known, and how to compare two agents bit for bit."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class World(gym.Env):
    """Counts steps; a subclass says what an observation is and what a step pays."""

    length = 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.begin()
        return self.observe(), {}

    def begin(self):
        """Draws what holds for the whole episode."""

    def step(self, action):
        reward = self.pay(action)
        self.count += 1
        return self.observe(), reward, self.count == self.length, False, {}


class Stateless(World):
    """Seven steps of nothing, without a word about its state."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Discrete(2)
    length = 7

    def observe(self):
        return np.zeros(1, np.float32)

    def pay(self, action):
        return 1.0


class Identity(World):
    """Pays for the action that the observation names: 1 per matching component, or minus the distance."""

    def __init__(self, action_space=None):
        self.action_space = action_space or spaces.Discrete(3)
        if isinstance(self.action_space, spaces.Discrete):
            self.observation_space = spaces.Discrete(int(self.action_space.n))
        elif isinstance(self.action_space, spaces.MultiDiscrete):
            self.observation_space = spaces.Box(0, 1, (int(self.action_space.nvec.sum()),))
        else:
            self.observation_space = spaces.Box(-1, 1, self.action_space.shape)

    def observe(self):
        space, draw = self.action_space, self.np_random
        if isinstance(space, spaces.Discrete):
            self.target = int(draw.integers(space.n)) + int(space.start)
            return self.target - int(space.start)
        if isinstance(space, spaces.MultiDiscrete):
            self.target = draw.integers(space.nvec)
            return np.concatenate(
                [np.eye(n, dtype=np.float32)[t] for n, t in zip(space.nvec, self.target, strict=True)]
            )
        if isinstance(space, spaces.MultiBinary):
            self.target = draw.integers(2, size=space.shape)
            return self.target.astype(np.float32)
        # The observation is the target in units in which the bounds are -1 and 1, and far from them.
        unit = draw.uniform(-0.8, 0.8, size=space.shape)
        self.target = space.low + (unit + 1) / 2 * (space.high - space.low)
        return unit.astype(np.float32)

    def pay(self, action):
        if isinstance(self.action_space, spaces.Box):
            reach = self.action_space.high - self.action_space.low
            return -float((np.abs(action - self.target) / reach).mean() * 2)
        return float(np.mean(np.asarray(action) == self.target))


class Pictures(Identity):
    """`Identity` whose observation is a picture with a bright stripe in the target's place."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(0, 255, (9, 9, 1), np.uint8)

    def observe(self):
        picture = np.zeros((9, 9, 1), np.uint8)
        picture[:, 3 * super().observe() + 1] = 255
        return picture


class Chain(World):
    """Three states in a row: the action that each one names leads on, the wrong one ends the episode.

    Only the last step pays: a random policy earns 1/8 on average.
    """

    observation_space = spaces.Discrete(3)
    right = (0, 1, 0)

    def __init__(self, continuous=False):
        self.continuous = continuous
        self.action_space = spaces.Box(-1, 1, (1,)) if continuous else spaces.Discrete(2)

    def observe(self):
        return min(self.count, 2)

    def step(self, action):
        choice = int(action[0] > 0) if self.continuous else int(action)
        passed = choice == self.right[self.count]
        self.count += 1
        return self.observe(), float(passed and self.count == 3), not passed or self.count == 3, False, {}


class Recall(World):
    """Shows -1 or 1 in its first observation alone, and pays for naming it in the last of three steps."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Discrete(2)
    length = 3

    def state_dict(self):
        return {"cue": self.cue, "count": self.count}

    def load_state_dict(self, state):
        self.cue, self.count = state["cue"], state["count"]

    def begin(self):
        self.cue = int(self.np_random.integers(2))

    def observe(self):
        return np.array([2 * self.cue - 1 if self.count == 0 else 0, self.count == 2], dtype=np.float32)

    def pay(self, action):
        return float(action == self.cue) if self.count == 2 else 0.0


class Endless(World):
    """Pays 1 for every step; a limit of 8 steps ends the episode, as a truncation or as a termination."""

    observation_space = spaces.Box(0, 1, (1,))
    action_space = spaces.Discrete(2)

    def __init__(self, terminates=False):
        self.terminates = terminates

    def observe(self):
        return np.zeros(1, np.float32)

    def step(self, action):
        self.count += 1
        over = self.count == 8
        return self.observe(), 1.0, over and self.terminates, over and not self.terminates, {}


class Broken(World):
    """Its fourth reward is NaN, or its fourth observation is."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Discrete(2)

    def __init__(self, what):
        self.what = what

    def observe(self):
        return np.full(1, np.nan if self.count == 4 and self.what == "observation" else 0.0, np.float32)

    def pay(self, action):
        return np.nan if self.count == 3 and self.what == "reward" else 1.0


class Masked(World):
    """Pays 1 for action 2, but allows only the actions that `infos["action_mask"]` names: never 2 in odd steps."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Discrete(4)

    def observe(self):
        return np.zeros(1, np.float32)

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]

    def allowed(self):
        return np.array([True, False, self.count % 2 == 0, True])

    def reset(self, *, seed=None, options=None):
        obs, _ = super().reset(seed=seed)
        return obs, {"action_mask": self.allowed()}

    def step(self, action):
        assert self.allowed()[action], f"action {action} in step {self.count}"
        obs, reward, terminated, truncated, _ = super().step(action)
        return obs, reward, terminated, truncated, {"action_mask": self.allowed()}

    def pay(self, action):
        return float(action == 2)


def arrays_of(state):
    """Every leaf of a state_dict as (place, array)."""
    if isinstance(state, dict):
        for key, value in state.items():
            for place, leaf in arrays_of(value):
                yield f"{key}/{place}", leaf
    elif isinstance(state, (list, tuple)):
        for index, value in enumerate(state):
            for place, leaf in arrays_of(value):
                yield f"{index}/{place}", leaf
    else:
        yield "", state.detach().numpy() if hasattr(state, "detach") else state


def assert_same_state(first, second):
    """Two agents are equal bit for bit."""
    left, right = dict(arrays_of(first.state_dict())), dict(arrays_of(second.state_dict()))
    assert left.keys() == right.keys()
    for place in left:
        assert np.array_equal(left[place], right[place]), place
