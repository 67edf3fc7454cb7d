"""Agents in files: everything that goes on, and what is needed to build the agent again."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any, TypeVar

from gymnasium.vector import VectorEnv

from rlgrad.agents.config import make_config
from rlgrad.training import CheckpointError, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from rlgrad.agents.base import Agent

__all__ = ["load_agent", "save_agent"]

A = TypeVar("A", bound="Agent")


def save_agent(agent: Agent, path: str | os.PathLike[str], options: dict[str, Any]) -> None:
    """Writes an agent's state, settings and constructor options to one file; see `Agent.save`."""
    description = {
        "agent": type(agent).__name__,
        "env": agent.env if isinstance(agent.env, str) else None,
        "env_options": agent.env_options,
        "num_envs": agent.num_envs,
        "seed": agent.seed,
        "config": dataclasses.asdict(agent.config),
        "own_modules": list(agent.own_modules),
        **options,
    }
    save_checkpoint(path, {"description": description, "state": agent.state_dict()})


def load_agent(cls: type[A], path: str | os.PathLike[str], env: Any, device: str, modules: dict[str, Any]) -> A:
    """Builds an agent from a file that `save_agent` wrote; see `Agent.load`."""
    checkpoint = load_checkpoint(path)
    try:
        description, state = dict(checkpoint["description"]), checkpoint["state"]
        name, saved_env = description.pop("agent"), description.pop("env")
        settings, own_modules = description.pop("config"), description.pop("own_modules", [])
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is not a checkpoint of an agent: it has no entry {error}.") from error
    if name != cls.__name__:
        raise CheckpointError(f"{path} holds a {name} agent: load it with {name}.load.")
    if env is None and saved_env is None:
        raise ValueError(f"The agent in {path} was made from a function, which a checkpoint cannot hold: pass `env=`.")
    missing = [name for name in own_modules if modules.get(name) is None]
    if missing:
        given = ", ".join(f"{name}=" for name in missing)
        raise ValueError(
            f"The agent in {path} was given networks of its own: pass new ones of the same build as {given}."
        )
    if isinstance(env, VectorEnv):
        description["num_envs"] = None
    config = make_config(cls.config_class, settings)
    agent = cls(saved_env if env is None else env, config, device=device, **description, **modules)
    agent.load_state_dict(state)
    return agent
