"""Parametrized weights against torch."""

import copy
import itertools
import warnings

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn.utils import parametrizations, parametrize

from .records import assert_same_record, attempt

torch = pytest.importorskip("torch")

LAYERS = {
    "Linear": ((4, 3), (5, 4)),
    "Conv1d": ((2, 3, 2), (2, 2, 5)),
    "ConvTranspose1d": ((2, 3, 2), (2, 2, 5)),
    "ConvTranspose2d": ((2, 3, 2), (1, 2, 3, 3)),
    "GRU": ((4, 3), (5, 2, 4)),
}


def state_of(module):
    return {key: value.detach().numpy().copy() for key, value in module.state_dict().items()}


def first(output):
    return output[0] if isinstance(output, tuple) else output


def assert_same_training(ours, theirs, shape, rounds=2):
    """The same outputs, gradients and buffers through several forward passes in training and one in evaluation."""
    x = np.random.default_rng(0).standard_normal(shape)
    for _ in range(rounds):
        a, b = first(ours(rlgrad.tensor(x))), first(theirs(torch.tensor(x)))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-9)
        (a**2).sum().backward()
        (b**2).sum().backward()
    for (key, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert key == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), atol=1e-8, err_msg=key)
    for (key, p), q in zip(ours.named_buffers(), theirs.buffers(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), atol=1e-9, err_msg=key)
    a, b = first(ours.eval()(rlgrad.tensor(x))), first(theirs.eval()(torch.tensor(x)))
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-9)


NORMS = [
    ("spectral_norm", {}),
    ("spectral_norm", {"n_power_iterations": 3, "dim": 1}),
    ("weight_norm", {}),
    ("weight_norm", {"dim": None}),
    ("weight_norm", {"dim": 1}),
]
CASES = [
    (layer, name, options, old)
    for layer, (name, options), old in itertools.product(LAYERS, NORMS, (False, True))
    # torch's GRU takes more steps of the power iteration in one forward pass
    if layer != "GRU" or name == "weight_norm" or old
]


@pytest.mark.parametrize(("layer", "name", "options", "old"), CASES)
def test_norms_of_weights_are_torchs(layer, name, options, old):
    args, shape = LAYERS[layer]
    where = "weight_ih_l0" if layer == "GRU" else "weight"
    built = []
    for library in (rlgrad, torch):
        module = getattr(library.nn, layer)(*args, dtype=library.float64)
        utils = library.nn.utils if old else library.nn.utils.parametrizations
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built.append(getattr(utils, name)(module, where, **options))
    ours, theirs = built
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert type(ours).__name__ == type(theirs).__name__
    ours.load_state_dict(state_of(theirs))
    assert_same_training(ours, theirs, shape)
    if old:
        values = [getattr(m, where).detach().numpy().copy() for m in built]
        for module, library in zip(built, (rlgrad, torch), strict=True):
            getattr(library.nn.utils, "remove_" + name)(module, where)
        assert (
            sorted(ours.state_dict()) == sorted(theirs.state_dict()) == sorted(getattr(nn, layer)(*args).state_dict())
        )
        np.testing.assert_allclose(getattr(ours, where).detach().numpy(), values[1], atol=1e-9)
        x = rlgrad.ones(*shape, dtype=rlgrad.float64)
        (first(ours(x)) ** 2).sum().backward()
        assert getattr(ours, where).grad is not None


