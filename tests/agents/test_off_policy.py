"""What DQN, TD3 (with DDPG) and SAC must do, on environments whose answers are known."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import rlgrad
from rlgrad import nn
from rlgrad.agents import DQN, PPO, SAC, TD3, DDPGConfig, DQNConfig, SACConfig, TD3Config
from rlgrad.training import NonFiniteError

from .worlds import Broken, Chain, Endless, Identity, assert_same_state

SMALL = {"hidden_sizes": [16], "learning_rate": 1e-2, "learning_starts": 64, "buffer_size": 4000, "batch_size": 32}
VARIANTS = {
    "plain": {"double": False},
    "double": {},
    "dueling": {"dueling": True},
    "prioritized": {"prioritized": True, "priority_beta_steps": 1000},
    "n_step": {"n_steps": 3},
    "categorical": {"distribution": "categorical", "atoms": 21, "v_min": -2.0, "v_max": 2.0},
    "quantile": {"distribution": "quantile", "atoms": 8},
    "noisy": {"noisy": True, "exploration_steps": 200, "exploration_final": 0.0},
}
VARIANTS["rainbow"] = {
    **VARIANTS["dueling"],
    **VARIANTS["prioritized"],
    **VARIANTS["n_step"],
    **VARIANTS["categorical"],
    **VARIANTS["noisy"],
}


def dqn(env, seed=0, **settings):
    schedule = {"exploration_steps": 500, "target_update_interval": 50, "train_freq": 2, "gradient_steps": 1}
    return DQN(env, DQNConfig(**{**SMALL, **schedule, **settings}), seed=seed)


def sac(env, seed=0, **settings):
    return SAC(env, SACConfig(**{**SMALL, "tau": 0.02, "train_freq": 2, **settings}), seed=seed)


def td3(env, seed=0, config=TD3Config, **settings):
    return TD3(env, config(**{**SMALL, "tau": 0.02, "train_freq": 2, **settings}), seed=seed)


def ddpg(env, seed=0, **settings):
    return td3(env, seed, DDPGConfig, **settings)


CONTINUOUS = {"td3": td3, "ddpg": ddpg, "sac": sac}
EVERY = {"dqn": dqn, "sac_discrete": sac, **CONTINUOUS}


def endless(continuous, terminates=False):
    def build():
        env = Endless(terminates)
        env.action_space = spaces.Box(-1, 1, (1,)) if continuous else env.action_space
        return env

    return build


@pytest.mark.parametrize("variant", VARIANTS)
def test_dqn_learns_the_action_that_the_observation_names(variant):
    agent = dqn(lambda: Identity(spaces.Discrete(3, start=-1)), gamma=0.5, **VARIANTS[variant])
    assert agent.evaluate(episodes=20).mean < 8
    assert agent.learn(700).evaluate(episodes=20).mean > 9.5


class Pictured(Identity):
    """Its observation is a picture of 6 x 6 pixels in which a row is lit."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(0, 255, (6, 6, 1), np.uint8)

    def observe(self):
        picture = np.zeros((6, 6, 1), np.uint8)
        picture[2 * super().observe()] = 255
        return picture


@pytest.mark.parametrize("make", [dqn, sac])
def test_they_learn_from_pictures_that_stay_bytes(make):
    entropy = {} if make is dqn else {"entropy_ratio": 0.1}
    agent = make(Pictured, gamma=0.0, learning_rate=2e-3, **entropy).learn(600)
    assert agent.buffer.obs.dtype == agent.buffer.next_obs.dtype == np.uint8
    assert agent.buffer.obs.shape[1:] == (1, 6, 6)
    assert agent.evaluate(episodes=20).mean > 9.5


def test_discrete_sac_learns_the_action_that_the_observation_names():
    agent = sac(Identity, gamma=0.0, entropy_ratio=0.1).learn(800)
    assert agent.evaluate(episodes=20).mean > 9.5


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_actions_fill_bounds_that_are_not_symmetric(name):
    space = spaces.Box(np.array([0.0, -4.0], np.float32), np.array([10.0, 2.0], np.float32))
    agent = CONTINUOUS[name](lambda: Identity(space), gamma=0.0)
    before = agent.evaluate(episodes=20).mean
    after = agent.learn(1000).evaluate(episodes=20).mean
    assert before < -2.5
    assert after > -1.2


@pytest.mark.parametrize("variant", ["plain", "n_step", "quantile", "rainbow"])
def test_dqn_solves_the_three_state_chain(variant):
    assert dqn(Chain, gamma=0.9, **VARIANTS[variant]).learn(1200).evaluate(episodes=10).mean == 1.0


