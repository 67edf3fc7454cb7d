"""The environments agents play in, to learn and to be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv

from rlgrad.envs.make import make, same_step
from rlgrad.training import spawn_generators
from rlgrad.training.evaluation import Evaluation, evaluate_policy

if TYPE_CHECKING:
    from rlgrad.agents.base import Agent

__all__ = ["evaluate", "vector_env"]


def vector_env(env: Any, num_envs: int | None, default: int, env_options: dict[str, Any]) -> Any:
    """The vector environment that `env` is, or that `num_envs` copies of it make.

    Args:
        env: registered id, function that builds one environment, or a vector environment.
        num_envs: copies; None for `default`, or for those that a vector environment has.
        default: copies unless `num_envs` says otherwise.
        env_options: keyword arguments of the environment.

    Raises:
        ValueError: a vector environment that resets in another way, or has another number of copies.
    """
    if not isinstance(env, VectorEnv):
        return make(env, default if num_envs is None else num_envs, **env_options)
    if num_envs not in (None, env.num_envs):
        raise ValueError(f"The vector environment has {env.num_envs} copies, and num_envs={num_envs} was given.")
    return same_step(env)


def evaluate(agent: Agent, env: Any, episodes: int, deterministic: bool, seed: int | None) -> Evaluation:
    """Plays whole episodes with an agent; see `Agent.evaluate`."""
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}.")
    source = spawn_generators(agent.seed if seed is None else seed, "evaluation")["evaluation"]
    start = int(source.integers(2**31 - 1))
    envs = _evaluation_envs(agent, env, episodes)
    generator = None if deterministic else source
    state: Any = None

    def act(obs: Any, starts: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
        nonlocal state
        if state is not None:
            state = agent.forget(state, starts)
        encoded = agent.observations.encode(obs)
        drawn, state = agent.act_in_context(encoded, generator, state, agent.mask_of(envs, infos))
        return agent.actions.to_env(drawn)

    try:
        return evaluate_policy(act, envs, episodes, start)
    finally:
        if env is not None and envs is not env:
            envs.close()


def _evaluation_envs(agent: Agent, env: Any, episodes: int) -> Any:
    if isinstance(env, VectorEnv):
        return env
    # Array environments cost next to nothing per copy; Python objects do, so they play several episodes each.
    wanted = min(episodes, 10 if isinstance(agent.envs, SyncVectorEnv) else 100)
    if env is not None:
        return make(env, wanted, **agent.env_options)
    if isinstance(agent.env, VectorEnv):
        raise ValueError(
            "The agent was made from a vector environment, which cannot be built again: pass `env=` to evaluate."
        )
    if agent.evaluation_envs is None or agent.evaluation_envs.num_envs != wanted:
        if agent.evaluation_envs is not None:
            agent.evaluation_envs.close()
        agent.evaluation_envs = make(agent.env, wanted, **agent.env_options)
    return agent.evaluation_envs
