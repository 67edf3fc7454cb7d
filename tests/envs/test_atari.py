import gymnasium as gym
import numpy as np
import pytest

from rlgrad.envs import atari, make


def test_a_game_gives_stacks_of_gray_frames_as_bytes():
    pytest.importorskip("ale_py")
    pytest.importorskip("cv2")
    envs = make("ALE/Pong-v5", 2, stack=3)
    obs, _ = envs.reset(seed=0)
    assert (obs.shape, obs.dtype) == ((2, 3, 84, 84), np.uint8)
    obs, *_ = envs.step(np.zeros(2, np.int64))
    assert obs.dtype == np.uint8
    assert envs.metadata["autoreset_mode"] == gym.vector.AutoresetMode.SAME_STEP
    raw = make("ALE/Pong-v5", 1, preprocess=False)
    assert raw.single_observation_space.shape == (210, 160, 3)
    clipped = atari("ALE/Pong-v5", clip_rewards=True, terminal_on_life_loss=True)()
    assert clipped.observation_space.shape == (4, 84, 84)


def test_a_missing_package_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ImportError, match=r"pip install 'rlgrad\[atari\]'"):
        make("ALE/Pong-v5", 1)