@pytest.mark.parametrize("name", CONTINUOUS)
def test_they_solve_the_chain_with_continuous_actions(name):
    agent = CONTINUOUS[name](lambda: Chain(continuous=True), gamma=0.9, learning_starts=300)
    assert agent.learn(1000).evaluate(episodes=10).mean == 1.0


def test_discrete_sac_solves_the_chain():
    assert sac(Chain, gamma=0.9, entropy_ratio=0.2).learn(1200).evaluate(episodes=10).mean == 1.0


def value_of(agent):
    """What the agent takes the only state of `Endless` to be worth."""
    obs = agent.tensor(np.zeros((1, 1), np.float32))
    if isinstance(agent, DQN):
        return float(agent.q_values(agent.q_network, obs).max())
    if isinstance(agent, SAC):
        return float(agent.policy.expectations(agent.critics, obs, np.random.default_rng(0))[0])
    return float(np.mean([critic(obs_and(agent, obs)).item() for critic in agent.critics]))


def obs_and(agent, obs):
    return agent.tensor(np.concatenate([obs.numpy(), agent.actor(obs).detach().numpy()], 1))


@pytest.mark.parametrize("name", EVERY)
def test_a_time_limit_is_not_the_end_of_the_task(name):
    settings = {"gamma": 0.98, "batch_size": 16, "train_freq": 4, "gradient_steps": 4}
    settings |= {"dqn": {"target_update_interval": 4}, "td3": {"tau": 0.5, "policy_delay": 1}}.get(name, {"tau": 0.5})
    if "sac" in name:
        settings |= {"alpha": 1e-6, "learn_alpha": False}
    continuous = name in CONTINUOUS
    agent = EVERY[name](endless(continuous), **settings).learn(3000 if name == "dqn" else 1000)
    assert value_of(agent) == pytest.approx(50.0, abs=1.0)
    # With a real end, one transition in eight leads to nothing: V = 1 + 0.98 * 7 / 8 V. The Huber loss of DQN is
    # nearer to the median of what follows than to its mean.
    ending = EVERY[name](endless(continuous, terminates=True), **settings).learn(500)
    if name == "dqn":
        assert value_of(ending) < 47.0
    else:
        assert value_of(ending) == pytest.approx(1 / (1 - 0.98 * 7 / 8), abs=3.0)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("dqn", VARIANTS["double"]), ("dqn", VARIANTS["rainbow"]), ("dqn", VARIANTS["quantile"]), ("sac_discrete", {})],
    ids=["dqn", "rainbow", "quantile", "sac"],
)
def test_the_same_seed_gives_the_same_run_and_another_does_not(name, settings):
    first, second, other = (EVERY[name](Identity, seed, num_envs=3, **settings).learn(300) for seed in (5, 5, 6))
    assert_same_state(first, second)
    assert not np.array_equal(first.buffer.obs, other.buffer.obs)


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (dqn, {}),
        (dqn, {**VARIANTS["rainbow"], "normalize_observations": True}),
        (dqn, {**VARIANTS["prioritized"], **VARIANTS["quantile"], "buffer_size": 150}),
        (sac, {}),
        (sac, {"continuous": True, "n_steps": 3, "normalize_observations": True}),
        (td3, {"continuous": True, "noise": "ou", "policy_delay": 3}),
        (ddpg, {"continuous": True}),
    ],
    ids=["dqn", "rainbow", "prioritized", "sac-discrete", "sac", "td3", "ddpg"],
)
def test_a_run_that_was_stopped_goes_on_bit_for_bit(make, settings, tmp_path):
    settings = {**settings, "num_envs": 3}
    env = Chain if not settings.pop("continuous", False) else lambda: Chain(continuous=True)
    whole = make(env, **settings).learn(400)
    stopped = make(env, **settings).learn(200)
    stopped.save(tmp_path / "agent")
    resumed = type(stopped).load(tmp_path / "agent", env=env)
    # The environments are Python objects that cannot give their state: they are handed over as they are.
    resumed.envs, resumed.runner = stopped.envs, stopped.runner
    resumed.learn(400)
    assert 0 < stopped.num_updates < resumed.num_updates
    assert_same_state(whole, resumed)


@pytest.mark.parametrize(
    ("make", "env", "settings"),
    [(dqn, "CartPole-v1", VARIANTS["rainbow"]), (td3, "Pendulum-v1", {"noise": "ou"}), (sac, "Pendulum-v1", {})],
    ids=["rainbow", "td3", "sac"],
)
def test_a_run_goes_on_in_the_middle_of_episodes(make, env, settings, tmp_path):
    whole = make(env, num_envs=2, **settings).learn(260)
    stopped = make(env, num_envs=2, **settings).learn(130)
    stopped.save(tmp_path / "agent")
    assert_same_state(type(stopped).load(tmp_path / "agent").learn(260), whole)


