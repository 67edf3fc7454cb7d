"""Exported models give in onnxruntime what the modules give here, for any batch."""

import builtins
import os

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn.utils.parametrizations import spectral_norm

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

F = nn.functional

ACTIVATIONS = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink",
    "Softsign", "Tanh", "Tanhshrink",
]  # fmt: skip


def normalized(layer, *shape):
    """A layer with running statistics of some data."""
    for _ in range(3):
        layer(rlgrad.randn(*shape) * 2 + 1)
    return layer


def nature_cnn():
    return nn.Sequential(
        nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Conv2d(8, 8, 4, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)
    )


def generator():
    return nn.Sequential(
        nn.Unflatten(1, (6, 1, 1)),
        nn.ConvTranspose2d(6, 4, 4, 1, 0, bias=False),
        normalized(nn.BatchNorm2d(4), 5, 4, 4, 4),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 3, 4, 2, 1, output_padding=1),
        nn.Tanh(),
    )


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)


# Module, and the shape of an example.
MODULES = {
    **{name: (lambda name=name: getattr(nn, name)(), (2, 6)) for name in ACTIVATIONS},
    "Threshold": (lambda: nn.Threshold(0.1, 2.0), (2, 6)),
    "GELU by tanh": (lambda: nn.GELU("tanh"), (2, 6)),
    "Softplus with beta": (lambda: nn.Softplus(2.0), (2, 6)),
    "Softmax": (lambda: nn.Softmax(1), (2, 6)),
    "LogSoftmax over the last": (lambda: nn.LogSoftmax(-1), (2, 3, 4)),
    "Linear of three dimensions": (lambda: nn.Linear(3, 4, bias=False), (2, 5, 3)),
    "a stack that runs as one operation": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (1, 3)),
    "Flatten, Dropout, Unflatten": (lambda: nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Unflatten(1, (3, 4))), (2, 4, 3)),
    "Conv1d": (lambda: nn.Conv1d(3, 6, 3, padding="same", dilation=2, groups=3, bias=False), (2, 3, 9)),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, 2, 1), (2, 3, 9, 8)),
    "Conv2d with reflected edges": (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (2, 3, 5, 5)),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 3, 2, 1), (2, 2, 5, 6, 5)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(3, 6, 3, groups=3, dilation=2), (2, 3, 9)),
    "Nature CNN": (nature_cnn, (1, 4, 36, 36)),
    "DCGAN generator": (generator, (2, 6)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 9, 8)),
    "MaxPool1d rounded up": (lambda: nn.MaxPool1d(2, 2, ceil_mode=True), (2, 3, 9)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1), (2, 3, 9, 8)),
    "AvgPool2d without its edges": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 9, 8)),
    "AvgPool3d rounded up": (lambda: nn.AvgPool3d(2, 2, ceil_mode=True), (2, 2, 5, 5, 4)),
    "AdaptiveAvgPool2d, even": (lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 6, 6)),
    "AdaptiveAvgPool2d, uneven": (lambda: nn.AdaptiveAvgPool2d(4), (2, 3, 9, 6)),
    "AdaptiveMaxPool2d, uneven": (lambda: nn.AdaptiveMaxPool2d((4, 2)), (2, 3, 9, 6)),
    "BatchNorm1d": (lambda: normalized(nn.BatchNorm1d(3), 8, 3), (2, 3)),
    "BatchNorm2d without factors": (lambda: normalized(nn.BatchNorm2d(3, affine=False), 4, 3, 5, 5), (2, 3, 4, 4)),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "LayerNorm without factors": (lambda: nn.LayerNorm(4, elementwise_affine=False), (2, 3, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (2, 3, 4)),
    "LSTM": (lambda: nn.LSTM(3, 5, batch_first=True), (2, 7, 3)),
    "LSTM without biases": (lambda: nn.LSTM(3, 5, bias=False, batch_first=True), (2, 7, 3)),
    "GRU, two layers, both directions": (lambda: nn.GRU(3, 5, 2, bidirectional=True, batch_first=True), (2, 4, 3)),
    "RNN with ReLU": (lambda: nn.RNN(3, 5, nonlinearity="relu", batch_first=True), (2, 7, 3)),
    "LSTM with a projection, both directions": (
        lambda: nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2, batch_first=True),
        (2, 7, 3),
    ),
    "LSTMCell": (lambda: nn.LSTMCell(3, 5), (2, 3)),
    "GRUCell": (lambda: nn.GRUCell(3, 5), (2, 3)),
    "attention": (Attention, (2, 5, 8)),
    "transformer layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (2, 4, 3, 3)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), (2, 3, 4, 4)),
    "Upsample between points": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 4)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d(1), (2, 3, 4, 4)),
    "spectral norm": (lambda: spectral_norm(nn.Linear(3, 4)), (2, 3)),
}  # fmt: skip


