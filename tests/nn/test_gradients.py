"""Gradient clipping gives torch's norms and gradients."""

import math

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

SHAPES = [(3, 2), (), (4,), (2, 1, 2)]


def parameters(library, scale=1.0, dtype=np.float64):
    rng = np.random.default_rng(0)
    params = [library.from_numpy(np.zeros(shape, dtype)).requires_grad_() for shape in SHAPES]
    for p in params:
        p.grad = library.from_numpy(np.array(rng.standard_normal(tuple(p.shape)) * scale, dtype))
    params.append(library.from_numpy(np.zeros(2, dtype)).requires_grad_())  # has no gradient
    return params


def gradients(params):
    return np.concatenate([p.grad.numpy().ravel() for p in params if p.grad is not None])


@pytest.mark.parametrize("norm_type", [2.0, 1, 3.5, 0.5, math.inf, "inf", 0.0])
@pytest.mark.parametrize("max_norm", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_and_clipped_gradients_are_torchs(norm_type, max_norm, dtype):
    found = []
    for library in (rlgrad, torch):
        params = parameters(library, dtype=dtype)
        total = library.nn.utils.clip_grad_norm_(params, max_norm, norm_type)
        known = library.nn.utils.get_total_norm([p.grad for p in params[:3]], norm_type)
        found.append((float(total), float(known), gradients(params), str(total.dtype)))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for a, b in zip(found[0][:3], found[1][:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance)
    assert found[0][3] == found[1][3]


def test_gradients_straight_from_backward_are_clipped():
    found = []
    for library in (rlgrad, torch):
        params = parameters(library)
        for p in params:
            p.grad = None
        sum(((p + 1) ** 3).sum() for p in params[:3]).backward()
        total = library.nn.utils.clip_grad_norm_(iter(params), 0.5)
        found.append((float(total), gradients(params)))
    np.testing.assert_allclose(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])
    assert np.linalg.norm(found[0][1]) == pytest.approx(0.5, rel=1e-5)


def test_a_gradient_that_somebody_holds_is_changed_with_its_version():
    (p, *_) = params = parameters(rlgrad)
    gradient, version = p.grad, p.grad._version
    rlgrad.nn.utils.clip_grad_norm_(params, 0.1)
    assert p.grad is gradient
    assert gradient._version == version + 1
    rlgrad.nn.utils.clip_grad_norm_(params, 100.0)
    assert gradient._version == version + 1, "nothing was changed"
    rlgrad.nn.utils.clip_grad_value_(params, 0.01)
    assert gradient._version == version + 2
    assert abs(gradients(params)).max() == 0.01


def test_one_tensor_alone_and_none_at_all():
    (p, *_) = parameters(rlgrad)
    norm = float(np.linalg.norm(p.grad.numpy()))
    assert float(rlgrad.nn.utils.clip_grad_norm_(p, 0.1)) == pytest.approx(norm)
    assert float(rlgrad.nn.utils.clip_grad_norm_([], 0.1)) == 0.0
    rlgrad.nn.utils.clip_grad_value_([], 0.1)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused_when_asked_and_spreads_otherwise(bad):
    for library in (rlgrad, torch):
        params = parameters(library)
        with library.no_grad():
            params[0].grad[0, 0] = bad
        before = gradients(params)
        with pytest.raises(RuntimeError, match="non-finite"):
            library.nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
        np.testing.assert_array_equal(gradients(params), before)
        total = library.nn.utils.clip_grad_norm_(params, 1.0)
        assert not math.isfinite(float(total))
        assert np.isnan(gradients(params)[0])


def test_a_norm_computed_apart_is_used():
    found = []
    for library in (rlgrad, torch):
        params = parameters(library)
        library.nn.utils.clip_grads_with_norm_(params, 1.0, library.tensor(10.0))
        found.append(gradients(params))
    np.testing.assert_allclose(*found)


def test_a_number_that_is_used_twice_has_a_gradient_to_clip():
    temperature = rlgrad.nn.Parameter(rlgrad.tensor(3.0))
    (temperature * temperature + 2 * temperature).backward()
    assert rlgrad.nn.utils.clip_grad_norm_([temperature], 2.0) == 8
    np.testing.assert_allclose(temperature.grad.numpy(), 2, rtol=1e-6)
    (temperature**2 + temperature).backward()
    np.testing.assert_allclose(temperature.grad.numpy(), 9, rtol=1e-6)


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_the_old_name_of_clipping_warns(library):
    (p, *_) = parameters(library)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        library.nn.utils.clip_grad_norm([p], 0.1)
    assert float((p.grad**2).sum()) == pytest.approx(0.01, rel=1e-4)