def test_mistakes_are_named_where_they_are_made():
    with pytest.raises(TypeError, match="DQN chooses among Discrete actions"):
        dqn("Pendulum-v1")
    with pytest.raises(TypeError, match="TD3 needs a Box of actions with finite bounds"):
        td3("CartPole-v1")
    with pytest.raises(TypeError, match="SAC needs a Box of actions with finite bounds"):
        sac(lambda: Identity(spaces.Box(-np.inf, np.inf, (1,))))
    data = {"observations": np.zeros((4, 4)), "actions": np.zeros(4, int), "rewards": np.zeros(4)}
    data |= {"next_observations": data["observations"], "terminated": np.ones(4, bool)}
    with pytest.raises(ValueError, match="prioritized is for steps of the agent's own"):
        DQN("CartPole-v1", DQNConfig(prioritized=True), dataset=data)
    for config, wrong in [
        (DQNConfig, {"distribution": "median"}),
        (DQNConfig, {"v_min": 1.0, "v_max": 1.0}),
        (DQNConfig, {"tau": 1.5}),
        (DQNConfig, {"gradient_steps": 0}),
        (TD3Config, {"policy_delay": 0}),
        (TD3Config, {"noise": "pink"}),
        (SACConfig, {"alpha": 0.0}),
        (SACConfig, {"batch_size": 0}),
    ]:
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            config(**wrong)


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_number_that_is_none_stops_training(what):
    with pytest.raises(NonFiniteError, match=what):
        dqn(lambda: Broken(what)).learn(100)


@pytest.mark.parametrize("name", ["td3", "sac"])
def test_networks_of_your_own_take_the_place_of_the_default_ones(name):
    width = 2 if name == "sac" else 1
    actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, width), nn.Tanh())
    critics = [nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(3)]
    kind, config = (SAC, SACConfig) if name == "sac" else (TD3, TD3Config)
    before = actor[0].weight.detach().clone()
    agent = kind("Pendulum-v1", config(learning_starts=20, batch_size=8), actor=actor, critics=critics).learn(30)
    assert (agent.policy.net if name == "sac" else agent.actor) is actor
    assert len(list(agent.critics)) == 3
    assert not np.array_equal(before.numpy(), actor[0].weight.detach().numpy())


def test_a_q_network_of_your_own_takes_the_place_of_the_default_one():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    agent = DQN("CartPole-v1", DQNConfig(learning_starts=20, batch_size=8), q_network=net).learn(40)
    assert agent.q_network is net
    assert agent.predict(np.zeros(4, np.float32)) in (0, 1)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: PPO("CartPole-v1", policy=nn.Linear(4, 3)),
            r"policy= has to make \(2, 2\) of \(2, 4\), and makes \(2, 3\)",
        ),
        (
            lambda: PPO("CartPole-v1", policy=nn.Linear(5, 2)),
            r"policy= has to take arrays of shape \(2, 4\), and fails",
        ),
        (lambda: PPO("Pendulum-v1", value=nn.Flatten(0)), r"value= has to make \(2, 1\)"),
        (
            lambda: DQN("CartPole-v1", DQNConfig(dueling=True), q_network=nn.Linear(4, 2)),
            r"q_network= has to make \(2, 3\)",
        ),
        (lambda: SAC("Pendulum-v1", actor=nn.Linear(3, 1)), r"actor= has to make \(2, 2\)"),
        (lambda: SAC("CartPole-v1", critics=[nn.Linear(4, 2), nn.Linear(4, 1)]), r"critics= has to make \(2, 2\)"),
        (lambda: TD3("Pendulum-v1", critics=[nn.Linear(3, 1)]), r"critics= has to take arrays of shape \(2, 4\)"),
    ],
)
def test_a_network_of_your_own_that_does_not_fit_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_loading_asks_for_the_networks_that_were_given(tmp_path):
    networks = {"actor": nn.Linear(3, 1), "critics": [nn.Linear(4, 1)]}
    TD3("Pendulum-v1", TD3Config(critics=1, buffer_size=10), **networks).save(tmp_path / "agent")
    with pytest.raises(ValueError, match=r"given networks of its own: .* as actor=, critics="):
        TD3.load(tmp_path / "agent")
    new = {"actor": nn.Linear(3, 1), "critics": [nn.Linear(4, 1)]}
    TD3.load(tmp_path / "agent", **new)
    np.testing.assert_array_equal(new["actor"].weight.detach().numpy(), networks["actor"].weight.detach().numpy())


