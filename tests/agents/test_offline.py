"""CQL and IQL learn from recorded steps."""

import numpy as np
import pytest
from gymnasium import spaces

import rlgrad
from rlgrad import nn
from rlgrad.agents import IQL, SAC, CQLConfig, IQLConfig
from rlgrad.agents.cql import conservative_gap
from rlgrad.agents.iql import expectile_loss
from rlgrad.agents.offline import read_dataset

from .worlds import Identity, assert_same_state

BOX = spaces.Box(np.array([0.0, -4.0], np.float32), np.array([10.0, 2.0], np.float32))
SMALL = {"hidden_sizes": [16], "learning_rate": 1e-2, "batch_size": 32, "gradient_steps": 50, "gamma": 0.0}


def random_play(space, steps=2000, seed=0):
    """What a policy that knows nothing recorded in `Identity`, one-step episodes apart from the rest."""
    env = Identity(space)
    obs, _ = env.reset(seed=seed)
    space.seed(seed + 1)
    rows = []
    for _ in range(steps):
        action = space.sample()
        following, reward, _, _, _ = env.step(action)
        rows.append((obs, action, reward, following, False))
        obs = following
    names = ("observations", "actions", "rewards", "next_observations", "terminated")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def cql(env, data, **settings):
    return SAC(env, CQLConfig(**{**SMALL, "conservative_weight": 0.1, "sampled_actions": 3, **settings}), dataset=data)


def iql(env, data, **settings):
    return IQL(env, IQLConfig(**{**SMALL, "expectile": 0.9, "temperature": 10.0, **settings}), dataset=data)


@pytest.mark.parametrize("make", [cql, iql])
@pytest.mark.parametrize("space", [spaces.Discrete(3, start=-1), BOX], ids=["discrete", "box"])
def test_they_find_the_best_actions_among_random_ones(make, space):
    agent = make(lambda: Identity(space), random_play(space))
    before = agent.evaluate(episodes=20).mean
    after = agent.learn(800).evaluate(episodes=20).mean
    assert agent.num_updates == agent.num_timesteps == 800
    if isinstance(space, spaces.Box):
        assert before < -2.5
        assert after > -1.5
    else:
        assert before < 8
        assert after > 9.5


def test_imitation_alone_does_not_find_them():
    space = spaces.Discrete(3)
    agent = iql(lambda: Identity(space), random_play(space), temperature=0.0).learn(300)
    probs = np.exp(agent.policy.net(rlgrad.eye(3)).log_softmax(1).detach().numpy())
    np.testing.assert_allclose(probs, 1 / 3, atol=0.12)


def test_conservative_values_keep_the_policy_near_the_data():
    rng = np.random.default_rng(0)
    action = rng.uniform(-0.3, 0.3, (1000, 1)).astype(np.float32)
    obs = np.zeros((1000, 1), np.float32)
    # Larger actions paid more as far as anyone has seen.
    data = {"observations": obs, "actions": action, "rewards": 5 * action[:, 0], "next_observations": obs}
    data["terminated"] = np.ones(1000, bool)
    space = spaces.Box(-1, 1, (1,))
    reach = {}
    for weight in (0.0, 2.0):
        agent = cql(lambda: Identity(space), data, conservative_weight=weight, alpha=0.01, learn_alpha=False)
        reach[weight] = agent.learn(500).predict(np.zeros(1, np.float32))[0]
    assert reach[0.0] > 0.9
    assert 0.0 < reach[2.0] < 0.5


def test_the_conservative_gap_of_choices_equals_its_formula():
    space = spaces.Discrete(3)
    agent = cql(lambda: Identity(space), random_play(space, 50))
    obs, actions = rlgrad.eye(3), np.array([2, 0, 1])
    q = [critic(obs).detach().numpy() for critic in agent.critics]
    chosen = [rlgrad.from_numpy(value[np.arange(3), actions]) for value in q]
    gap = conservative_gap(agent.policy, agent.critics, obs, obs, chosen, 10, np.random.default_rng(0))
    expected = sum((np.log(np.exp(value).sum(1)) - value[np.arange(3), actions]).mean() for value in q)
    assert gap.item() == pytest.approx(expected, rel=1e-5)


def test_the_conservative_gap_of_continuous_actions_estimates_the_integral():
    space = spaces.Box(-1, 1, (1,))
    agent = cql(lambda: Identity(space), random_play(space, 50))
    obs, grid = rlgrad.zeros(1, 1), np.linspace(-1, 1, 2001, dtype=np.float32)[:, None]
    both = rlgrad.from_numpy(np.hstack([np.zeros_like(grid), grid]))
    chosen = [rlgrad.zeros(1), rlgrad.zeros(1)]
    gap = conservative_gap(agent.policy, agent.critics, obs, obs, chosen, 4000, np.random.default_rng(0)).item()
    exact = sum(np.log(np.exp(critic(both).detach().numpy()).mean() * 2) for critic in agent.critics)
    assert gap == pytest.approx(exact, abs=0.1)


