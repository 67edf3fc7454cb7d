import copy

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rlgrad
from rlgrad.gan import LOSSES, Batch, GANConfig, GANTrainer, GaussianMixture, frozen, grid, ring
from rlgrad.gan.config import PENALTIES
from rlgrad.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from rlgrad.training.guards import NonFiniteError
from rlgrad.training.metrics import MetricLogger, read_metrics


def small(**options):
    return GANConfig(**({"iterations": 100, "batch_size": 16, "hidden_sizes": (8, 8)} | options))


def arrays(tree, place=""):
    """Every leaf of a state dict with its place, arrays as bytes."""
    if isinstance(tree, dict):
        return [leaf for key, value in tree.items() for leaf in arrays(value, f"{place}/{key}")]
    if isinstance(tree, (list, tuple)):
        return [leaf for index, value in enumerate(tree) for leaf in arrays(value, f"{place}/{index}")]
    if hasattr(tree, "numpy"):
        tree = tree.detach().numpy()
    return [(place, tree.tobytes() if isinstance(tree, np.ndarray) else tree)]


def parameters(module):
    return np.concatenate([p.detach().numpy().ravel().copy() for p in module.parameters()])


def batch_for(trainer, seed=0):
    rng = np.random.default_rng(seed)
    real = rlgrad.from_numpy(rng.normal(size=(16, 2)).astype(np.float32))
    latent = rlgrad.from_numpy(rng.normal(size=(16, 2)).astype(np.float32))
    return Batch(real, trainer.generator(latent))


@pytest.mark.parametrize("r1_gamma", [0.0, 0.5])
def test_step_d_moves_the_discriminator_only_and_leaves_the_generators_graph_whole(r1_gamma):
    trainer = GANTrainer(small(r1_gamma=r1_gamma))
    batch = batch_for(trainer)
    g, d = parameters(trainer.generator), parameters(trainer.discriminator)
    losses = trainer.step_d(batch)
    assert set(losses) == {"discriminator", "r2_penalty", *(["r1_penalty"] if r1_gamma else [])}
    np.testing.assert_array_equal(parameters(trainer.generator), g)
    assert (parameters(trainer.discriminator) != d).any()
    assert all(p.grad is None for p in trainer.generator.parameters())
    trainer.step_g(batch)
    assert (parameters(trainer.generator) != g).any()


def test_step_g_moves_the_generator_only():
    trainer = GANTrainer(small())
    batch = batch_for(trainer)
    g, d = parameters(trainer.generator), parameters(trainer.discriminator)
    trainer.step_g(batch)
    np.testing.assert_array_equal(parameters(trainer.discriminator), d)
    assert (parameters(trainer.generator) != g).any()
    assert all(p.grad is None and p.requires_grad for p in trainer.discriminator.parameters())


def test_steps_go_down_their_own_losses():
    trainer = GANTrainer(small(learning_rate=1e-3, r1_gamma=0.0))
    batch = batch_for(trainer)
    first = trainer.step_d(batch)["discriminator"]
    assert trainer.step_d(batch)["discriminator"] < first
    before = trainer.step_g(batch)["generator"]
    batch = batch_for(trainer)
    assert trainer.step_g(batch)["generator"] < before


@pytest.mark.parametrize("discriminator_frozen", [False, True])
def test_logits_from_before_the_discriminators_step_raise_in_the_generators_backward(discriminator_frozen):
    trainer = GANTrainer(small())
    batch = batch_for(trainer)
    if discriminator_frozen:
        with frozen(trainer.discriminator):
            stale = trainer.discriminator(batch.fake)
    else:
        stale = trainer.discriminator(batch.fake)
    trainer.step_d(batch)
    with pytest.raises(RuntimeError, match=r"(?i)in-?place"):
        trainer.loss.generator(trainer.discriminator(batch.real), stale).backward()


def test_logits_recomputed_after_the_discriminators_step_are_those_of_the_new_discriminator():
    trainer = GANTrainer(small(r1_gamma=0.0))
    batch = batch_for(trainer)
    stale = trainer.loss.generator(trainer.discriminator(batch.real), trainer.discriminator(batch.fake)).item()
    trainer.step_d(batch)
    current = trainer.loss.generator(trainer.discriminator(batch.real), trainer.discriminator(batch.fake)).item()
    assert current != stale
    assert trainer.step_g(batch)["generator"] == pytest.approx(current, rel=1e-6)