def run(path, *inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a for i, a in zip(session.get_inputs(), inputs, strict=True)})


def flattened(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in flattened(item)]
    return [] if result is None else [result.detach().numpy()]


def assert_same(path, module, *inputs):
    found, wanted = run(path, *inputs), flattened(module(*map(rlgrad.from_numpy, inputs)))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_any_batch(name, tmp_path):
    build, shape = MODULES[name]
    rlgrad.manual_seed(0)
    module = build()
    path = rlgrad.onnx.export(module, rlgrad.from_numpy(draw(*shape)), tmp_path / "m.onnx", verify=False)
    onnx.checker.check_model(os.fspath(path), full_check=True)
    module.eval()
    for batch in (1, 2, 5):
        assert_same(path, module, draw(batch, *shape[1:]))


def test_the_batch_may_be_another_dimension(tmp_path):
    module = nn.GRU(3, 5)
    path = rlgrad.onnx.export(module, rlgrad.randn(4, 2, 3), tmp_path / "m.onnx", batch_dim=1)
    assert_same(path, module, draw(4, 6, 3))


class WithStates(nn.LSTM):
    def forward(self, input, h, c):
        return super().forward(input, (h, c))


@pytest.mark.parametrize("options", [{}, {"proj_size": 2}, {"proj_size": 2, "bias": False}], ids=str)
def test_first_states_may_be_inputs(options, tmp_path):
    module = WithStates(3, 5, bidirectional=True, **options)
    width = options.get("proj_size", 5)

    def arrays(batch):
        return draw(4, batch, 3), draw(2, batch, width), draw(2, batch, 5)

    examples = [rlgrad.from_numpy(a) for a in arrays(2)]
    path = rlgrad.onnx.export(module, examples, tmp_path / "m.onnx", batch_dim=1)
    assert_same(path, module, *arrays(3))


def test_a_model_of_fixed_size(tmp_path):
    module = nn.Linear(3, 2)
    path = rlgrad.onnx.export(module, rlgrad.randn(2, 3), tmp_path / "m.onnx", batch_dim=None)
    assert_same(path, module, draw(2, 3))
    with pytest.raises(Exception, match="Expected: 2"):
        run(path, draw(3, 3))


FIXED = {
    "MaxPool2d": (lambda: nn.MaxPool2d(2, 1, 1), (3, 5, 4)),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), (3, 8)),
    "AvgPool2d, counting what is there": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 6, 7)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 3), (3, 6, 6)),
    "Tanh of a number": (nn.Tanh, ()),
    "Softplus": (lambda: nn.Softplus(0.5, threshold=-1), (3, 4)),
    "Softshrink": (lambda: nn.Softshrink(1), (3, 4)),
}


@pytest.mark.parametrize("name", FIXED)
def test_inputs_without_a_batch(name, tmp_path):
    build, shape = FIXED[name]
    path = rlgrad.onnx.export(build(), rlgrad.from_numpy(np.array(draw(*shape))), tmp_path / "m.onnx", batch_dim=None)
    assert_same(path, build(), np.array(draw(*shape) * 2, np.float32))


