import pickle

import gymnasium as gym
import numpy as np
import pytest

from rlgrad import nn
from rlgrad.agents import Reinforce, ReinforceConfig
from rlgrad.training import CheckpointError, NonFiniteError

from .worlds import Broken, Chain, Endless, Identity, Pictures, assert_same_state

SMALL = {"hidden_sizes": [16], "batch_steps": 64}


def parameters_of(agent):
    return np.concatenate([p.detach().numpy().ravel() for p in agent.policy.parameters()])


@pytest.mark.parametrize("baseline", [True, False])
def test_it_learns_which_action_the_observation_names(baseline):
    config = ReinforceConfig(**SMALL, baseline=baseline)
    agent = Reinforce(Identity, config, seed=0).learn(8_000)
    assert agent.evaluate(episodes=20).mean >= 9.5


def test_advantages_can_lean_on_the_baseline():
    config = ReinforceConfig(**SMALL, gae_lambda=0.9)
    agent = Reinforce(Identity, config, seed=0).learn(8_000)
    assert agent.evaluate(episodes=20).mean >= 9.5
    batch = agent.collect()
    plain = batch.returns - batch.values
    assert 0.3 < np.corrcoef(batch.advantages, plain)[0, 1] < 0.999
    with pytest.raises(ValueError, match=r"gae_lambda below 1 needs the baseline's values, got 0\.9"):
        ReinforceConfig(gae_lambda=0.9, baseline=False)


def test_networks_of_ones_own_are_plain_modules(tmp_path):
    def build():
        return {"policy": nn.Linear(4, 2), "value": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))}

    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL), **build()).learn(100)
    agent.save(tmp_path / "agent.safetensors")
    assert_same_state(agent, Reinforce.load(tmp_path / "agent.safetensors", **build()))


def test_it_learns_from_images():
    config = ReinforceConfig(hidden_sizes=[16], batch_steps=64, learning_rate=5e-3)
    assert Reinforce(Pictures, config, seed=0, num_envs=4).learn(3_000).evaluate(episodes=10).mean > 9


def test_it_learns_continuous_actions():
    config = ReinforceConfig(hidden_sizes=[16], batch_steps=320, gamma=0.0, log_std=-1.0)
    agent = Reinforce(lambda: Identity(gym.spaces.Box(-1, 1, (1,))), config, seed=0)
    before = agent.evaluate(episodes=20).mean
    agent.learn(60_000)
    assert before < -3.0
    assert agent.evaluate(episodes=20).mean > -1.0


def test_it_solves_the_three_state_chain():
    assert Reinforce(Chain, ReinforceConfig(**SMALL, gamma=0.9), seed=0).learn(6_000).evaluate(episodes=10).mean == 1.0


@pytest.mark.slow
def test_it_solves_cartpole():
    agent = Reinforce("CartPole-v1", seed=0).learn(300_000)
    assert agent.solved
    assert agent.num_timesteps < 300_000
    assert agent.evaluate(episodes=100, seed=123).mean >= 475


def test_a_truncated_episode_goes_on_with_the_value_of_the_state_it_stopped_in():
    config = ReinforceConfig(**SMALL, gamma=0.98, baseline_learning_rate=1e-2)
    endless = Reinforce(Endless, config, seed=0).learn(12_000)
    assert endless.values(np.zeros((1, 1), np.float32))[0] == pytest.approx(50.0, abs=1.0)
    # The same rewards with a real end are worth the mean of the sums over 1 to 8 remaining steps.
    ending = Reinforce(lambda: Endless(terminates=True), config, seed=0).learn(12_000)
    sums = [(1 - 0.98**k) / 0.02 for k in range(1, 9)]
    assert ending.values(np.zeros((1, 1), np.float32))[0] == pytest.approx(np.mean(sums), abs=0.5)


def test_without_a_baseline_a_time_limit_counts_as_the_end():
    agent = Reinforce(Endless, ReinforceConfig(**SMALL, baseline=False, gamma=0.5), num_envs=2)
    assert np.unique(agent.collect().returns).max() == pytest.approx(2 - 0.5**7)