@pytest.mark.parametrize("name", ["adam", "rmsprop"])
@pytest.mark.parametrize("r1_gamma", [0.0, 0.1])
def test_100_steps_equal_50_saved_and_resumed_for_50_more_bit_for_bit(tmp_path, name, r1_gamma):
    optimizer = {"name": name}
    whole = GANTrainer(small(r1_gamma=r1_gamma), seed=7, optimizer=optimizer).train()
    GANTrainer(small(r1_gamma=r1_gamma), seed=7, optimizer=optimizer).train(50).save(tmp_path / "half.safetensors")
    resumed = GANTrainer.load(tmp_path / "half.safetensors")
    assert resumed.iteration == 50
    resumed.train()
    assert arrays(resumed.state_dict()) == arrays(whole.state_dict())
    np.testing.assert_array_equal(resumed.sample(20), whole.sample(20))


def test_evaluating_and_sampling_do_not_change_training():
    plain, watched = GANTrainer(small(), seed=1), GANTrainer(small(evaluate_every=10), seed=1)
    plain.train(30)
    for _ in range(3):
        watched.train(10)
        watched.sample(7)
        watched.picture(5)
    np.testing.assert_array_equal(parameters(watched.generator), parameters(plain.generator))


def test_seeds_decide_everything():
    def trained(seed):
        rlgrad.manual_seed(np.random.default_rng().integers(1000).item())
        return parameters(GANTrainer(small(), seed=seed).train(5).generator)

    np.testing.assert_array_equal(trained(3), trained(3))
    assert (trained(3) != trained(4)).any()


def test_making_a_trainer_leaves_the_default_generator_alone():
    rlgrad.manual_seed(5)
    expected = rlgrad.rand(3).numpy().copy()
    rlgrad.manual_seed(5)
    GANTrainer(small()).train(2)
    np.testing.assert_array_equal(rlgrad.rand(3).numpy(), expected)


def test_learning_rate_falls_in_a_line_to_zero():
    trainer = GANTrainer(small(iterations=4, learning_rate=0.8))
    seen = []
    for _ in range(4):
        trainer.train(1)
        seen.append(trainer.optimizer_d.param_groups[0]["lr"])
    np.testing.assert_allclose(seen, [0.8, 0.6, 0.4, 0.2])
    assert trainer.learning_rate == 0.0
    constant = GANTrainer(small(iterations=4, learning_rate=0.8, learning_rate_decay="none")).train()
    assert constant.optimizer_g.param_groups[0]["lr"] == constant.learning_rate == 0.8


def test_samples_are_in_the_datas_units():
    trainer = GANTrainer(small(), data=grid(seed=0))
    assert trainer.sample(6).shape == (6, 2)
    with rlgrad.no_grad():
        for parameter in list(trainer.generator.parameters())[-2:]:
            parameter.zero_()
        list(trainer.generator.parameters())[-1].add_(1.0)
    np.testing.assert_allclose(trainer.sample(6), grid().scale, rtol=1e-6)


def test_a_run_logs_losses_coverage_and_a_picture(tmp_path):
    trainer = GANTrainer(small(iterations=20, log_every=5, evaluate_every=10))
    with MetricLogger(tmp_path) as logger:
        trainer.train(logger=logger, checkpoint_path=tmp_path / "last.safetensors")
    rows = read_metrics(tmp_path)
    assert rows["loss/discriminator"][0].tolist() == rows["loss/generator"][0].tolist() == [5, 10, 15, 20]
    for figure in ("modes", "high_quality", "reverse_kl"):
        assert rows[f"coverage/{figure}"][0].tolist() == [10, 20]
    assert (tmp_path / "samples.png").read_bytes().startswith(b"\x89PNG")
    assert load_checkpoint(tmp_path / "last.safetensors")["iteration"] == 20
    assert any(path.name.startswith("events.out") for path in tmp_path.iterdir())


def test_data_of_three_features_trains_without_a_picture(tmp_path):
    data = GaussianMixture(np.eye(3), 0.1, seed=0)
    trainer = GANTrainer(small(iterations=2), data=data)
    with MetricLogger(tmp_path, tensorboard=False) as logger:
        trainer.train(logger=logger)
    assert trainer.sample(4).shape == (4, 3)
    assert not list(tmp_path.glob("*.png"))


