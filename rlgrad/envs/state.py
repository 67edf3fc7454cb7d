"""The state of running environments, so that a stopped run goes on where it was."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorWrapper
from gymnasium.wrappers import vector as vector_wrappers

__all__ = ["restore", "state_of"]

_STATELESS = (
    gym.ActionWrapper,
    gym.ObservationWrapper,
    gym.RewardWrapper,
    gym.vector.VectorActionWrapper,
    gym.vector.VectorObservationWrapper,
    gym.vector.VectorRewardWrapper,
    vector_wrappers.DictInfoToList,
)
"""Wrappers that only translate what passes; those among them that remember something are in `_REMEMBERING`."""
_REMEMBERING: tuple[type, ...] = (
    vector_wrappers.NormalizeObservation,
    vector_wrappers.NormalizeReward,
    gym.wrappers.NormalizeObservation,
    gym.wrappers.NormalizeReward,
    gym.wrappers.FrameStackObservation,
    gym.wrappers.TimeAwareObservation,
    gym.wrappers.StickyAction,
)
_COUNTERS: dict[type, tuple[str, ...]] = {
    gym.wrappers.TimeLimit: ("_elapsed_steps",),
    gym.wrappers.OrderEnforcing: ("_has_reset",),
    gym.wrappers.Autoreset: ("autoreset",),
}
"""Wrappers whose whole state is a few plain attributes."""
_GYMNASIUMS: dict[str, tuple[str, ...]] = {
    "classic_control.acrobot:AcrobotEnv": ("state",),
    "classic_control.cartpole:CartPoleEnv": ("state", "steps_beyond_terminated"),
    "classic_control.continuous_mountain_car:Continuous_MountainCarEnv": ("state",),
    "classic_control.mountain_car:MountainCarEnv": ("state",),
    "classic_control.pendulum:PendulumEnv": ("state", "last_u"),
    "toy_text.blackjack:BlackjackEnv": ("dealer", "player"),
    "toy_text.cliffwalking:CliffWalkingEnv": ("s", "lastaction"),
    "toy_text.frozen_lake:FrozenLakeEnv": ("s", "lastaction"),
    "toy_text.taxi:TaxiEnv": ("s", "lastaction"),
}
"""Gymnasium's own environments whose whole state, but for the generator, is a few attributes."""
_CHECKS = ("checked_reset", "checked_step", "checked_data_reuse")
"""What `PassiveEnvChecker` does in the first steps only, which are over in a restored environment."""


def state_of(envs: Any) -> dict[str, Any] | None:
    """Everything that decides how running environments go on, or None where they cannot tell.

    An environment, vector environment or wrapper tells by a pair of methods `state_dict()` and
    `load_state_dict(state)`; all environments over NumPy arrays in this package have them. Copies behind
    `SyncVectorEnv` are asked one by one, and their generator `np_random` is added here. Gymnasium's classic control,
    toy texts and MuJoCo environments are known, and its wrappers that count steps or only translate are passed through.
    Environments in other processes, Box2D's and EnvPool's cannot tell.

    Args:
        envs: a vector environment, or a single one.

    Returns:
        Nested dicts and lists of arrays and plain values that `rlgrad.training.save_checkpoint` takes.

    Example:
        >>> from rlgrad.envs import make
        >>> envs = make("Pendulum-v1", 2)
        >>> first = envs.reset(seed=0)
        >>> state = state_of(envs)
        >>> step = envs.step(envs.action_space.sample())
        >>> restore(envs, state)
    """
    layers: list[dict[str, Any]] = []
    for layer, innermost in _layers(envs):
        state = _own_state(layer, innermost)
        if state is None:
            return None
        layers.append(state)
    return {"layers": layers}


def restore(envs: Any, state: dict[str, Any]) -> None:
    """Puts environments back to where `state_of` was called.

    Args:
        envs: built in the same way as those the state is from.
        state: what `state_of` returned.

    Raises:
        ValueError: the state is of environments built in another way.
    """
    layers = list(_layers(envs))
    if len(layers) != len(state["layers"]):
        raise ValueError(
            f"The state is of an environment with {len(state['layers'])} layers of wrappers, but this one has {len(layers)}: "
            "build it as it was built then."
        )
    for (layer, _), saved in zip(layers, state["layers"], strict=True):
        if saved["kind"] != type(layer).__name__:
            raise ValueError(
                f"The state is of a {saved['kind']}, but the environment has a {type(layer).__name__} there."
            )
        _restore_layer(layer, saved)


def _layers(env: Any) -> Any:
    """The wrappers from the outside in, then the environment, each with whether it is the innermost."""
    while isinstance(env, (gym.Wrapper, VectorWrapper)):
        yield env, False
        env = env.env
    yield env, True


def _own_state(layer: Any, innermost: bool) -> dict[str, Any] | None:
    kind = type(layer).__name__
    if isinstance(layer, SyncVectorEnv):
        copies = [state_of(copy) for copy in layer.envs]
        return None if any(copy is None for copy in copies) else {"kind": kind, "copies": copies}
    inside = _inside(layer)
    if inside is not None:
        saved = {"kind": kind, **inside}
        if innermost and isinstance(layer, gym.Env) and layer._np_random is not None:
            saved["generator"] = layer._np_random.bit_generator.state
        return saved
    if type(layer) in _COUNTERS:
        return {"kind": kind, "attributes": {name: getattr(layer, name) for name in _COUNTERS[type(layer)]}}
    if type(layer) is gym.wrappers.PassiveEnvChecker:
        return {"kind": kind, "attributes": {name: True for name in _CHECKS if hasattr(layer, name)}}
    if isinstance(layer, _STATELESS) and not isinstance(layer, _REMEMBERING):
        return {"kind": kind}
    return None


def _inside(layer: Any) -> dict[str, Any] | None:
    """What a layer tells by itself, or what is known about it."""
    cls = type(layer)
    if hasattr(cls, "state_dict") and hasattr(cls, "load_state_dict"):
        return {"own": layer.state_dict()}
    attributes = _GYMNASIUMS.get(f"{cls.__module__.removeprefix('gymnasium.envs.')}:{cls.__qualname__}")
    if attributes is not None:
        return {"attributes": {name: _plain(getattr(layer, name)) for name in attributes if hasattr(layer, name)}}
    if cls.__module__.startswith("gymnasium.envs.mujoco.") and hasattr(layer, "data"):
        import mujoco

        everything = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(layer.model, everything))
        mujoco.mj_getState(layer.model, layer.data, state, everything)
        return {"mujoco": state}
    return None


def _plain(value: Any) -> Any:
    """A copy of an attribute as an array, a number or a list of numbers."""
    if isinstance(value, (tuple, np.ndarray)):
        return np.array(value)
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, list) else value


def _restore_layer(layer: Any, saved: dict[str, Any]) -> None:
    if "own" in saved:
        layer.load_state_dict(saved["own"])
    if "mujoco" in saved:
        import mujoco

        mujoco.mj_setState(layer.model, layer.data, saved["mujoco"], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(layer.model, layer.data)
    if "generator" in saved:
        layer.np_random.bit_generator.state = saved["generator"]
    for name, value in saved.get("attributes", {}).items():
        setattr(layer, name, _plain(value))
    for copy, inside in zip(getattr(layer, "envs", ()), saved.get("copies", ()), strict=False):
        restore(copy, inside)
