"""Training on images: every network, labels, augmentation, packs; resumed bit for bit."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rlgrad
from rlgrad.cli import sample as sample_command
from rlgrad.gan import ArraySource, GANConfig, GANTrainer
from rlgrad.training.metrics import MetricLogger, read_metrics

from .test_trainer import arrays, parameters


def source(seed=0, size=8, n=37, channels=1):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    images = np.clip(rng.normal(size=(3, channels, size, size))[labels] + 0.1 * rng.normal(size=(n, 1, 1, 1)), -1, 1)
    return ArraySource(images, labels, images[:12], seed)


def small(**options):
    defaults = {"iterations": 10, "batch_size": 8, "latent_dim": 4, "hidden_sizes": (8,), "channels": 4, "net": "dcgan"}
    return GANConfig(**(defaults | options))


@settings(max_examples=20, deadline=None)
@given(
    net=st.sampled_from(["mlp", "dcgan", "resnet"]),
    loss=st.sampled_from(["relativistic", "hinge", "non_saturating"]),
    norm=st.sampled_from(["none", "batch", "spectral"]),
    conditional=st.sampled_from(["none", "projection", "auxiliary"]),
    penalty=st.sampled_from(["none", "r1", "gradient"]),
    minibatch=st.tuples(st.booleans(), st.booleans()),
    pack=st.sampled_from([1, 2]),
    augment=st.sampled_from([(), ("translation", "cutout"), ("color",)]),
    target=st.sampled_from([0.0, 0.6]),
    half_life=st.sampled_from([0.0, 50.0]),
    accumulate=st.sampled_from([1, 2]),
)
def test_options_combine_and_resume_bit_for_bit(
    tmp_path_factory,
    net,
    loss,
    norm,
    conditional,
    penalty,
    minibatch,
    pack,
    augment,
    target,
    half_life,
    accumulate,
):
    assume(norm != "batch" or penalty == "none")
    assume(conditional == "none" or pack == 1)
    assume(augment or not target)
    config = small(
        net=net,
        loss=loss,
        discriminator_norm=norm,
        conditional=conditional,
        r1_gamma=0.5 if penalty == "r1" else 0.0,
        r2_gamma=0.0,
        gradient_penalty=0.5 if penalty == "gradient" else 0.0,
        minibatch_std=minibatch[0],
        minibatch_discrimination=minibatch[1],
        pack=pack,
        augment=augment,
        augment_target=target,
        ema_half_life=half_life,
        accumulate=accumulate,
    )
    path = tmp_path_factory.mktemp("run") / "half.safetensors"
    whole = GANTrainer(config, source(), seed=1).train(4)
    GANTrainer(config, source(), seed=1).train(2).save(path)
    resumed = GANTrainer.load(path, data=source(seed=5)).train(2)
    assert arrays(resumed.state_dict()) == arrays(whole.state_dict())
    assert np.isfinite(whole.sample(5)).all()


def test_a_conditional_generator_learns_its_classes():
    config = small(
        iterations=600,
        batch_size=32,
        net="mlp",
        hidden_sizes=(32,),
        conditional="projection",
        r1_gamma=0.5,
        r2_gamma=0.5,
    )
    figures = GANTrainer(config, source(n=300), seed=0).train().evaluate()
    assert figures["class_fidelity"] > 0.8  # a third by chance


def test_accumulated_gradients_equal_those_of_one_large_batch():
    whole, pieces = (
        GANTrainer(small(net="mlp", batch_size=n, accumulate=k, loss="hinge"), source(), optimizer={"name": "sgd"})
        for n, k in ((16, 1), (8, 2))
    )
    # Latents are drawn in the order of use, so that two batches of 8 are the rows of one of 16.
    for trainer in (whole, pieces):
        trainer.train(1)
    np.testing.assert_allclose(parameters(whole.generator), parameters(pieces.generator), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(parameters(whole.discriminator), parameters(pieces.discriminator), rtol=1e-4, atol=1e-7)


def test_real_and_generated_images_have_batch_statistics_of_their_own():
    trainer = GANTrainer(
        small(discriminator_norm="batch", r1_gamma=0.0, r2_gamma=0.0, loss="hinge", channels=4), source(size=16)
    )
    seen = []
    norm = next(m for m in trainer.discriminator.modules() if isinstance(m, rlgrad.nn.BatchNorm2d))
    norm.register_forward_hook(lambda module, args, output: seen.append(args[0].shape[0]))
    trainer.train_step()
    assert seen == [8, 8, 8]  # real, generated, and generated again in the generator's step; never 16


def test_sampling_uses_running_statistics_and_leaves_them_alone():
    trainer = GANTrainer(small(), source()).train(3)
    before = arrays(trainer.generator.state_dict())
    latent = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    together = trainer.sample(5, latent=latent)
    alone = np.concatenate([trainer.sample(1, latent=row[None]) for row in latent])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)
    assert arrays(trainer.generator.state_dict()) == before
    assert trainer.generator.training


def test_a_run_on_images_logs_figures_samples_and_interpolation(tmp_path):
    trainer = GANTrainer(small(conditional="projection", log_every=2, evaluate_every=5), source())
    with MetricLogger(tmp_path) as logger:
        trainer.train(logger=logger)
    rows = read_metrics(tmp_path)
    for name in ("recall", "coverage", "copies", "feature_fid", "class_fidelity"):
        assert rows[f"coverage/{name}"][0].tolist() == [5, 10]
    for name in ("discriminator/accuracy_real", "gradient_norm/generator", "loss/r1_penalty"):
        assert name in rows
    for name in ("samples", "interpolation"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_are_of_the_same_latents_every_time_with_classes_in_columns():
    trainer = GANTrainer(small(conditional="projection"), source())
    picture = trainer.picture()
    np.testing.assert_array_equal(trainer.picture(), picture)
    side = picture.shape[0] // 8
    assert picture.shape == (8 * side, 3 * side, 3)
    trainer.train(2)
    assert (trainer.picture() != picture).any()
    assert trainer.picture(2).shape == (side, 2 * side, 3)
    assert GANTrainer(small(), source()).picture().shape == (8 * side, 8 * side, 3)


def test_a_vanished_gradient_and_falling_coverage_are_diagnosed():
    evaluator = GANTrainer(small(), source()).evaluator
    assert evaluator.diagnosis() is None
    evaluator._right, evaluator._norm = (1.0, 1.0), 1e-9
    assert "gradient has vanished" in evaluator.diagnosis()
    evaluator._best, evaluator._latest = 0.9, 0.2
    assert "coverage fell from 0.90 to 0.20" in evaluator.diagnosis()
    assert "gradient has vanished" in evaluator.diagnosis()


def test_a_finished_generator_is_held_against_real_data():
    evaluator = GANTrainer(small(conditional="projection"), source()).evaluator
    floor = evaluator.floor()
    assert evaluator.diagnosis(floor) is None
    for name in ("recall", "coverage", "class_fidelity"):
        assert f"{name} is 0.00, and" in evaluator.diagnosis(floor | {name: 0.0})
    ring = GANTrainer(small(net="mlp"), "ring").evaluator
    good = {"modes": 8, "high_quality": 0.97, "reverse_kl": 0.001}
    assert ring.diagnosis(good) is None
    assert ring.diagnosis(good | {"modes": 7, "reverse_kl": 0.13}).startswith("1 of 8 modes are missing")
    assert "uneven shares (reverse KL 0.20)" in ring.diagnosis(good | {"reverse_kl": 0.2})
    assert "high_quality is 0.40, and 0.99 for real data" in ring.diagnosis(good | {"high_quality": 0.4})


def test_a_generator_that_gives_up_modes_is_reported_once_though_its_samples_stay_good(capsys):
    trainer = GANTrainer(small(net="mlp", iterations=6, evaluate_every=1), "ring")
    modes = iter([8, 8, 1, 1, 1, 1])
    trainer.evaluate = lambda: {"modes": next(modes), "high_quality": 0.98, "reverse_kl": 0.0}
    trainer.train(progress=True)
    lines = [line for line in capsys.readouterr().err.splitlines() if "collapsing" in line]
    assert len(lines) == 1
    assert lines[0].startswith("iteration 3: coverage fell from 0.98 to 0.12")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discriminator_norm": "batch"}, "mixes the samples of a batch"),
        ({"conditional": "projection", "pack": 2}, "does not go with pack=2"),
        ({"pack": 3}, "pack=3 must divide batch_size=8"),
        ({"augment": ("cutuot",)}, "Did you mean 'cutout'"),
        ({"net": "dcgen"}, "Did you mean 'dcgan'"),
    ],
)
def test_wrong_combinations_are_refused_with_the_reason(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


def test_augmentation_of_points_is_refused():
    with pytest.raises(ValueError, match="is for images"):
        GANTrainer(small(net="mlp", augment=("cutout",)), "ring")


def test_samples_are_drawn_from_a_checkpoint_by_command(tmp_path, capsys):
    pytest.importorskip("sklearn")
    GANTrainer(small(conditional="projection"), "digits").train(2).save(tmp_path / "checkpoint.safetensors")
    for name in ("first.npy", "second.npy"):
        assert sample_command([f"checkpoint={tmp_path}", "n=6", f"out={tmp_path / name}", "label=3"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "first.npy"), np.load(tmp_path / "second.npy"))
    assert np.load(tmp_path / "first.npy").shape == (6, 1, 8, 8)
    assert sample_command([f"checkpoint={tmp_path}", f"out={tmp_path / 'grid.png'}"]) == 0
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")
    for wrong, message in (
        (["checkpont=x"], "Did you mean 'checkpoint'?"),
        ([f"checkpoint={tmp_path}", "n=many"], "n is a whole number, not 'many'"),
        ([f"checkpoint={tmp_path}", "out=x.gif"], "must end in .png"),
        ([f"checkpoint={tmp_path}", "label=11"], "the classes are 0 to 9"),
        ([f"checkpoint={tmp_path}", f"out={tmp_path / 'nowhere' / 'x.png'}"], "cannot be written: No such file"),
        ([f"checkpoint={tmp_path / 'nowhere'}"], f"checkpoint={tmp_path / 'nowhere'}: there is no checkpoint"),
    ):
        assert sample_command(wrong) == 2
        assert message.lower() in capsys.readouterr().err.lower()


def test_without_held_out_images_real_ones_are_compared_with_other_real_ones():
    images = np.random.default_rng(0).uniform(-1, 1, (40, 1, 8, 8))
    evaluator = GANTrainer(small(net="mlp"), ArraySource(images, seed=0)).evaluator
    copied = evaluator.compare(evaluator._reference)
    assert copied["precision"] == copied["coverage"] == 1.0
    assert evaluator.floor()["coverage"] < 1.0
    with pytest.raises(ValueError, match="too few samples to train on and to compare with, 5"):
        GANTrainer(small(net="mlp"), ArraySource(images[:5], seed=0))


def test_a_large_set_is_compared_in_part():
    data = np.random.default_rng(0).normal(size=(12_000, 2))
    trainer = GANTrainer(small(net="mlp"), ArraySource(data, held_out=data[:4000], seed=0))
    assert trainer.evaluator._reference.shape == (2500, 2)
    assert trainer.evaluate()["precision"] <= 1.0


def test_what_was_captured_before_a_resume_is_remembered(tmp_path):
    trainer = GANTrainer(small(evaluate_every=2), source()).train(4)
    trainer.evaluator._best = 0.9
    trainer.save(tmp_path / "half.safetensors")
    resumed = GANTrainer.load(tmp_path / "half.safetensors", data=source())
    resumed.evaluator._latest = 0.1
    assert "coverage fell from 0.90 to 0.10" in resumed.evaluator.diagnosis()


def test_generated_images_are_of_the_classes_of_the_real_ones_they_are_paired_with():
    trainer = GANTrainer(small(conditional="projection"), source())
    batch = trainer._batch()
    twin = GANTrainer(small(conditional="projection"), source())
    _, labels = twin.data.batch(8)
    np.testing.assert_array_equal(batch.labels.numpy(), labels)


def test_wrong_labels_and_latents_are_refused():
    trainer = GANTrainer(small(conditional="projection"), source())
    with pytest.raises(ValueError, match="labels must be 2 whole numbers from 0 to 2"):
        trainer.sample(2, labels=[0, 3])
    with pytest.raises(ValueError, match=r"\(n, latent_dim\) = \(2, 4\); got \(2, 5\)"):
        trainer.sample(2, latent=np.zeros((2, 5), np.float32))
    with pytest.raises(ValueError, match="this one was trained without"):
        GANTrainer(small(), source()).sample(2, labels=[0, 1])


@pytest.mark.parametrize("loss", ["non_saturating", "relativistic", "wasserstein"])
def test_adaptive_augmentation_sets_in_when_the_discriminator_wins_whatever_its_scores(loss):
    trainer = GANTrainer(
        small(net="mlp", loss=loss, augment=("cutout",), augment_target=0.6, learning_rate=0.01), source()
    )
    batch = trainer._batch()
    for _ in range(40):  # one batch again and again, which the discriminator comes to know
        trainer.step_d(batch)
    before = trainer.augmentation.probability
    for _ in range(10):
        trainer.step_d(batch)
    assert trainer.augmentation.probability > before