def test_progress_line_shows_losses_and_coverage(capsys):
    GANTrainer(small(iterations=3)).train(progress=True)
    line = capsys.readouterr().err
    for part in ("3/3 iterations", "loss_d", "loss_g", "modes", "/8", "high_quality", "iterations/s", "left"):
        assert part in line


def test_an_interrupt_saves_and_returns(tmp_path):
    class AfterThree:
        asked = 0

        @property
        def requested(self):
            self.asked += 1
            return self.asked > 3

    trainer = GANTrainer(small(), seed=2)
    trainer.train(checkpoint_path=tmp_path / "last.safetensors", interrupt=AfterThree())
    assert trainer.iteration == 3
    resumed = GANTrainer.load(tmp_path / "last.safetensors").train()
    whole = GANTrainer(small(), seed=2).train()
    np.testing.assert_array_equal(parameters(resumed.generator), parameters(whole.generator))


@pytest.mark.parametrize("player", ["generator", "discriminator"])
def test_a_nan_stops_training_with_step_and_parameter_and_keeps_the_last_checkpoint(tmp_path, player):
    path = tmp_path / "last.safetensors"
    trainer = GANTrainer(small(evaluate_every=10))
    trainer.train(12, checkpoint_path=path)
    kept = path.read_bytes()
    with rlgrad.no_grad():
        list(getattr(trainer, player).parameters())[-1].fill_(float("nan"))
    with pytest.raises(NonFiniteError, match=r"step 12.*'discriminator\.body\.0\.weight'"):
        trainer.train(checkpoint_path=path)
    assert path.read_bytes() == kept
    assert GANTrainer.load(path).iteration == 12


def test_more_iterations_than_configured_are_refused():
    trainer = GANTrainer(small(iterations=10)).train(8)
    with pytest.raises(ValueError, match=r"train for 3 iterations with 2 left of config\.iterations=10"):
        trainer.train(3)


def test_a_checkpoint_of_another_kind_is_refused(tmp_path):
    save_checkpoint(tmp_path / "other.safetensors", {"algorithm": "reinforce"})
    with pytest.raises(CheckpointError, match="'reinforce' and one of 'gan' was expected"):
        GANTrainer.load(tmp_path / "other.safetensors")