def test_a_parameter_that_is_no_number_is_named():
    agent = dqn("CartPole-v1").learn(66)
    with rlgrad.no_grad():
        agent.q_network[2].bias[0] = np.nan
    before = agent.q_network[0].weight.detach().clone()
    with pytest.raises(
        NonFiniteError, match=r"the loss 'q' is nan and the gradient of parameter 'q_network\.0\.weight'"
    ):
        agent.learn(70)
    np.testing.assert_array_equal(agent.q_network[0].weight.detach().numpy(), before.numpy())


def test_dropout_is_for_updates_alone():
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
    config = DQNConfig(learning_starts=20, batch_size=8, exploration_initial=0.0, exploration_final=0.0)
    agent = DQN("CartPole-v1", config, q_network=net)
    modes = []
    net.register_forward_pre_hook(lambda module, _: modes.append((module.training, module[2].training)))
    agent.learn(40)
    assert set(modes) == {(False, False), (True, True)}
    modes.clear()
    agent.predict(np.zeros(4, np.float32))
    agent.act(np.zeros((1, 4), np.float32), np.random.default_rng(0))
    assert set(modes) == {(False, False)}
    assert not agent.target_network.training


@pytest.mark.parametrize("variant", ["plain", "prioritized", "categorical", "noisy"])
def test_asking_the_target_network_once_for_a_round_changes_no_update(variant):
    together, apart = (dqn("CartPole-v1", gradient_steps=12, **VARIANTS[variant]) for _ in range(2))
    apart.prepare = lambda drawn: None
    seen = []
    asked = together.prepare
    together.prepare = lambda drawn: (asked(drawn), seen.append((len(drawn.index), drawn.following is not None)))
    for agent in (together, apart):
        agent.learn(66)
    assert seen == {"prioritized": [(32, True)] * 12, "noisy": [(384, False)]}.get(variant, [(384, True)])
    for one, other in zip(together.q_network.parameters(), apart.q_network.parameters(), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_the_target_network_follows_at_its_interval_only():
    agent = dqn("CartPole-v1", target_update_interval=100, learning_starts=10)
    weights = [p.detach().numpy().copy() for p in agent.target_network.parameters()]
    agent.learn(98)
    assert agent.num_updates > 0
    for old, new in zip(weights, agent.target_network.parameters(), strict=True):
        np.testing.assert_array_equal(old, new.detach().numpy())
    # The step that reaches the mark copies before it trains again.
    agent.collect()
    agent.collect()
    for online, target in zip(agent.q_network.parameters(), agent.target_network.parameters(), strict=True):
        np.testing.assert_array_equal(online.detach().numpy(), target.detach().numpy())


def test_epsilon_falls_with_environment_steps():
    agent = dqn("CartPole-v1", num_envs=4, exploration_steps=400, exploration_final=0.1, learning_starts=10_000)
    assert agent.epsilon == 1.0
    agent.learn(200)
    assert agent.epsilon == pytest.approx(1.0 - 0.9 * agent.num_timesteps / 400)
    agent.learn(500)
    assert agent.epsilon == pytest.approx(0.1)
    assert agent.num_updates == 0


@pytest.mark.parametrize(("make", "env"), [(dqn, "CartPole-v1"), (sac, "Pendulum-v1")])
def test_the_learning_rate_of_every_optimizer_falls_to_its_end(make, env):
    agent = make(env, learning_rate=1e-2, learning_rate_end=2e-3, train_freq=1)
    agent.total_timesteps = 1000
    for reached, rate in [(100, 1e-2 - 0.1 * 8e-3), (1000, 2e-3), (5000, 2e-3)]:
        agent.num_timesteps = reached - 1
        agent.iterate()
        found = [optimizer.param_groups[0]["lr"] for optimizer in agent.optimizers]
        assert found == pytest.approx([rate] * (1 if make is dqn else 3))


def test_updates_come_as_often_as_set():
    agent = dqn("CartPole-v1", num_envs=4, train_freq=8, gradient_steps=-1, learning_starts=32)
    agent.learn(128)
    assert agent.num_updates == 96


def test_what_was_truncated_is_stored_with_the_observation_it_ended_in():
    class Counter(gym.Env):
        observation_space = spaces.Box(0, 100, (1,))
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.count = 0
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.count += 1
            return np.full(1, self.count, np.float32), 0.0, self.count == 5 and action == 1, self.count == 5, {}

    agent = dqn(Counter, num_envs=2, learning_starts=1000).learn(200)
    buffer = agent.buffer
    rows = slice(0, buffer.size)
    np.testing.assert_array_equal(buffer.next_obs[rows], buffer.obs[rows] + 1)
    np.testing.assert_array_equal(buffer.truncated[rows], buffer.obs[rows, 0] == 4)
    assert 0 < buffer.terminated[rows].sum() < buffer.truncated[rows].sum()