def test_the_expectile_loss_is_least_at_the_expectile():
    samples = np.random.default_rng(0).exponential(1.0, 20_000)
    grid = np.linspace(0.2, 3.0, 281)
    losses = [expectile_loss(rlgrad.tensor(samples - m), 0.8).mean().item() for m in grid]
    best = grid[int(np.argmin(losses))]
    # At the expectile m the weighted deviations on both sides balance.
    above, below = (samples - best).clip(0).mean(), (best - samples).clip(0).mean()
    assert 0.8 * above == pytest.approx(0.2 * below, rel=0.05)


@pytest.mark.parametrize("make", [cql, iql])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(make, tmp_path):
    data = random_play(BOX, 200)
    np.savez(tmp_path / "data.npz", **data)
    settings = {"normalize_observations": True, "n_steps": 3}
    whole = make(lambda: Identity(BOX), data, **settings).learn(100)
    stopped = make(lambda: Identity(BOX), tmp_path / "data.npz", **settings).learn(50)
    stopped.save(tmp_path / "agent")
    resumed = type(stopped).load(tmp_path / "agent", env=lambda: Identity(BOX), dataset=data).learn(100)
    assert_same_state(whole, resumed)
    # Without the data an agent can still act.
    obs = np.zeros(2, np.float32)
    alone = type(stopped).load(tmp_path / "agent", env=lambda: Identity(BOX))
    np.testing.assert_array_equal(alone.predict(obs), stopped.predict(obs))
    with pytest.raises(ValueError, match="give the data set to `load`"):
        alone.learn(100)


def test_mistakes_in_a_data_set_are_named(tmp_path):
    data = random_play(BOX, 10)
    d4rl = {"observations": data["observations"], "actions": data["actions"], "rewards": data["rewards"]}
    d4rl |= {"next_observations": data["next_observations"], "terminals": data["terminated"], "timeouts": np.ones(10)}
    assert read_dataset(d4rl)["terminated"] is d4rl["terminals"]
    with pytest.raises(ValueError, match="has no rewards; it holds observations"):
        read_dataset({name: array for name, array in data.items() if name != "rewards"})
    with pytest.raises(ValueError, match="actions have 9 rows, expected 10"):
        read_dataset({**data, "actions": data["actions"][:9]})
    with pytest.raises(ValueError, match="rewards hold NaN"):
        read_dataset({**data, "rewards": np.full(10, np.nan)})
    with pytest.raises(FileNotFoundError):
        read_dataset(tmp_path / "nothing.npz")
    np.savez(tmp_path / "objects.npz", **{**data, "actions": np.array([{}] * 10, dtype=object)})
    with pytest.raises(ValueError, match="allow_pickle"):
        read_dataset(tmp_path / "objects.npz")
    np.save(tmp_path / "one.npy", data["rewards"])
    with pytest.raises(ValueError, match=r"one\.npy is no data set: expected an \.npz"):
        read_dataset(tmp_path / "one.npy")
    with pytest.raises(ValueError, match=r"Actions of shape \(10, 1\) do not fit Box.*expected \(10, 2\)"):
        iql(lambda: Identity(BOX), {**data, "actions": data["actions"][:, :1]})
    three = random_play(spaces.Discrete(3), 10)
    with pytest.raises(ValueError, match=r"Actions 5 to 5 leave Discrete\(3\)"):
        iql(lambda: Identity(spaces.Discrete(3)), {**three, "actions": np.full(10, 5)})


def test_iql_takes_networks_of_your_own():
    actor, value = nn.Linear(2, 4), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    critics = [nn.Linear(4, 1) for _ in range(3)]
    before = [part.weight.detach().numpy().copy() for part in (actor, value[0], *critics)]
    networks = {"actor": actor, "critics": critics, "value": value}
    agent = IQL(lambda: Identity(BOX), IQLConfig(**SMALL), dataset=random_play(BOX, 100), **networks).learn(50)
    assert agent.policy.net is actor
    assert agent.value is value
    assert list(agent.critics) == critics
    for part, old in zip((actor, value[0], *critics), before, strict=True):
        assert not np.array_equal(part.weight.detach().numpy(), old)
    assert agent.own_modules == ["actor", "critics", "value"]
