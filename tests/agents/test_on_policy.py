"""What A2C, PPO and TRPO must do, on environments whose answers are known."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rlgrad import nn
from rlgrad.agents import A2C, PPO, TRPO, A2CConfig, PPOConfig, TRPOConfig
from rlgrad.envs import make
from rlgrad.training import Callback, CheckpointError, NonFiniteError

from .worlds import Broken, Chain, Endless, Identity, Masked, Pictures, Recall, Stateless, assert_same_state

SMALL = {"hidden_sizes": [16], "num_envs": 4}


def ppo(env, seed=0, **settings):
    settings = {**SMALL, "n_steps": 32, "batch_size": 64, "epochs": 6, "learning_rate": 3e-3, **settings}
    return PPO(env, PPOConfig(**settings), seed=seed)


def a2c(env, seed=0, **settings):
    settings = {**SMALL, "n_steps": 8, "learning_rate": 5e-3, "normalize_advantages": True, **settings}
    return A2C(env, A2CConfig(**settings), seed=seed)


def trpo(env, seed=0, **settings):
    settings = {**SMALL, "n_steps": 32, "max_kl": 0.03, "learning_rate": 5e-3, **settings}
    return TRPO(env, TRPOConfig(**settings), seed=seed)


AGENTS = {"ppo": ppo, "a2c": a2c, "trpo": trpo}
FEED_FORWARD_AND_RECURRENT = [*((name, "none") for name in AGENTS), ("ppo", "lstm"), ("a2c", "gru"), ("trpo", "gru")]


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([3, 2]),
        spaces.MultiBinary(3),
        spaces.Box(np.array([0.0, -4.0], np.float32), np.array([10.0, 2.0], np.float32)),
    ],
    ids=["discrete", "multi_discrete", "multi_binary", "box"],
)
def test_they_learn_the_action_that_the_observation_names(name, space):
    extra = {"gamma": 0.0, "log_std": -0.7}
    agent = AGENTS[name](lambda: Identity(space), **extra)
    before = agent.evaluate(episodes=20).mean
    agent.learn(12_000 if isinstance(space, spaces.Box) else 6_000)
    after = agent.evaluate(episodes=20).mean
    if isinstance(space, spaces.Box):
        assert before < -2.5
        assert after > -1.2
    else:
        assert before < 8
        assert after > 9.5


def test_they_learn_from_images_kept_as_bytes():
    agent = ppo(Pictures, gamma=0.0, learning_rate=2e-3, n_steps=16)
    assert agent.collect().obs.dtype == np.uint8
    agent.learn(2_500)
    assert agent.evaluate(episodes=10).mean > 9


def test_they_learn_from_dicts_of_observations():
    class Named(Identity):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Dict({"noise": spaces.Box(-1, 1, (2,)), "target": spaces.Discrete(3)})

        def observe(self):
            return {"noise": self.np_random.uniform(-1, 1, 2).astype(np.float32), "target": super().observe()}

    agent = a2c(Named, gamma=0.0).learn(8_000)
    assert agent.evaluate(episodes=20).mean > 9.5
    assert agent.predict({"noise": np.zeros(2, np.float32), "target": 2}) == 2


@pytest.mark.parametrize(("name", "kind"), FEED_FORWARD_AND_RECURRENT)
def test_they_solve_the_three_state_chain(name, kind):
    agent = AGENTS[name](Chain, recurrent=kind, recurrent_size=8, gamma=0.9).learn(6_000)
    assert agent.evaluate(episodes=10).mean == 1.0


def test_ppo_solves_the_chain_with_continuous_actions():
    agent = ppo(lambda: Chain(continuous=True), gamma=0.9).learn(6_000)
    assert agent.evaluate(episodes=10).mean == 1.0


@pytest.mark.parametrize("name", AGENTS)
def test_only_a_recurrent_agent_recalls_what_it_saw(name):
    forgetful = AGENTS[name](Recall, gamma=0.9).learn(2_000)
    assert forgetful.evaluate(episodes=100).mean == pytest.approx(0.5, abs=0.2)
    agent = AGENTS[name](Recall, recurrent="gru", recurrent_size=16, gamma=0.9, learning_rate=1e-2).learn(7_000)
    assert agent.evaluate(episodes=50).mean > 0.95


@pytest.mark.parametrize("name", AGENTS)
def test_a_time_limit_does_not_end_the_task(name):
    settings = {"gamma": 0.98, "learning_rate": 2e-2, "max_grad_norm": 10.0, "learning_rate_end": 1e-3}
    if name == "a2c":
        settings["optimizer"] = "adam"
    agent = AGENTS[name](Endless, **settings).learn(16_000)
    assert agent.values(np.zeros((1, 1), np.float32))[0] == pytest.approx(50.0, abs=1.0)
    without = AGENTS[name](Endless, **settings, bootstrap_time_limits=False).learn(4_000)
    assert without.values(np.zeros((1, 1), np.float32))[0] < 10


def test_an_episode_that_ends_is_worth_what_it_paid():
    sums = [(1 - 0.98**k) / 0.02 for k in range(1, 9)]
    agent = ppo(lambda: Endless(terminates=True), gamma=0.98, gae_lambda=1.0).learn(8_000)
    assert agent.values(np.zeros((1, 1), np.float32))[0] == pytest.approx(np.mean(sums), abs=0.5)


@pytest.mark.parametrize(("name", "kind"), FEED_FORWARD_AND_RECURRENT)
def test_the_same_seed_gives_the_same_run_bit_for_bit(name, kind):
    first, second, other = (AGENTS[name]("CartPole-v1", s, recurrent=kind).learn(300) for s in (5, 5, 6))
    assert_same_state(first, second)
    weights = [next(iter(agent.model.parameters())).detach().numpy() for agent in (first, other)]
    assert not np.array_equal(*weights)


@pytest.mark.parametrize(
    ("name", "env", "settings"),
    [
        ("ppo", "CartPole-v1", {"recurrent": "lstm", "n_steps": 17}),
        ("ppo", "Pendulum-v1", {"normalize_observations": True, "normalize_rewards": True}),
        ("ppo", Recall, {"recurrent": "gru", "n_steps": 7, "learning_rate_end": 0.0}),
        ("ppo", Masked, {"n_steps": 7}),
        ("a2c", "CartPole-v1", {"n_steps": 5}),
        ("a2c", Recall, {"recurrent": "lstm", "n_steps": 2}),
        ("trpo", "CartPole-v1", {"n_steps": 17, "normalize_observations": True}),
    ],
)
def test_a_run_that_is_stopped_anywhere_and_resumed_is_the_run_that_was_not(name, env, settings, tmp_path):
    class StopAt(Callback):
        def __init__(self, step):
            self.step = step

        def on_iteration(self, agent, metrics):
            return agent.num_timesteps >= self.step

    total = 1_500
    whole = AGENTS[name](env, **settings).learn(total)
    parts = AGENTS[name](env, **settings).learn(total, StopAt(500))
    parts.save(tmp_path / "agent.safetensors")
    resumed = type(parts).load(tmp_path / "agent.safetensors", env=None if isinstance(env, str) else env)
    assert 500 <= resumed.num_timesteps < total
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resumed.learn(total)
    assert_same_state(whole, resumed)


def test_an_environment_that_does_not_give_its_state_begins_new_episodes_and_says_so(tmp_path):
    ppo(Stateless, n_steps=16).learn(64).save(tmp_path / "agent.safetensors")
    resumed = PPO.load(tmp_path / "agent.safetensors", env=Stateless)
    with pytest.warns(UserWarning, match="Stateless does not give its state, so the resumed run begins new episodes"):
        resumed.learn(128)
    assert set(resumed.runner.tracker.state_dict()["recent"][:, 1]) == {7}


@pytest.mark.parametrize(("name", "kind"), FEED_FORWARD_AND_RECURRENT)
def test_the_probabilities_recorded_are_those_that_actions_were_drawn_with(name, kind):
    # Along whole sequences as step by step: the first gradient step of PPO then starts from a ratio of 1.
    agent = AGENTS[name](Chain, recurrent=kind, n_steps=20)
    agent.learn(200)
    rollout = agent.judge(agent.collect())
    for batch in agent.minibatches(rollout, 20):
        output = agent.policy(batch.obs, batch.sequences.get("policy"))
        log_prob, values = agent.policy.head.log_prob(output, batch.actions), agent.values_of(batch)
        np.testing.assert_allclose(log_prob.detach().numpy(), batch.log_probs.numpy(), atol=1e-5)
        np.testing.assert_allclose(values.detach().numpy(), batch.values.numpy(), atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_sequences_are_cut_where_episodes_begin(kind):
    agent = ppo(Chain, recurrent=kind, n_steps=12)
    agent.learn(100)
    recording = agent.collect()
    rollout = agent.judge(recording)
    values = rollout.values.reshape(recording.rewards.shape)
    for copy in range(agent.num_envs):
        state = tuple(part[:, copy : copy + 1] for part in recording.states["value"])
        for step in range(12):
            if recording.starts[step, copy]:
                state = tuple(np.zeros_like(part) for part in state)
            value, state = agent.value.step(agent.tensor(recording.obs[step, copy : copy + 1]), state)
            assert value.item() == pytest.approx(values[step, copy], abs=1e-5)


class Asked(Masked):
    """The same, telling its masks by a method."""

    def reset(self, **arguments):
        return super().reset(**arguments)[0], {}

    def step(self, action):
        return *super().step(action)[:4], {}

    def action_masks(self):
        return self.allowed()


@pytest.mark.parametrize("env", [Masked, Asked])
def test_masked_actions_are_never_taken_nor_learned_from(env):
    agent = ppo(env).learn(4_000)
    assert agent.evaluate(episodes=10).mean == 5.0
    assert agent.evaluate(episodes=10, deterministic=False).mean > 4.0
    assert agent.predict(np.zeros(1), action_mask=[False, True, False, False]) == 1


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_nan_from_the_environment_names_the_step_and_the_environment(name, what):
    agent = AGENTS[name](lambda: Broken(what), num_envs=2)
    agent.env.__name__ = "Broken"
    with pytest.raises(
        NonFiniteError, match=rf"environment step 6: the {what} is \[?nan.*copy 0 of 2 of Broken, 3 steps"
    ):
        agent.learn(1_000)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_recurrent_agent_hands_its_state_to_the_caller(kind):
    agent = ppo(Recall, recurrent=kind)
    action, state = agent.predict(np.array([1.0, 0.0]))
    assert action in (0, 1)
    _, later = agent.predict(np.zeros(2), state)
    assert not np.array_equal(state[0], later[0])
    batch, states = agent.predict(np.zeros((5, 2)))
    assert batch.shape == (5,)
    assert states[0].shape == (1, 5, 64)


def test_networks_of_ones_own_are_plain_modules(tmp_path):
    def build():
        return {"policy": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), "value": nn.Linear(4, 1)}

    agent = PPO("CartPole-v1", PPOConfig(n_steps=16), num_envs=2, **build()).learn(64)
    agent.save(tmp_path / "agent.safetensors")
    loaded = PPO.load(tmp_path / "agent.safetensors", **build())
    assert_same_state(agent, loaded)
    with pytest.raises(ValueError, match="pass new ones of the same build as policy=, value="):
        PPO.load(tmp_path / "agent.safetensors")


def test_a_vector_environment_is_taken_as_it_is_if_it_resets_in_the_same_step():
    envs = SyncVectorEnv([Identity] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = ppo(envs).learn(500)
    assert agent.num_envs == 3
    assert agent.evaluate(episodes=4, env=Identity).returns.shape == (4,)
    with pytest.raises(ValueError, match="pass `env=` to evaluate"):
        agent.evaluate(episodes=4)
    with pytest.raises(ValueError, match="SAME_STEP"):
        ppo(SyncVectorEnv([Identity] * 3))


@pytest.mark.slow
@pytest.mark.parametrize("vectorization", ["sync", "vector", "envpool"])
def test_every_way_to_run_the_copies_gives_the_same_learning(vectorization):
    if vectorization == "envpool":
        pytest.importorskip("envpool")
    envs = make("CartPole-v1", 8, vectorization=vectorization)
    settings = {"n_steps": 32, "batch_size": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8, "learning_rate": 1e-3}
    agent = PPO(envs, PPOConfig(**settings), seed=1).learn(30_000)
    assert agent.runner.tracker.metrics()["rollout/return"] > 100
    assert agent.evaluate(episodes=50, env="CartPole-v1").mean > 300
    agent.close()


def test_observations_and_rewards_are_normalised_and_returns_are_not():
    seen = []

    class Recorder:
        def scalars(self, values, step):
            seen.append(values)

    agent = ppo("Pendulum-v1", normalize_observations=True, normalize_rewards=True, n_steps=200)
    agent.learn(4_000, logger=Recorder())
    assert agent.observation_stats.count == 4_000
    rollout = agent.judge(agent.collect())
    assert np.abs(rollout.obs.std(0) - 1).max() < 0.3
    assert np.abs(rollout.returns).max() < 50
    assert seen[-1]["rollout/return"] < -500
    frozen = agent.observation_stats.count
    agent.evaluate(episodes=2)
    assert agent.observation_stats.count == frozen


@pytest.mark.gpu
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("kind", [A2C, PPO, TRPO])
def test_an_iteration_on_the_gpu_is_the_one_on_the_cpu(kind, env):
    settings = {"n_steps": 16, "num_envs": 4, "hidden_sizes": [16]}
    agents = [kind(env, kind.config_class(**settings), seed=1, device=device) for device in ("cpu", "cuda")]
    for agent in agents:
        agent.iterate()
    for ours, theirs in zip(*(agent.model.parameters() for agent in agents), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().cpu().numpy(), atol=1e-4)


def test_what_is_logged():
    seen = []

    class Recorder:
        def scalars(self, values, step):
            seen.append((step, values))

    agent = ppo("CartPole-v1").learn(1_000, logger=Recorder())
    assert [step for step, _ in seen] == [128 * n for n in range(1, 9)]
    wanted = {
        "rollout/return", "rollout/length", "loss/policy", "loss/value", "policy/entropy", "policy/kl",
        "policy/clip_fraction", "value/explained_variance", "optimizer/gradient_norm", "optimizer/learning_rate",
        "time/env", "time/inference", "time/update", "time/steps_per_second",
    }  # fmt: skip
    assert wanted <= seen[-1][1].keys()
    assert sum(seen[-1][1][f"time/{part}"] for part in ("env", "inference", "update")) == pytest.approx(1)
    assert agent.runner.tracker.finished > 0


def test_schedules_reach_their_ends():
    agent = ppo("CartPole-v1", learning_rate=1e-3, learning_rate_end=0.0, clip_range_end=0.0)
    rates = []

    class Recorder:
        def scalars(self, values, step):
            rates.append((values["optimizer/learning_rate"], values["policy/clip_range"]))

    agent.learn(1_024, logger=Recorder())
    np.testing.assert_allclose(rates, [(1e-3 * (1 - n / 8), 0.2 * (1 - n / 8)) for n in range(1, 9)], atol=1e-12)


def test_a_policy_that_moved_too_far_ends_the_update():
    agent = ppo("CartPole-v1", target_kl=0.01, epochs=50, learning_rate=1e-2)
    metrics = agent.iterate()
    assert 0.005 < metrics["policy/kl"] < 0.1
    assert 1 < agent.optimizer.state_dict()["state"][0]["step"] < 50 * 2


def test_trpo_stays_within_its_trust_region_and_improves():
    agent = trpo("CartPole-v1", max_kl=0.01)
    seen = [agent.iterate() for _ in range(10)]
    assert all(metrics["policy/kl"] <= 0.01 for metrics in seen)
    assert sum(metrics["policy/step_fraction"] > 0 for metrics in seen) >= 8
    assert max(metrics["policy/kl"] for metrics in seen) > 0.002


def test_conjugate_gradients_solve_a_linear_system():
    import rlgrad
    from rlgrad.agents.trpo import conjugate_gradient

    source = np.random.default_rng(0)
    root = source.normal(size=(6, 6))
    matrix, b = root @ root.T + np.eye(6), source.normal(size=6)
    tensor = rlgrad.from_numpy(matrix)
    x = conjugate_gradient(lambda v: tensor @ v, rlgrad.from_numpy(b), steps=12)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, b), rtol=1e-6)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    path = tmp_path / "agent.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    for kind in (A2C, PPO, TRPO):
        with pytest.raises(CheckpointError, match="pickle"):
            kind.load(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PPOConfig(clip_range=0), "clip_range must be positive, got 0"),
        (lambda: PPOConfig(gae_lambda=1.2), "gae_lambda must lie between 0 and 1, got 1.2"),
        (lambda: PPOConfig(epochs=0), "epochs must be at least 1"),
        (lambda: A2CConfig(n_steps=0), "n_steps must be at least 1"),
        (lambda: A2CConfig(recurrent="rnn"), "recurrent is one of none, lstm, gru, not 'rnn'"),
        (lambda: TRPOConfig(max_kl=-1), "max_kl must be positive"),
    ],
)
def test_settings_out_of_range_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_masks_for_actions_that_have_none_are_refused():
    agent = ppo("Pendulum-v1")
    assert gym.spec("Pendulum-v1").id == agent.env_name
    with pytest.raises(ValueError, match="Action masks are for Discrete and MultiDiscrete"):
        agent.predict(np.zeros(3), action_mask=[True])