def test_a_state_saved_with_other_settings_is_refused():
    with pytest.raises(ValueError, match="saved with batch_size=16 and this trainer has 32"):
        GANTrainer(small(batch_size=32)).load_state_dict(GANTrainer(small()).state_dict())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "non_saturing"}, r"Did you mean 'non_saturating'\?"),
        ({"iterations": 0}, "iterations must be an integer of at least 1; got 0"),
        ({"batch_size": 2.5}, r"batch_size must be an integer of at least 1; got 2\.5"),
        ({"latent_dim": True}, "latent_dim must be an integer of at least 1; got True"),
        ({"learning_rate": -1.0}, r"learning_rate must be a positive number; got -1\.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive number; got nan"),
        ({"r1_gamma": -0.1}, r"r1_gamma must be at least 0 .*; got -0\.1"),
        ({"loss": "wasserstein", "r1_gamma": 0.0, "r2_gamma": 0.0}, "unbounded without a limit.*gradient_penalty"),
        ({"penalty_every": 4, "r1_gamma": 0.0, "r2_gamma": 0.0}, "spaces out penalties, and there are none"),
        ({"augment_target": 0.6}, r"augment names nothing: set augment=\[color,translation,cutout\]"),
        ({"n_critic": 0}, "n_critic must be an integer of at least 1; got 0"),
        ({"clip_weights": -1.0}, r"clip_weights must be at least 0 .*; got -1\.0"),
        ({"learning_rate_decay": "liner"}, r"linear, none; got 'liner'\. Did you mean 'linear'\?"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GANConfig(**options)


def test_impossible_sizes_and_names_are_refused():
    with pytest.raises(ValueError, match="hidden_sizes must be at least 1"):
        GANTrainer(small(hidden_sizes=(8, 0)))
    with pytest.raises(ValueError, match=r"unknown data 'rings'.*Did you mean 'ring'\?"):
        GANTrainer(small(), data="rings")
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        GANTrainer(small()).sample(0)


@settings(max_examples=25, deadline=None)
@given(
    loss=st.sampled_from(sorted(LOSSES)),
    n_critic=st.integers(1, 3),
    weights=st.tuples(*[st.sampled_from([0.0, 0.5])] * 4),
    every=st.integers(1, 3),
    clip=st.sampled_from([0.0, 0.05]),
    half_life=st.sampled_from([0.0, 100.0]),
    optimizer=st.sampled_from(["adam", "rmsprop", "sgd"]),
)
def test_options_combine_and_resume_bit_for_bit(
    tmp_path_factory, loss, n_critic, weights, every, clip, half_life, optimizer
):
    assume(loss != "wasserstein" or clip or any(weights))
    assume(every == 1 or any(weights))
    penalties = dict(zip(PENALTIES, weights, strict=True))
    config = small(
        loss=loss, n_critic=n_critic, penalty_every=every, clip_weights=clip, ema_half_life=half_life, **penalties
    )
    path = tmp_path_factory.mktemp("run") / "half.safetensors"
    whole = GANTrainer(config, seed=1, optimizer={"name": optimizer}).train(4)
    GANTrainer(config, seed=1, optimizer={"name": optimizer}).train(2).save(path)
    resumed = GANTrainer.load(path).train(2)
    assert arrays(resumed.state_dict()) == arrays(whole.state_dict())
    assert np.isfinite(whole.sample(5)).all()
    if clip:
        assert abs(parameters(whole.discriminator)).max() <= np.float32(clip)


def test_lazy_penalties_come_every_so_often_with_as_much_more_weight():
    lazy, eager = GANTrainer(small(penalty_every=3, r2_gamma=0.0)), GANTrainer(small(r2_gamma=0.0))
    assert lazy.optimizer_d.param_groups[0]["betas"] == pytest.approx((0.0, 0.99**0.75))
    batch = batch_for(lazy)
    first = lazy.step_d(batch)["r1_penalty"]
    assert first == pytest.approx(3 * eager.step_d(batch)["r1_penalty"], rel=1e-5)
    assert ["r1_penalty" in lazy.step_d(batch) for _ in range(6)] == [False, False, True, False, False, True]
    lazy.train_step()
    assert lazy.optimizer_d.param_groups[0]["lr"] == pytest.approx(0.75e-3)
    assert lazy.optimizer_g.param_groups[0]["lr"] == pytest.approx(1e-3)
    default = GANTrainer(small(penalty_every=3), optimizer={"name": "adam"})
    assert default.optimizer_d.param_groups[0]["betas"] == pytest.approx((0.9**0.75, 0.999**0.75))


def test_the_averaged_generator_follows_by_the_half_life_and_is_what_samples_come_from():
    trainer = GANTrainer(small(ema_half_life=1000.0))
    first = parameters(trainer.average)
    np.testing.assert_array_equal(first, parameters(trainer.generator))
    expected = first.astype(np.float64)
    for step in range(1, 6):
        trainer.train(1)
        half_life = min(1000.0, 0.05 * step * 16)
        expected += (1 - 0.5 ** (16 / half_life)) * (parameters(trainer.generator) - expected)
    np.testing.assert_allclose(parameters(trainer.average), expected, rtol=1e-4, atol=1e-6)
    trainer.average = copy.deepcopy(trainer.average)
    with rlgrad.no_grad():
        for parameter in trainer.average.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(trainer.sample(3), 0)


@pytest.mark.slow
def test_short_training_reaches_every_mode_of_the_ring():
    trainer = GANTrainer(GANConfig(iterations=1000, batch_size=128), data=ring(sigma=0.05, seed=0))
    before = trainer.evaluate()
    after = trainer.train().evaluate()
    assert before["modes"] < 8
    assert after["modes"] == 8
    assert after["high_quality"] > 0.4 > 2 * before["high_quality"]
    assert after["reverse_kl"] < 0.1


@pytest.mark.slow
def test_the_default_run_covers_the_ring_of_eight_with_high_quality():
    coverage = GANTrainer(seed=0).train().evaluate()
    assert coverage["modes"] == 8
    assert coverage["high_quality"] >= 0.9
    assert coverage["reverse_kl"] < 0.05
