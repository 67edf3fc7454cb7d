"""Films of an agent at play: animated PNG with nothing to install, MP4 where moviepy is."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.envs import make
from rlgrad.training.callbacks import PeriodicCallback
from rlgrad.training.metrics import encode_animation

if TYPE_CHECKING:
    from rlgrad.agents.base import Agent

__all__ = ["VideoCallback", "record_video"]


def record_video(agent: Agent, path: str | os.PathLike[str], seed: int = 0, max_steps: int = 1000) -> Path:
    """Plays one episode with the likeliest actions and films it.

    Args:
        agent: made from an id or from a function of an environment that renders to "rgb_array".
        path: a file that ends in ".png" (animated PNG, which browsers play) or ".mp4".
        seed: start of the environment's random stream.
        max_steps: where the film ends at the latest.

    Returns:
        The file.

    Raises:
        ValueError: the ending is another, or the environment gives no pictures.
        ImportError: MP4 was asked for and moviepy is not installed.
    """
    path = Path(path)
    if path.suffix not in (".png", ".mp4"):
        raise ValueError(f"A film's file ends in .png or .mp4, got {path.name!r}.")
    if path.suffix == ".mp4" and importlib.util.find_spec("moviepy") is None:
        raise ImportError("MP4 films need moviepy: pip install moviepy, or name a file that ends in .png.")
    options = {**agent.env_options, "render_mode": "rgb_array"} if isinstance(agent.env, str) else agent.env_options
    envs = make(agent.env, 1, vectorization="sync", **options)
    try:
        obs, infos = envs.reset(seed=seed)
        state: Any = None
        frames = [_picture(envs, agent)]
        for _ in range(max_steps):
            encoded = agent.observations.encode(obs)
            actions, state = agent.act_in_context(encoded, None, state, agent.mask_of(envs, infos))
            obs, _, terminated, truncated, infos = envs.step(agent.actions.to_env(actions))
            if terminated[0] or truncated[0]:
                break
            frames.append(_picture(envs, agent))
        fps = int(envs.metadata.get("render_fps", 30))
    finally:
        envs.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".mp4":
        from moviepy import ImageSequenceClip  # type: ignore[import-not-found]

        ImageSequenceClip(frames, fps=fps).write_videofile(str(path), logger=None)
    else:
        path.write_bytes(encode_animation(frames, fps))
    return path


class VideoCallback(PeriodicCallback):
    """Films an episode from time to time.

    Args:
        directory: folder for the films, which are named after the step.
        every: environment steps between two of them.
        ending: ".png" for animated PNG, ".mp4" for MP4.
        max_steps: where a film ends at the latest.
    """

    def __init__(
        self, directory: str | os.PathLike[str], every: int, ending: str = ".png", max_steps: int = 1000
    ) -> None:
        super().__init__(every)
        self.directory = Path(directory)
        self.ending = ending
        self.max_steps = max_steps

    def act(self, agent: Any, metrics: dict[str, float]) -> None:
        path = self.directory / f"step_{agent.num_timesteps:012d}{self.ending}"
        record_video(agent, path, seed=agent.seed, max_steps=self.max_steps)


def _picture(envs: Any, agent: Agent) -> np.ndarray:
    pictures = envs.render()
    if not pictures or pictures[0] is None:
        raise ValueError(
            f"{agent.env_name} gives no pictures: it has to support render_mode='rgb_array', and one that a function "
            "builds has to be built with it."
        )
    return np.asarray(pictures[0])