class Policy(nn.Module):
    """Observations with running statistics and the last action, to the best action, its probability and a value."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", rlgrad.ones(3))
        self.embedding = nn.Embedding(4, 2)
        self.body = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        self.heads = nn.ModuleDict({"action": nn.Linear(8, 4), "value": nn.Linear(8, 1)})

    def forward(self, obs, last):
        known = self.embedding(last)
        h = self.body(rlgrad.cat([(obs - self.mean).clamp(-5, 5), known], dim=-1))
        probabilities = F.softmax(self.heads["action"](h), dim=-1)
        return {
            "action": probabilities.argmax(-1),
            "best": probabilities.max(-1)[0],
            "value": self.heads["value"](h)[:, 0],
        }


def test_a_forward_of_ones_own_with_several_inputs_and_outputs(tmp_path):
    module = Policy()
    example = rlgrad.from_numpy(draw(2, 3)), rlgrad.tensor([3, 0])
    path = rlgrad.onnx.export(
        module, example, tmp_path / "m.onnx", input_names=["obs", "last"], output_names=["action", "best", "value"]
    )
    graph = onnx.load(path).graph
    assert [i.name for i in graph.input] == ["obs", "last"]
    assert [o.name for o in graph.output] == ["action", "best", "value"]
    assert {i.name for i in graph.initializer} >= {"mean", "embedding.weight", "heads.action.weight"}
    assert_same(path, module, draw(7, 3), np.arange(7) % 4)


class Shapes(nn.Module):
    """Slices, joins, reductions and what else a forward does between layers."""

    def forward(self, x):
        batch = x.shape[0]
        pair = rlgrad.stack([x, 2 - x], dim=1).flatten(1)
        mask = (pair > 0).float()
        turned = pair.transpose(0, 1).permute(1, 0).contiguous().view(batch, 2, -1)
        first, second = turned.unbind(1)
        spread = x.mean(0, keepdim=True).expand(batch, 3) / batch
        return (
            (first * second).sum(1, keepdim=True) - x[:, 0:1].exp().clamp(0, 1) + mask.mean(1)[:, None],
            spread + x.std(1, keepdim=True) + x.abs().amax(dim=1).unsqueeze(-1),
            x[-1].pow(2) + rlgrad.where(x[0] > 0, x[0], rlgrad.zeros(3)) + rlgrad.arange(3),
            [x.sort(dim=1, descending=True)[0], x.topk(2, dim=1)[1], x.cumsum(1), x.flip(1), x.tril(), x[:, [2, 0]]],
            pair.split(2, dim=1)[2],
            x.masked_fill(x > 1, 0.5).logsumexp(1),
            (x > 0).any(1) | (x < 3).all(1) & x.isfinite().all(1),
            F.one_hot(x.argmin(1), 3),
            rlgrad.lerp(x, x * x, 0.25) - rlgrad.addcmul(x, x, x, value=2) + x.norm(dim=1, keepdim=True),
            rlgrad.relu_(x * 3),
        )


def test_what_a_forward_does_between_layers(tmp_path):
    path = rlgrad.onnx.export(Shapes(), rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")
    for batch in (1, 4):
        assert_same(path, Shapes(), draw(batch, 3))


FUNCTIONS = {
    "remainders": lambda x: [x % 0.7, x.fmod(0.7), x // 0.7, x % x.abs()],
    "whole parts": lambda x: [x.trunc(), x.frac(), x.floor(), x.ceil(), x.round()],
    "logarithms": lambda x: [
        x.logaddexp(2 * x),
        x.sigmoid().logit(),
        (x * 0.1).logit(1e-3),
        x.abs().log1p(),
        x.expm1(),
    ],
    "angles": lambda x: [x.deg2rad(), x.rad2deg(), x.hypot(1 - x), x.erfc(), x.sin(), x.atan()],
    "bases": lambda x: [x.exp2(), x.abs().log2(), x.abs().log10(), x.square(), x.abs().rsqrt(), 2**x, x**3],
    "spreads": lambda x: [*rlgrad.var_mean(x, 1), *rlgrad.std_mean(x, 1, keepdim=True), x.var(1, correction=0)],
    "places": lambda x: [
        x.index_select(1, rlgrad.tensor([2, 0])),
        x.roll(1, 1),
        x[:, rlgrad.tensor([1, 0, 2])],
        x.gather(1, x.argsort(1)),
        x.scatter(1, x.argmax(1, keepdim=True), x.amin(1, keepdim=True)),
        x.scatter_add(1, x.argmin(1, keepdim=True), x[:, :1]),
    ],
    "comparisons": lambda x: [x > 0.1, x <= x.flip(1), x != x, (x > 0) & (x < 1), ~(x > 0), x.isnan(), x.all(1)],
    "copies": lambda x: [rlgrad.zeros_like(x).copy_(x[:, :1]), x.clone().fill_(2.0), rlgrad.ones_like(x) * x],
    "products": lambda x: [x @ x.t() @ x, rlgrad.einsum("bi,bj->bij", x, x), rlgrad.outer(x[0], x[0]), x[0] @ x[0]],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_tensors(name, tmp_path):
    module = Says(FUNCTIONS[name])
    path = rlgrad.onnx.export(module, rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")
    for batch in (1, 4):
        assert_same(path, module, draw(batch, 3))


def test_doubles_stay_doubles(tmp_path):
    module = nn.Linear(3, 2).double()
    path = rlgrad.onnx.export(module, rlgrad.randn(2, 3).double(), tmp_path / "m.onnx")
    found = run(path, draw(4, 3).astype(np.float64))[0]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, module(rlgrad.from_numpy(draw(4, 3)).double()).detach().numpy(), rtol=1e-12)


def test_the_module_is_left_as_it_was(tmp_path):
    module = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
    module[1].eval()
    before = {name: value.tolist() for name, value in module.state_dict().items()}
    rlgrad.onnx.export(module, rlgrad.randn(2, 3), tmp_path / "m.onnx")
    assert [m.training for m in module.modules()] == [True, True, False, True]
    assert {name: value.tolist() for name, value in module.state_dict().items()} == before
    x = rlgrad.randn(4, 3, requires_grad=True)
    module(x).sum().backward()
    assert x.grad is not None
    assert (x + x).grad_fn.name() == "AddBackward0"


class Says(nn.Module):
    """A module with a forward given as a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


