"""`make`: an environment id (or a function that builds one) to a vector environment."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from rlgrad.envs.atari import atari
from rlgrad.envs.pool import EnvPoolVectorEnv

__all__ = ["EnvFactory", "make"]

EnvFactory = Callable[[], gym.Env[Any, Any]]
"""Builds one environment; called once per copy."""

_NUMPY_ENVIRONMENTS = {
    "Acrobot-v1": "rlgrad.envs.acrobot:AcrobotVectorEnv",
    "CartPole-v0": "rlgrad.envs.cartpole:CartPoleVectorEnv",
    "CartPole-v1": "rlgrad.envs.cartpole:CartPoleVectorEnv",
    "MountainCar-v0": "rlgrad.envs.mountain_car:MountainCarVectorEnv",
    "MountainCarContinuous-v0": "rlgrad.envs.mountain_car:MountainCarContinuousVectorEnv",
    "Pendulum-v1": "rlgrad.envs.pendulum:PendulumVectorEnv",
}
"""Ids with an array implementation that resets in the step which ends an episode.

`gymnasium.make_vec` knows them as "rlgrad/CartPole-v1" and so on.
"""

_NAMESPACE = "rlgrad/"
_VECTORIZATIONS = ("auto", "vector", "sync", "async", "envpool")


def make(
    env: str | EnvFactory | VectorEnv[Any, Any, Any],
    num_envs: int = 1,
    vectorization: str = "auto",
    **env_options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Builds `num_envs` copies of an environment behind one `reset` and one `step`.

    Every vector environment returned here autoresets in SAME_STEP mode: the step that ends an episode returns
    the first observation of the next one, and `infos["final_obs"]` holds the last observation of the finished
    one. No row is wasted on a reset, and a truncated episode can be bootstrapped from the state it really
    ended in.

    Args:
        env: a registered Gymnasium id such as "CartPole-v1" ("package.module:Name-v0" imports the module
            first), or a function without arguments that builds one environment. A vector environment that exists
            already is handed back as it is if it resets in SAME_STEP mode, and refused otherwise.
        num_envs: number of copies, at least 1.
        vectorization: "auto" takes the array implementation where there is one (of rlgrad, or one registered as a
            vector entry point that resets in SAME_STEP mode) and one Python object per copy otherwise; "vector" demands
            the array implementation; "sync" steps Python objects one after another; "async" gives each copy a process
            of its own, which pays only for slow environments; "envpool" takes EnvPool's environment of this name, in
            C++ (extra `envpool`).
        env_options: keyword arguments of the environment itself, such as `continuous=True`. Atari games ("ALE/Pong-v5")
            also take those of `rlgrad.envs.atari`, whose preprocessing they get unless `preprocess=False`.

    Raises:
        ValueError: an unknown id (the message lists the nearest ones), vectorization or number of copies, or a vector
            environment in another autoreset mode.
        TypeError: a function builds something else than an environment.
        ImportError: the environment needs a package that is not installed; the message says how to install
            it.

    Example:
        >>> envs = make("CartPole-v1", num_envs=8)
        >>> obs, _ = envs.reset(seed=0)
        >>> obs.shape
        (8, 4)
    """
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise ValueError(f"num_envs must be an integer of at least 1, got {num_envs!r}.")
    if vectorization not in _VECTORIZATIONS:
        names = ", ".join(repr(name) for name in _VECTORIZATIONS)
        raise ValueError(f"Unknown vectorization {vectorization!r}: expected one of {names}.")

    if isinstance(env, VectorEnv):
        return same_step(env)
    if vectorization == "envpool":
        if not isinstance(env, str):
            raise TypeError(f"vectorization='envpool' takes the name of one of EnvPool's environments, got {env!r}.")
        return EnvPoolVectorEnv(env, num_envs, **env_options)
    if isinstance(env, str):
        if env.startswith("ALE/") and env_options.pop("preprocess", True):
            return make(atari(env, **env_options), num_envs, vectorization)
        name = _resolve(env.removeprefix(_NAMESPACE))
        if vectorization in ("auto", "vector") and name in _NUMPY_ENVIRONMENTS:
            return _make_numpy(name, num_envs, env_options)
        if vectorization in ("auto", "vector") and gym.spec(name).vector_entry_point is not None:
            envs = _make_registered(name, num_envs, vectorization == "vector", env_options)
            if envs is not None:
                return envs

        def factory() -> gym.Env[Any, Any]:
            return gym.make(name, **env_options)

    elif callable(env):
        name, build = getattr(env, "__name__", repr(env)), env

        def factory() -> gym.Env[Any, Any]:
            made = build()
            if not isinstance(made, gym.Env):
                raise TypeError(f"{name} has to build a gymnasium.Env, and built {type(made).__name__}.")
            return made

        if env_options:
            given = ", ".join(env_options)
            raise ValueError(f"Environment options ({given}) go with an id; a function takes its own.")
    else:
        raise TypeError(
            f"env must be a Gymnasium id or a function that builds an environment, got {type(env).__name__}. "
            "For an environment object that exists already, pass a function: `lambda: MyEnv()`."
        )
    if vectorization == "vector":
        raise ValueError(
            f"{name} has no array implementation (there is one of {', '.join(sorted(_NUMPY_ENVIRONMENTS))}); "
            "use vectorization='auto' or 'sync'."
        )
    vector_class = AsyncVectorEnv if vectorization == "async" else SyncVectorEnv
    try:
        return vector_class([factory] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    except (gym.error.DependencyNotInstalled, ImportError) as error:
        raise ImportError(_missing_dependency(name, error)) from error


def same_step(envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """`envs` if they reset in the step that ends an episode.

    Raises:
        ValueError: they reset in another step, or do not say in which.
    """
    mode = (envs.metadata or {}).get("autoreset_mode")
    if mode == AutoresetMode.SAME_STEP:
        return envs
    if mode is None:
        found = "does not say when it resets: declare metadata['autoreset_mode']"
    else:
        found = f"resets in {mode} mode, which adds steps that belong to no episode"
    raise ValueError(
        f"The vector environment {envs} {found}. Learning needs AutoresetMode.SAME_STEP: the step that ends an episode returns "
        "the next one's first observation, and infos['final_obs'] the last. Build it with rlgrad.envs.make, or pass "
        "autoreset_mode=AutoresetMode.SAME_STEP to SyncVectorEnv or AsyncVectorEnv."
    )


def _resolve(env_id: str) -> str:
    """The registered id that `env_id` means, after importing its module; no version means the newest."""
    module, colon, name = env_id.rpartition(":")
    if colon:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(
                f"Environment {env_id!r} asks to import {module!r}, which failed ({error}): check "
                "the part before the colon, or install the package that registers the environment."
            ) from error
    if name.startswith("ALE/") and importlib.util.find_spec("ale_py") is not None:
        gym.register_envs(importlib.import_module("ale_py"))
    if name in gym.registry:
        return name
    versions = {spec.version or 0: spec.id for spec in gym.registry.values() if spec.id == f"{name}-v{spec.version}"}
    if not versions:
        raise ValueError(f"There is no environment {env_id!r}.{_nearest_ids(name)}")
    return versions[max(versions)]


def _nearest_ids(env_id: str) -> str:
    registered = {name.lower(): name for name in gym.registry}
    close = difflib.get_close_matches(env_id.lower(), registered, n=5, cutoff=0.6)
    if not close:
        return " `gymnasium.pprint_registry()` lists the registered ids."
    return f" The nearest ids are: {', '.join(registered[name] for name in close)}."


def _array_spec(env_id: str, name: str) -> EnvSpec:
    """Gymnasium's entry for `env_id`, under another name and with our array implementation."""
    spec = gym.spec(env_id)
    return EnvSpec(
        id=name,
        entry_point=spec.entry_point,
        vector_entry_point=_NUMPY_ENVIRONMENTS[env_id],
        max_episode_steps=spec.max_episode_steps,
        reward_threshold=spec.reward_threshold,
        kwargs=dict(spec.kwargs),
    )


for _id in _NUMPY_ENVIRONMENTS:
    if _id in gym.registry:
        gym.registry[_NAMESPACE + _id] = _array_spec(_id, _NAMESPACE + _id)


def _make_numpy(env_id: str, num_envs: int, env_options: dict[str, Any]) -> VectorEnv[Any, Any, Any]:
    # Going through make_vec applies the id's step limit and keyword arguments, and sets `envs.spec`.
    return gym.make_vec(_array_spec(env_id, env_id), num_envs, vectorization_mode="vector_entry_point", **env_options)


def _make_registered(
    env_id: str, num_envs: int, demanded: bool, env_options: dict[str, Any]
) -> VectorEnv[Any, Any, Any] | None:
    """The vector environment that whoever registered the id made, or None where single copies are to be stepped."""
    demanded = demanded or gym.spec(env_id).entry_point is None
    try:
        envs = gym.make_vec(env_id, num_envs, vectorization_mode="vector_entry_point", **env_options)
    except (gym.error.DependencyNotInstalled, ImportError) as error:
        if demanded:
            raise ImportError(_missing_dependency(env_id, error)) from error
        return None
    if demanded or envs.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP:
        return same_step(envs)
    envs.close()
    return None


_EXTRAS = (
    (("box2d", "swig"), "box2d"),
    (("mujoco", "imageio"), "mujoco"),
    (("envpool",), "envpool"),
    (("ale_py", "cv2", "opencv"), "atari"),
)


def _missing_dependency(env_id: str, error: Exception) -> str:
    reason = str(error)
    for markers, extra in _EXTRAS:
        if any(marker in reason.lower() for marker in markers):
            return (
                f"{env_id} needs the extra '{extra}', which is not installed: pip install 'rlgrad[{extra}]' ({reason})"
            )
    return f"{env_id} could not be built because a package is missing: {reason}"
