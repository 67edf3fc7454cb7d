"""Initialisation: distributions by their moments, exact ones by value, what is refused as under torch."""

import math
import warnings

import numpy as np
import pytest

import rlgrad

from .records import attempt, plain

torch = pytest.importorskip("torch")
init = rlgrad.nn.init


@pytest.fixture(autouse=True)
def _same_numbers_every_time():
    rlgrad.manual_seed(0)


def fans(shape):
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


@pytest.mark.parametrize("shape", [(60, 40), (30, 20, 3), (16, 12, 4, 3)])
@pytest.mark.parametrize("mode", ["fan_in", "fan_out"])
@pytest.mark.parametrize(
    ("nonlinearity", "a"), [("relu", 0), ("leaky_relu", 0.3), ("tanh", 0), ("selu", 0), ("conv2d", 0)]
)
def test_he_initialisation_has_its_variance(shape, mode, nonlinearity, a):
    fan = fans(shape)[mode == "fan_out"]
    wanted = torch.nn.init.calculate_gain(nonlinearity, a) / math.sqrt(fan)
    uniform = init.kaiming_uniform_(rlgrad.empty(*shape), a, mode, nonlinearity).numpy()
    normal = init.kaiming_normal_(rlgrad.empty(*shape), a, mode, nonlinearity).numpy()
    assert np.abs(uniform).max() <= wanted * math.sqrt(3) * 1.00001
    for values in (uniform, normal):
        assert abs(values.std() / wanted - 1) < 0.08
        assert abs(values.mean()) < 0.1 * wanted


@pytest.mark.parametrize("shape", [(60, 40), (16, 12, 4, 3)])
def test_glorot_initialisation_has_its_variance(shape):
    wanted = 1.7 * math.sqrt(2 / sum(fans(shape)))
    for function in (init.xavier_uniform_, init.xavier_normal_):
        assert abs(function(rlgrad.empty(*shape), gain=1.7).numpy().std() / wanted - 1) < 0.08


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"), [(0, 1, -2, 2), (1, 0.5, 0, 1.2), (0, 1, 3, 4), (0, 1, 0.1, 0.2), (2, 3, -1, 0)]
)
def test_truncated_normal_numbers(mean, std, a, b):
    stats = pytest.importorskip("scipy.stats")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = init.trunc_normal_(rlgrad.empty(4000, dtype=rlgrad.float64), mean, std, a, b).numpy()
    truth = stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std)
    assert stats.kstest(values, truth.cdf).pvalue > 1e-3
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(rlgrad.empty(3), 0, 1, 3, 4)


@pytest.mark.parametrize(
    ("name", "shape", "args"),
    [
        ("constant_", (2, 3), (1.5,)),
        ("ones_", (2, 3), ()),
        ("zeros_", (2,), ()),
        ("eye_", (3, 4), ()),
        ("dirac_", (4, 3, 5), ()),
        ("dirac_", (6, 2, 3, 4), (3,)),
        ("dirac_", (2, 4, 3, 3, 2), (2,)),
    ],
)
def test_exact_initialisation_is_torchs(name, shape, args):
    ours = getattr(init, name)(rlgrad.full(shape, 9.0), *args)
    theirs = getattr(torch.nn.init, name)(torch.full(shape, 9.0), *args)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    w = init.orthogonal_(rlgrad.empty(*shape, dtype=rlgrad.float64), gain=2.0).numpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(min(w.shape)), atol=1e-12)


def test_a_share_of_every_column_is_zero():
    w = init.sparse_(rlgrad.empty(50, 20), sparsity=0.31, std=0.5).numpy()
    assert ((w == 0).sum(0) == 16).all()
    assert abs(w[w != 0].std() - 0.5) < 0.05


def test_initialisation_repeats_with_its_generator():
    draws = [
        init.normal_(rlgrad.empty(3), generator=rlgrad.Generator().manual_seed(seed)).tolist() for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_gradients_and_identity_stay():
    weight = rlgrad.nn.Parameter(rlgrad.zeros(3, 3))
    for function in (init.uniform_, init.orthogonal_, init.eye_):
        assert function(weight) is weight
        assert weight.requires_grad
        assert weight.is_leaf


@pytest.mark.parametrize("name", ["uniform", "normal", "eye", "xavier_uniform", "kaiming_normal", "orthogonal"])
def test_old_names_warn(name):
    with pytest.warns(FutureWarning, match=name + "_"):
        getattr(init, name)(rlgrad.empty(2, 2))


def test_gains_and_refusals_are_torchs():
    records = []
    for library in (rlgrad, torch):
        i, empty = library.nn.init, library.empty
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            records.append(
                [
                    [float(i.calculate_gain(n)) for n in ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu")],
                    float(i.calculate_gain("leaky_relu", 0.5)),
                    attempt(i.calculate_gain, "swish"),
                    attempt(i.calculate_gain, "leaky_relu", True),
                    attempt(i.calculate_gain, "leaky_relu", "0.1"),
                    attempt(i.eye_, empty(2)),
                    attempt(i.dirac_, empty(2, 2)),
                    attempt(i.dirac_, empty(3, 2, 2), 2),
                    attempt(i.xavier_uniform_, empty(2)),
                    attempt(i.kaiming_uniform_, empty(2)),
                    attempt(i.kaiming_uniform_, empty(2, 2), mode="fan"),
                    attempt(i.orthogonal_, empty(2)),
                    attempt(i.sparse_, empty(2), 0.1),
                    list(i.kaiming_normal_(empty(0, 3)).shape),
                    list(i.orthogonal_(empty(0, 3)).shape),
                ]
            )
    assert plain(records[0]) == plain(records[1])


def test_skipping_draws_no_numbers():
    rlgrad.manual_seed(3)
    expected = rlgrad.rand(4).tolist()
    rlgrad.manual_seed(3)
    layer = rlgrad.nn.utils.skip_init(rlgrad.nn.LSTM, 3, 4)
    assert [tuple(p.shape) for p in layer.parameters()] == [(16, 3), (16, 4), (16,), (16,)]
    assert rlgrad.rand(4).tolist() == expected
    rlgrad.manual_seed(3)
    rlgrad.nn.Linear(2, 2)
    assert rlgrad.rand(4).tolist() != expected
    with pytest.raises(RuntimeError, match="Expected a Module"):
        rlgrad.nn.utils.skip_init(int, 3)
