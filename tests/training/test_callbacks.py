import json

import numpy as np
import pytest

from rlgrad.agents import PPO, PPOConfig
from rlgrad.agents.video import VideoCallback, record_video
from rlgrad.training import (
    Callback,
    CheckpointCallback,
    EvaluationCallback,
    Linear,
    ScheduleCallback,
    StopOnReward,
    encode_animation,
)


def ppo(**settings):
    return PPO("CartPole-v1", PPOConfig(n_steps=16, num_envs=4, epochs=2, hidden_sizes=[16], **settings))


class Recorder:
    def __init__(self):
        self.entries = []

    def scalars(self, values, step):
        self.entries.append((step, values))


def test_hooks_are_called_in_order_and_any_can_stop():
    calls = []

    class Loud(Callback):
        def __init__(self, name, stop_at=None):
            self.name, self.stop_at = name, stop_at

        def on_start(self, agent):
            calls.append(f"{self.name} starts")

        def on_iteration(self, agent, metrics):
            calls.append(f"{self.name} at {agent.num_timesteps}")
            return agent.num_timesteps == self.stop_at

        def on_end(self, agent):
            calls.append(f"{self.name} ends")

    agent = ppo().learn(10_000, callbacks=[Loud("a", stop_at=128), Loud("b")])
    assert agent.num_timesteps == 128
    assert calls == ["a starts", "b starts", "a at 64", "b at 64", "a at 128", "b at 128", "a ends", "b ends"]


def test_evaluation_is_logged_and_the_best_agent_kept(tmp_path):
    path = tmp_path / "best.safetensors"
    callback, recorder = EvaluationCallback(every=256, episodes=3, path=path), Recorder()
    agent = ppo().learn(1_024, callback, logger=recorder)
    assert [step for step, _ in callback.history] == [256, 512, 768, 1_024]
    assert [step for step, values in recorder.entries if "evaluation/return" in values] == [256, 512, 768, 1_024]
    best_step, best = max(callback.history, key=lambda entry: (entry[1], -entry[0]))
    assert callback.best == best
    assert json.loads(path.with_suffix(".json").read_text()) == {"return": best, "step": best_step}
    kept = PPO.load(path)
    assert kept.num_timesteps == best_step
    assert kept.evaluate(episodes=3).mean == best

    resumed = EvaluationCallback(every=256, episodes=3, path=path)
    agent.learn(1_025, resumed)
    assert resumed.best == best


def test_evaluation_does_not_disturb_training():
    parameters = []
    for callbacks in ([], [EvaluationCallback(every=64, episodes=2)]):
        agent = ppo().learn(512, callbacks)
        parameters.append(np.concatenate([p.detach().numpy().ravel() for p in agent.model.parameters()]))
    np.testing.assert_array_equal(*parameters)


def test_only_the_newest_checkpoints_stay(tmp_path):
    ppo().learn(640, CheckpointCallback(tmp_path, every=128, keep=2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step_000000000512.safetensors", "step_000000000640.safetensors"]
    assert PPO.load(tmp_path / names[-1]).num_timesteps == 640


def test_training_stops_on_a_mean_return():
    agent = ppo().learn(100_000, StopOnReward(15.0))
    assert agent.num_timesteps < 5_000
    assert agent.runner.tracker.metrics()["rollout/return"] >= 15.0
    stop = [EvaluationCallback(every=64, episodes=2), StopOnReward(1.0, figure="evaluation/return")]
    assert ppo().learn(100_000, stop).num_timesteps == 64


def test_a_setting_follows_its_schedule():
    agent = ppo(entropy_coef=1.0)
    seen = []

    class Watch(Callback):
        def on_iteration(self, agent, metrics):
            seen.append(agent.config.entropy_coef)

    agent.learn(256, [ScheduleCallback("entropy_coef", Linear(0.1, 0.0)), Watch()])
    np.testing.assert_allclose(seen, [0.075, 0.05, 0.025, 0.0], atol=1e-12)
    with pytest.raises(ValueError, match=r"PPOConfig has no setting 'entropy_coeff'. Did you mean 'entropy_coef'"):
        agent.learn(512, ScheduleCallback("entropy_coeff", Linear(0.1)))


def test_linear_schedules_end_where_they_say():
    assert Linear(2.0)(0.7) == 2.0
    assert [Linear(1.0, 0.0, fraction=0.5)(p) for p in (0.0, 0.25, 0.5, 1.0)] == [1.0, 0.5, 0.0, 0.0]
    with pytest.raises(ValueError, match="fraction must be above 0 and at most 1, got 0"):
        Linear(1.0, 0.0, fraction=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EvaluationCallback(every=0), "every must be at least 1 environment step, got 0"),
        (lambda: CheckpointCallback("x", every=1, keep=0), "keep must be at least 1, got 0"),
    ],
)
def test_wrong_numbers_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_an_animation_holds_every_frame():
    image = pytest.importorskip("PIL.Image")
    import io

    frames = [np.full((3, 5, 3), 40 * n, np.uint8) for n in range(4)]
    film = image.open(io.BytesIO(encode_animation(frames, fps=10)))
    assert film.n_frames == 4
    for index, frame in enumerate(frames):
        film.seek(index)
        np.testing.assert_array_equal(np.asarray(film.convert("RGB")), frame)
        assert film.info["duration"] == pytest.approx(100)
    with pytest.raises(ValueError, match="one shape"):
        encode_animation([frames[0], frames[0][:2]], fps=10)


def test_an_episode_is_filmed(tmp_path):
    pytest.importorskip("pygame")
    image = pytest.importorskip("PIL.Image")
    agent = ppo().learn(64, VideoCallback(tmp_path, every=64, max_steps=5))
    (path,) = tmp_path.iterdir()
    assert path.name == "step_000000000064.png"
    film = image.open(path)
    assert film.n_frames == 6
    assert film.size == (600, 400)
    with pytest.raises(ValueError, match=r"ends in \.png or \.mp4, got 'film.gif'"):
        record_video(agent, tmp_path / "film.gif")