def test_a_batch_holds_every_step_of_the_episodes_it_started():
    agent = Reinforce("CartPole-v1", ReinforceConfig(hidden_sizes=[8], batch_steps=150), num_envs=4)
    batch = agent.collect()
    rows = len(batch.returns)
    assert rows == batch.episode_lengths.sum() >= 150
    assert batch.obs.shape == (rows, 4)
    assert batch.actions.shape == (rows,)
    assert batch.steps == agent.num_timesteps >= rows
    np.testing.assert_array_equal(batch.episode_returns, batch.episode_lengths)
    assert agent.num_episodes == len(batch.episode_lengths) >= 4


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("CartPole-v1", {}),
        ("Pendulum-v1", {"normalize_observations": True, "batch_steps": 400}),
        ("Acrobot-v1", {"baseline": False}),
        ("LunarLander-v3", {}),
    ],
)
def test_a_resumed_run_is_the_run_that_was_not_stopped(env, options, tmp_path):
    if env == "LunarLander-v3":
        pytest.importorskip("Box2D")
    config = ReinforceConfig(**{**SMALL, **options})
    first = Reinforce(env, config, seed=3, num_envs=2)
    first.learn(1)
    middle = first.num_timesteps
    first.learn(middle + 1)
    first.save(tmp_path / "middle.safetensors")
    target = first.num_timesteps + 2 * middle
    first.learn(target)

    second = Reinforce.load(tmp_path / "middle.safetensors")
    assert second.config == config
    second.learn(target)
    assert second.num_updates == first.num_updates > 2
    assert_same_state(first, second)


def test_the_same_seed_gives_the_same_run_bit_for_bit():
    config = ReinforceConfig(**SMALL)
    first, second, other = (Reinforce("CartPole-v1", config, seed=s).learn(600) for s in (5, 5, 6))
    assert_same_state(first, second)
    assert not np.array_equal(parameters_of(first), parameters_of(other))


def test_evaluation_repeats_and_leaves_training_alone():
    agents = [Reinforce("CartPole-v1", ReinforceConfig(**SMALL), seed=1) for _ in range(2)]
    for agent in agents:
        agent.learn(200)
        if agent is agents[0]:
            result = agent.evaluate(episodes=7)
            np.testing.assert_array_equal(result.returns, agent.evaluate(episodes=7).returns)
            assert len(result.returns) == len(result.lengths) == 7
            agent.evaluate(episodes=3, deterministic=False)
        agent.learn(500)
    assert_same_state(*agents)


def test_training_stops_once_the_environment_is_solved_and_only_then():
    solved = Reinforce(Identity, ReinforceConfig(**SMALL, solved_return=9.0, solved_episodes=20), seed=0)
    solved.learn(20_000)
    assert solved.solved
    assert solved.num_timesteps < 20_000
    never = Reinforce("CartPole-v1", ReinforceConfig(**SMALL, solved_return=float("inf"))).learn(2_000)
    assert not never.solved
    assert never.num_timesteps >= 2_000


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_a_loaded_agent_acts_as_the_saved_one(env, tmp_path):
    agent = Reinforce(env, ReinforceConfig(**SMALL, normalize_observations=True)).learn(100)
    agent.save(tmp_path / "agent.safetensors")
    loaded = Reinforce.load(tmp_path / "agent.safetensors")
    obs = np.random.default_rng(0).uniform(-1, 1, size=(50, agent.observations.dim))
    np.testing.assert_array_equal(agent.predict(obs), loaded.predict(obs))
    for seed in range(3):
        drawn = [a.predict(obs, deterministic=False, generator=np.random.default_rng(seed)) for a in (agent, loaded)]
        np.testing.assert_array_equal(*drawn)


