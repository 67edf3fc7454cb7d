import numpy as np
import pytest

import rlgrad
from rlgrad.gan.augment import AUGMENTATIONS, Augmentation


def images(n=6, channels=3, size=8):
    return rlgrad.from_numpy(np.random.default_rng(0).uniform(-1, 1, (n, channels, size, size)).astype(np.float32))


def test_translation_moves_each_image_whole_and_lets_black_in():
    x = images(200)
    moved = AUGMENTATIONS["translation"](x, np.random.default_rng(1)).numpy()
    seen = set()
    for before, after in zip(x.numpy(), moved, strict=True):
        padded = np.pad(before, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
        matches = [(i, j) for i in range(3) for j in range(3) if (padded[:, i : i + 8, j : j + 8] == after).all()]
        assert len(matches) == 1
        seen.add(matches[0])
    assert len(seen) == 9


def test_cutout_greys_a_square_of_up_to_half_the_side():
    x = images(100) + 2  # nowhere grey
    holes = (AUGMENTATIONS["cutout"](x, np.random.default_rng(1)).numpy() == 0).all(1)
    for hole in holes:
        rows, columns = np.flatnonzero(hole.any(1)), np.flatnonzero(hole.any(0))
        assert 1 <= len(rows) <= 4
        assert 1 <= len(columns) <= 4
        assert hole.sum() == len(rows) * len(columns)


def test_color_keeps_the_order_of_grey_pixels():
    x = images(20, channels=1)
    changed = AUGMENTATIONS["color"](x, np.random.default_rng(1)).numpy()
    for before, after in zip(x.numpy().reshape(20, -1), changed.reshape(20, -1), strict=True):
        assert (np.argsort(before) == np.argsort(after)).all()
    assert not np.allclose(x.numpy(), changed)


@pytest.mark.parametrize("name", sorted(AUGMENTATIONS))
def test_gradients_flow_back_as_finite_differences_say(name):
    x = images(2, size=4).double().requires_grad_()
    weights = rlgrad.from_numpy(np.random.default_rng(2).normal(size=(2, 3, 4, 4)))

    def loss(value):
        return (AUGMENTATIONS[name](value, np.random.default_rng(3)) * weights).sum()

    (gradient,) = rlgrad.autograd.grad(loss(x), x)
    for place in [(0, 0, 1, 2), (1, 2, 3, 0), (0, 1, 2, 2)]:
        step = np.zeros(x.shape)
        step[place] = 1e-3
        above, below = (loss(x.detach() + sign * rlgrad.from_numpy(step)).item() for sign in (1, -1))
        assert gradient[place].item() == pytest.approx((above - below) / 2e-3, rel=1e-4, abs=1e-6)


def test_the_adaptive_form_starts_at_nothing_and_follows_how_sure_the_discriminator_is():
    augmentation = Augmentation(["cutout"], 0.6, np.random.default_rng(0), samples_to_certain=100)
    x = images()
    assert augmentation(x) is x
    for _ in range(3):
        augmentation.adapt(rlgrad.ones(10, 1))
    assert augmentation.probability == pytest.approx(0.3)
    augmentation.adapt(rlgrad.tensor([[1.0], [-1.0]]))
    assert augmentation.probability == pytest.approx(0.28)
    augmentation.probability = 0.5
    changed = (augmentation(images(400) + 2).numpy() == 0).any((1, 2, 3))
    assert 0.4 < changed.mean() < 0.6


def test_a_restored_augmentation_goes_on_as_the_saved_one():
    first, second = (Augmentation(["color", "translation"], 0.0, np.random.default_rng(s)) for s in (0, 9))
    first(images())
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(first(images()).numpy(), second(images()).numpy())
