"""Layers that learn their sizes from the first batch: each scenario must leave the same record under both libraries."""

import copy

import numpy as np
import pytest

import rlgrad

from .records import assert_same_record, attempt

torch = pytest.importorskip("torch")

LAYERS = {
    "LazyLinear": ((3,), (2, 5)),
    "LazyConv1d": ((4, 3), (2, 6, 7)),
    "LazyConv2d": ((4, 3), (2, 6, 7, 7)),
    "LazyConv3d": ((4, 3), (2, 6, 5, 5, 5)),
    "LazyConvTranspose1d": ((4, 3), (2, 6, 7)),
    "LazyConvTranspose2d": ((4, 3), (2, 6, 5, 5)),
    "LazyConvTranspose3d": ((4, 3), (2, 6, 3, 3, 3)),
    "LazyBatchNorm1d": ((), (4, 6)),
    "LazyBatchNorm2d": ((), (4, 6, 3, 3)),
    "LazyBatchNorm3d": ((), (4, 6, 3, 3, 3)),
    "LazyInstanceNorm1d": ((), (4, 6, 5)),
    "LazyInstanceNorm2d": ((), (4, 6, 3, 3)),
    "LazyInstanceNorm3d": ((), (4, 6, 3, 3, 3)),
}
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


@scenario
def life_of_a_layer(lib, log, name):
    args, shape = LAYERS[name]
    layer = getattr(lib.nn, name)(*args)
    log.append([repr(layer), type(layer), list(layer.state_dict()), layer.has_uninitialized_params()])
    log.append([repr(p) for p in layer.parameters()])
    log.append(attempt(lambda: layer.weight.shape))
    log.append(attempt(lambda: layer.weight + 1))
    log.append(tuple(layer(lib.ones(*shape)).shape))
    log.append([repr(layer), type(layer), {k: list(v.shape) for k, v in layer.state_dict().items()}])
    log.append([type(p) for p in layer.parameters()])
    layer(lib.ones(*shape)).sum().backward()
    log.append([p.grad is not None for p in layer.parameters()])


@scenario
def shapes_from_a_state(lib, log, name):
    args, shape = LAYERS[name]
    whole, layer = getattr(lib.nn, name)(*args), getattr(lib.nn, name)(*args)
    whole(lib.ones(*shape))
    log.append(attempt(whole.load_state_dict, layer.state_dict()))
    log.append(repr(layer.load_state_dict(layer.state_dict())))
    log.append(repr(layer.load_state_dict(whole.state_dict())))
    log.append([type(layer), layer.has_uninitialized_params()])
    if "Instance" not in name:  # torch's then still expects no channels
        x = lib.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
        log.append(bool(abs(layer(x) - whole(x)).max() < 1e-5))
        log.append(type(layer))


def test_sizes_come_from_a_state_too():
    layer = rlgrad.nn.LazyInstanceNorm1d()
    layer.load_state_dict(rlgrad.nn.InstanceNorm1d(3, affine=True, track_running_stats=True).state_dict())
    assert layer(rlgrad.ones(2, 3, 4)).shape == (2, 3, 4)
    assert layer.num_features == 3


@scenario
def conversions_before_the_first_call(lib, log, name):
    args, shape = LAYERS[name]
    layer = getattr(lib.nn, name)(*args).double().to("cpu")
    layer = layer if "Norm" in name else copy.deepcopy(layer)  # torch cannot copy uninitialized buffers
    log.append([(str(p.dtype), p.requires_grad) for p in layer.parameters()])
    layer(lib.ones(*shape, dtype=lib.float64))
    log.append({k: (str(v.dtype), v.requires_grad) for k, v in layer.state_dict(keep_vars=True).items()})


@pytest.mark.parametrize("name", list(LAYERS))
@pytest.mark.parametrize("scene", list(SCENARIOS))
def test_same_record_under_both_libraries(scene, name):
    assert_same_record(SCENARIOS[scene], name)


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [("LazyConv2d", (4, 3), (2, 6)), ("LazyConv1d", (4, 3, 1, 0, 1, 2), (2, 3, 5)), ("LazyLinear", (3,), ())],
)
def test_a_first_batch_that_does_not_fit_is_refused(name, args, shape):
    errors = [
        type(attempt(getattr(library.nn, name)(*args), library.ones(*shape) if shape else library.tensor(1.0)))
        for library in (rlgrad, torch)
    ]
    assert errors[0] is errors[1]


def test_a_stack_of_lazy_layers_trains():
    rlgrad.manual_seed(0)
    net = rlgrad.nn.Sequential(
        rlgrad.nn.LazyConv2d(4, 3), rlgrad.nn.LazyBatchNorm2d(), rlgrad.nn.Flatten(), rlgrad.nn.LazyLinear(2)
    )
    x = rlgrad.randn(8, 3, 6, 6)
    net(x)
    optimizer = rlgrad.optim.SGD(net.parameters(), 0.05)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (net(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_uninitialized_tensors_take_their_shape_once():
    buffer = rlgrad.nn.UninitializedBuffer(dtype=rlgrad.float64)
    assert repr(buffer) == "<UninitializedBuffer>"
    buffer.materialize((2, 3))
    assert (tuple(buffer.shape), buffer.dtype, type(buffer)) == ((2, 3), rlgrad.float64, rlgrad.nn.Buffer)


def test_a_lazy_module_must_say_how_to_initialize_itself():
    from rlgrad.nn.lazy import LazyModuleMixin

    class Silent(LazyModuleMixin):
        def forward(self, x):
            return x

    class Forgetful(Silent):
        def __init__(self):
            super().__init__()
            self.weight = rlgrad.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(NotImplementedError):
        Silent()(1)
    with pytest.raises(RuntimeError, match="not been fully initialized"):
        Forgetful()(1)