def test_an_agent_made_from_a_function_needs_it_again_to_load(tmp_path):
    agent = Reinforce(Identity, ReinforceConfig(**SMALL)).learn(100)
    agent.save(tmp_path / "agent.safetensors")
    with pytest.raises(ValueError, match="pass `env=`"):
        Reinforce.load(tmp_path / "agent.safetensors")
    assert_same_state(agent, Reinforce.load(tmp_path / "agent.safetensors", env=Identity))


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    path = tmp_path / "agent.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError, match="pickle"):
        Reinforce.load(path)
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    from rlgrad.training import save_checkpoint

    save_checkpoint(tmp_path / "other.safetensors", {"weight": np.zeros(3)})
    with pytest.raises(CheckpointError, match="not a checkpoint of an agent"):
        Reinforce.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_nan_from_the_environment_names_the_step_and_the_environment(what):
    agent = Reinforce(lambda: Broken(what), ReinforceConfig(**SMALL), num_envs=2)
    agent.env.__name__ = "Broken"
    with pytest.raises(NonFiniteError, match=rf"environment step \d+: the {what} is \[?nan.*copy 0 of 2 of Broken"):
        agent.learn(1_000)


def test_a_nan_loss_stops_the_update_and_names_the_parameter():
    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL))
    batch = agent.collect()
    before = parameters_of(agent)
    batch.obs[3] = np.nan
    with pytest.raises(NonFiniteError, match=r"step \d+.*loss 'policy' is nan.*net\.0\.weight"):
        agent.update(batch)
    np.testing.assert_array_equal(parameters_of(agent), before)


def test_a_run_that_fails_keeps_its_last_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "agent.safetensors"
    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL))
    collect = agent.collect

    def poisoned():
        batch = collect()
        if agent.num_updates == 3:
            batch.obs[:] = np.nan
        return batch

    monkeypatch.setattr(agent, "collect", poisoned)
    with pytest.raises(NonFiniteError):
        agent.learn(10_000, checkpoint_path=path)
    assert np.isfinite(parameters_of(Reinforce.load(path))).all()


def test_an_interrupt_saves_and_returns(tmp_path):
    class Requested:
        requested = True

    path = tmp_path / "agent.safetensors"
    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL)).learn(
        10_000, checkpoint_path=path, interrupt=Requested()
    )
    assert agent.num_updates == 1
    assert_same_state(agent, Reinforce.load(path))


def test_the_logger_receives_every_update():
    seen = []

    class Recorder:
        def scalars(self, values, step):
            seen.append((step, values))

    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL)).learn(500, logger=Recorder())
    assert len(seen) == agent.num_updates
    assert seen[-1][0] == agent.num_timesteps
    assert {"rollout/return", "rollout/length", "loss/policy", "loss/baseline", "policy/entropy"} <= seen[0][1].keys()
    assert all(np.isfinite(list(values.values())).all() for _, values in seen)


def test_predict_takes_one_observation_or_a_batch_and_refuses_others():
    agent = Reinforce("CartPole-v1", ReinforceConfig(**SMALL))
    assert agent.predict(np.zeros(4)) in (0, 1)
    assert agent.predict(np.zeros((3, 4))).shape == (3,)
    with pytest.raises(ValueError, match=r"shape \(5,\).*expected \(4,\)"):
        agent.predict(np.zeros(5))
    with pytest.raises(TypeError, match="array of numbers"):
        agent.predict("left")
    pendulum = Reinforce("Pendulum-v1", ReinforceConfig(**SMALL))
    action = pendulum.predict(np.zeros(3), deterministic=False)
    assert action.shape == (1,)
    assert pendulum.envs.single_action_space.contains(action)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
        ({"gamma": 1.5}, "gamma must lie between 0 and 1, got 1.5"),
        ({"batch_steps": 0}, "batch_steps must be at least 1"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        ReinforceConfig(**settings)


def test_mistakes_in_the_constructor_are_named():
    with pytest.raises(TypeError, match="config must be a ReinforceConfig, got dict"):
        Reinforce("CartPole-v1", {"gamma": 0.9})
    with pytest.raises(ValueError, match=r"Unknown activation 'than'.*Did you mean 'tanh'"):
        Reinforce("CartPole-v1", ReinforceConfig(activation="than"))

    class Wordy(Endless):
        observation_space = gym.spaces.Text(5)

    with pytest.raises(TypeError, match=r"Text.* is not supported: expected Box"):
        Reinforce(Wordy)
    with pytest.raises(ValueError, match="total_timesteps must be at least 1, got 0"):
        Reinforce("CartPole-v1", ReinforceConfig(**SMALL)).learn(0)