REFUSED = {
    "an operation without a translation": (lambda x: x.lgamma(), r"'lgamma' in Says 'part'.*no translation"),
    "a function that is no operation": (lambda x: x.isclose(x * 2), r"'isclose\(\)' in Says 'part'.*no translation"),
    "a number taken from values": (lambda x: x * float(x.sum()), r"'mul' in Says 'part'.*changes with the input"),
    "a detour through NumPy": (lambda x: rlgrad.from_numpy(x.numpy() * 2), "not computed by operations"),
    "a decision": (lambda x: x * 2 if x.shape[0] == 2 else x + 1, "same operations for every input"),
    "a write into a part": (lambda x: _write_part(x * 1), "in-place change|no translation"),
    "an index computed on the way": (lambda x: x[:, x[0].argsort() * 0], "'index' in Says 'part'.*use gather"),
    "places computed on the way": (lambda x: x.index_select(1, x[0].argsort() * 0), "'index_select' in.*use gather"),
    "nothing at all": (lambda x: None, "NoneType"),
}


def _write_part(x):
    x[:, 0] = 0
    return x


@pytest.mark.filterwarnings("ignore:values that follow")
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported_is_named_with_its_place(name, tmp_path):
    function, words = REFUSED[name]
    module = nn.Sequential()
    module.add_module("part", Says(function))
    with pytest.raises(rlgrad.onnx.ExportError, match=words):
        rlgrad.onnx.export(module, rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []
    assert (rlgrad.ones(2) + 1).tolist() == [2, 2], "nothing is left of the trace"


def test_a_projected_lstm_needs_a_fixed_number_of_steps(tmp_path):
    with pytest.raises(rlgrad.onnx.ExportError, match=r"'lstm_layer' in LSTM.*proj_size.*steps"):
        rlgrad.onnx.export(nn.LSTM(3, 4, proj_size=2), rlgrad.randn(2, 3, 3), tmp_path / "m.onnx")


def test_looking_at_values_warns(tmp_path):
    module = Says(lambda x: x * 2 if x.sum() > -1e9 else x)
    with pytest.warns(UserWarning, match="looked at in Says"):
        rlgrad.onnx.export(module, rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")


def test_a_model_that_gives_something_else_is_not_written(tmp_path, monkeypatch):
    from rlgrad.onnx import exporting

    monkeypatch.setitem(exporting.TABLE, "tanh", lambda s: s.add("Sin", s[0]))
    with pytest.raises(rlgrad.onnx.ExportError, match="does not give what the module gives"):
        rlgrad.onnx.export(nn.Tanh(), rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


def test_verification_works_without_onnxruntime(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    from rlgrad.onnx import exporting

    rlgrad.onnx.export(nn.Linear(3, 2), rlgrad.randn(2, 3), tmp_path / "m.onnx")
    monkeypatch.setitem(exporting.TABLE, "tanh", lambda s: s.add("Sin", s[0]))
    with pytest.raises(rlgrad.onnx.ExportError, match="does not give what the module gives"):
        rlgrad.onnx.export(nn.Tanh(), rlgrad.from_numpy(draw(2, 3)), tmp_path / "m.onnx")


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"rlgrad\[onnx\]"):
        rlgrad.onnx.export(nn.Linear(3, 2), rlgrad.randn(2, 3), tmp_path / "m.onnx")


def test_wrong_arguments_are_named(tmp_path):
    path = tmp_path / "m.onnx"
    with pytest.raises(TypeError, match="expected a Tensor"):
        rlgrad.onnx.export(nn.Linear(3, 2), [np.zeros((1, 3))], path)
    with pytest.raises(ValueError, match="no dimension 2"):
        rlgrad.onnx.export(nn.Linear(3, 2), rlgrad.randn(2, 3), path, batch_dim=2)
    with pytest.raises(ValueError, match="names"):
        rlgrad.onnx.export(nn.Linear(3, 2), rlgrad.randn(2, 3), path, input_names=["a", "b"])
    with pytest.raises(ValueError, match="names"):
        rlgrad.onnx.export(nn.Linear(3, 2), rlgrad.randn(2, 3), path, output_names=["a", "b"])