@pytest.mark.parametrize(
    ("kind", "shape"), list(itertools.product(["matrix_exp", "cayley", "householder"], [(4, 4), (5, 3), (3, 5)]))
)
@pytest.mark.parametrize("trivialization", [True, False])
def test_orthogonal_weights_are_torchs(kind, shape, trivialization):
    built = []
    for library in (rlgrad, torch):
        module = library.nn.Linear(shape[1], shape[0], dtype=library.float64)
        built.append(
            library.nn.utils.parametrizations.orthogonal(module, "weight", kind, use_trivialization=trivialization)
        )
    ours, theirs = built
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(state_of(theirs))
    assert_same_training(ours, theirs, (2, shape[1]))
    with rlgrad.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.1 * rlgrad.randn_like(parameter).tril(-1) if parameter.ndim == 2 else 0.1)
    weight = ours.weight.detach().numpy()
    product = weight @ weight.T if shape[0] <= shape[1] else weight.T @ weight
    np.testing.assert_allclose(product, np.eye(min(shape)), atol=1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("trivialization", [True, False])
def test_an_orthogonal_matrix_can_be_assigned(shape, trivialization):
    layer = parametrizations.orthogonal(
        nn.Linear(shape[1], shape[0], dtype=rlgrad.float64),
        orthogonal_map="householder",
        use_trivialization=trivialization,
    )
    wanted = nn.init.orthogonal_(rlgrad.empty(*shape, dtype=rlgrad.float64))
    layer.weight = wanted
    np.testing.assert_allclose(layer.weight.detach().numpy(), wanted.numpy(), atol=1e-10)


def test_impossible_orthogonal_weights_are_refused():
    layer = nn.Linear(3, 3)
    for name, options in (("bias", {}), ("none", {}), ("weight", {"orthogonal_map": "other"})):
        with pytest.raises(ValueError, match=r"matrix|parameter or buffer|householder"):
            parametrizations.orthogonal(layer, name, **options)
    fixed = parametrizations.orthogonal(layer, orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="use_trivialization"):
        fixed.weight = rlgrad.eye(3)
    with pytest.raises(ValueError, match="shape"):
        parametrizations.orthogonal(nn.Linear(3, 3)).weight = rlgrad.eye(2)


def test_a_parametrized_layer_keeps_its_norm_within_a_stack():
    layer = nn.Linear(4, 4)
    with rlgrad.no_grad():
        layer.weight.mul_(10)
    stack = nn.Sequential(parametrizations.spectral_norm(layer, n_power_iterations=50), nn.ReLU(), nn.Linear(4, 1))
    x = rlgrad.ones(2, 4)
    expected = stack[2](stack[1](stack[0](x)))
    np.testing.assert_allclose(stack(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    assert abs(np.linalg.norm(layer.weight.detach().numpy(), 2) - 1) < 1e-3


def test_a_hooked_weight_is_computed_within_a_stack():
    layer = nn.utils.spectral_norm(nn.Linear(4, 4), n_power_iterations=50)
    with rlgrad.no_grad():
        layer.weight_orig.mul_(10)
    x = rlgrad.ones(2, 4)
    whole = nn.Sequential(layer, nn.ReLU(), nn.Linear(4, 1))
    whole(x)
    assert abs(np.linalg.norm(layer.weight.detach().numpy(), 2) - 1) < 1e-3


@pytest.mark.parametrize("leave", [True, False])
def test_removal_gives_back_a_plain_layer(leave):
    layer = nn.Linear(3, 3)
    weight = layer.weight
    parametrizations.spectral_norm(layer).eval()
    value = (layer.weight if leave else layer.parametrizations.weight.original).detach().numpy().copy()
    parametrize.remove_parametrizations(layer, "weight", leave)
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert not parametrize.is_parametrized(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value)


def test_a_cached_weight_is_computed_once():
    layer = parametrizations.weight_norm(nn.Linear(3, 3))
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight


def test_states_with_the_old_names_load_into_the_new_form():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nn.utils.weight_norm(nn.Linear(3, 2))
    new = parametrizations.weight_norm(nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    np.testing.assert_allclose(new.weight.detach().numpy(), old.weight.detach().numpy(), rtol=1e-6)


EVERY_LAYER = {
    "BatchNorm1d": ((4,), [(5, 4)]),
    "Bilinear": ((3, 4, 2), [(5, 3), (5, 4)]),
    "Conv2d": ((2, 3, 2), [(1, 2, 5, 5)]),
    "ConvTranspose2d": ((2, 3, 2), [(1, 2, 5, 5)]),
    "GRU": ((3, 4), [(5, 2, 3)]),
    "GRUCell": ((3, 4), [(2, 3)]),
    "GroupNorm": ((2, 4), [(2, 4, 3)]),
    "LSTM": ((3, 4), [(5, 2, 3)]),
    "LSTMCell": ((3, 4), [(2, 3)]),
    "LayerNorm": ((4,), [(3, 4)]),
    "Linear": ((4, 3), [(5, 4)]),
    "MultiheadAttention": ((4, 2), [(3, 2, 4)] * 3),
    "PReLU": ((), [(3, 4)]),
    "RMSNorm": ((4,), [(3, 4)]),
    "RNN": ((3, 4), [(5, 2, 3)]),
    "TransformerEncoderLayer": ((4, 2, 8, 0.0), [(3, 2, 4)]),
}


@pytest.mark.parametrize("name", list(EVERY_LAYER))
def test_every_layer_computes_with_its_parametrized_tensors(name):
    args, shapes = EVERY_LAYER[name]
    plain_layer, layer = (getattr(nn, name)(*args, dtype=rlgrad.float64) for _ in range(2))
    layer.load_state_dict(plain_layer.state_dict())  # registration halves what is doubled later
    double = modules(rlgrad)[1]
    for path, _ in list(layer.named_parameters()):
        place, _, tensor = path.rpartition(".")
        parametrize.register_parametrization(layer.get_submodule(place), tensor, double())
    inputs = [rlgrad.randn(*shape, dtype=rlgrad.float64) for shape in shapes]
    a, b = first(plain_layer(*inputs)), first(layer(*inputs))
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-12)
    (a**2).sum().backward()
    (b**2).sum().backward()
    halves = {
        path.replace("parametrizations.", "").removesuffix(".original"): p for path, p in layer.named_parameters()
    }
    for path, p in plain_layer.named_parameters():
        np.testing.assert_allclose(2 * p.grad.numpy(), halves[path].grad.numpy(), atol=1e-10, err_msg=path)


SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def modules(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Double(lib.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    class Sum(lib.nn.Module):
        def forward(self, x, y):
            return x + y

        def right_inverse(self, x):
            return 0.25 * x, 0.75 * x

    class OneWay(lib.nn.Module):
        def forward(self, x):
            return x * 3

    class Wrong(lib.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x):
            return self.function(x)

    return Symmetric, Double, Sum, OneWay, Wrong


def square(lib):
    layer = lib.nn.Linear(2, 2)
    layer.weight.data = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    return layer


@scenario
def a_chain_of_parametrizations(lib, log):
    symmetric, double, *_ = modules(lib)
    layer, p = square(lib), lib.nn.utils.parametrize
    p.register_parametrization(layer, "weight", symmetric())
    p.register_parametrization(layer, "weight", double())
    log.append([repr(layer), list(layer.state_dict()), layer.weight, layer.parametrizations.weight.original])
    log.append([p.is_parametrized(layer), p.is_parametrized(layer, "bias"), p.type_before_parametrizations(layer)])
    layer.weight = lib.tensor([[1.0, 5.0], [5.0, 2.0]])
    log.append([layer.weight, layer.parametrizations.weight.original])
    layer(lib.ones(1, 2)).sum().backward()
    log.append(layer.parametrizations.weight.original.grad)
    twin = copy.deepcopy(layer)
    with lib.no_grad():
        twin.parametrizations.weight.original.zero_()
    log.append([layer.weight, twin.weight, type(twin)])
    p.remove_parametrizations(layer, "weight", leave_parametrized=False)
    log.append([layer.weight, type(layer), list(layer.state_dict())])


@scenario
def several_originals(lib, log):
    _, double, both, *_ = modules(lib)
    layer, p = square(lib), lib.nn.utils.parametrize
    p.register_parametrization(layer, "weight", both())
    p.register_parametrization(layer, "weight", double())
    log.append([list(layer.state_dict()), layer.weight, layer.parametrizations.weight.original0])
    layer.weight = lib.ones(2, 2)
    log.append([layer.parametrizations.weight.original0, layer.parametrizations.weight.original1])
    log.append(attempt(p.remove_parametrizations, layer, "weight", leave_parametrized=False))
    p.remove_parametrizations(layer, "weight")
    log.append([layer.weight, list(layer.state_dict())])


@scenario
def parametrized_buffers(lib, log):
    _, double, *_ = modules(lib)
    module, p = lib.nn.Module(), lib.nn.utils.parametrize
    module.register_buffer("table", lib.ones(2))
    p.register_parametrization(module, "table", double())
    log.append([module.table, list(module.state_dict()), [n for n, _ in module.named_buffers()]])
    p.remove_parametrizations(module, "table")
    log.append([module.table, [n for n, _ in module.named_buffers()]])


@scenario
def two_tensors_of_one_module(lib, log):
    symmetric, double, *_ = modules(lib)
    layer, p = square(lib), lib.nn.utils.parametrize
    p.register_parametrization(layer, "weight", symmetric())
    p.register_parametrization(layer, "bias", double())
    p.remove_parametrizations(layer, "weight")
    log.append([type(layer), p.is_parametrized(layer), list(layer.state_dict())])
    p.remove_parametrizations(layer, "bias")
    log.append([type(layer), p.is_parametrized(layer), list(layer.state_dict())])


@scenario
def what_is_refused(lib, log):
    _, double, _, one_way, wrong = modules(lib)
    p = lib.nn.utils.parametrize
    for function in (lambda x: x.double(), lambda x: x[:1], lambda x: None):
        log.append(attempt(p.register_parametrization, square(lib), "weight", wrong(function)))
        layer = p.register_parametrization(square(lib), "weight", double())
        log.append(attempt(p.register_parametrization, layer, "weight", wrong(function)))
    log.append(attempt(p.register_parametrization, square(lib), "nothing", double()))
    log.append(attempt(p.remove_parametrizations, square(lib), "weight"))
    log.append(attempt(p.ParametrizationList, [], lib.ones(1)))
    layer = p.register_parametrization(square(lib), "weight", one_way())
    log.append([layer.weight, attempt(setattr, layer, "weight", lib.ones(2, 2))])
    layer = p.register_parametrization(square(lib), "weight", wrong(lambda x: x[:1]), unsafe=True)
    log.append(layer.weight)


@scenario
def originals_move_to_another_module(lib, log):
    _, double, *_ = modules(lib)
    p = lib.nn.utils.parametrize
    source, target = p.register_parametrization(square(lib), "weight", double()), lib.nn.Linear(2, 2)
    p.transfer_parametrizations_and_params(source, target)
    log.append(
        [
            target.weight,
            type(target),
            target.parametrizations.weight.original is source.parametrizations.weight.original,
        ]
    )


@scenario
def hooks_are_refused_twice_and_not_found_once_removed(lib, log):
    utils = lib.nn.utils
    for name in ("weight_norm", "spectral_norm"):
        layer = getattr(utils, name)(lib.nn.Linear(2, 2))
        log.append(attempt(getattr(utils, name), layer))
        getattr(utils, "remove_" + name)(layer)
        log.append(attempt(getattr(utils, "remove_" + name), layer))
    log.append(attempt(utils.spectral_norm, lib.nn.Linear(2, 2, bias=False), "bias"))
    log.append(attempt(utils.spectral_norm, lib.nn.Linear(2, 2), n_power_iterations=0))
    log.append(attempt(utils.parametrizations.spectral_norm, lib.nn.Linear(2, 2), dim=5))
    log.append(attempt(utils.parametrizations.spectral_norm, lib.nn.Linear(2, 2), "other"))
    log.append(attempt(utils.parametrizations.spectral_norm, lib.nn.Linear(2, 2), n_power_iterations=0))


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_same_record_under_both_libraries(name):
    assert_same_record(SCENARIOS[name])
