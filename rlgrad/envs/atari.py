"""Atari games with the preprocessing that everybody compares with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["atari"]


def atari(
    env_id: str,
    stack: int = 4,
    noop_max: int = 30,
    frame_skip: int = 4,
    screen_size: int = 84,
    terminal_on_life_loss: bool = False,
    clip_rewards: bool = False,
    **options: Any,
) -> Callable[[], gym.Env[Any, Any]]:
    """A function that builds one Atari game, to hand to `make` or an agent.

    Each observation is a stack of gray frames, (stack, screen_size, screen_size) uint8. An action is repeated for
    `frame_skip` frames, of which the last two are merged by their maximum; an episode begins with up to `noop_max`
    steps that do nothing.

    Args:
        env_id: registered id, such as "ALE/Breakout-v5".
        stack: frames in one observation.
        noop_max: most steps without action after a reset.
        frame_skip: frames for which an action holds.
        screen_size: height and width of a frame, in pixels.
        terminal_on_life_loss: end the episode with each life, for training only.
        clip_rewards: replace each reward by its sign, for training only.
        options: keyword arguments of the game itself, such as `repeat_action_probability`.

    Raises:
        ImportError: when the game is built, if ale-py or OpenCV is not installed.

    Source: Mnih et al., Human-level Control through Deep Reinforcement Learning (2015), methods; Machado et al.,
    Revisiting the Arcade Learning Environment (2018).
    """

    def build() -> gym.Env[Any, Any]:
        try:
            import ale_py

            gym.register_envs(ale_py)
            game: gym.Env[Any, Any] = gym.make(env_id, frameskip=1, **options)
            game = gym.wrappers.AtariPreprocessing(
                game,
                noop_max=noop_max,
                frame_skip=frame_skip,
                screen_size=screen_size,
                terminal_on_life_loss=terminal_on_life_loss,
            )
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            raise ImportError(f"{env_id} needs the extra 'atari': pip install 'rlgrad[atari]' ({error})") from error
        if clip_rewards:
            game = gym.wrappers.TransformReward(game, lambda reward: float(np.sign(float(reward))))
        return gym.wrappers.FrameStackObservation(game, stack)

    build.__name__ = env_id
    return build
