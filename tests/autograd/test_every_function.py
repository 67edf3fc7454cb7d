"""Each public function on its samples: values and gradients are torch's, first and second derivatives are right."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops import later
from rlgrad.nn import functional as F

from .samples import ELSEWHERE, EXPRESSIONS, SAMPLES, VALUES_ONLY, Constant, Maker, Sample

PUBLIC = {
    name: value
    for namespace in (
        {name: getattr(F, name) for name in F.__all__},
        vars(rlgrad),
        {name: getattr(rlgrad, name) for name in later.NAMES},
    )
    for name, value in namespace.items()
    if isinstance(value, types.FunctionType) and not name.startswith("_") and name not in later.IN_PLACE.split()
}
METHODS_ONLY = {"repeat": rlgrad.Tensor.repeat}


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def ours(name: str) -> Callable[..., Any]:
    return METHODS_ONLY.get(name) or PUBLIC[name]


def theirs(torch: Any, name: str) -> Callable[..., Any]:
    if name == "vector_norm":
        return torch.linalg.vector_norm
    for namespace in (torch.nn.functional, torch, torch.Tensor):
        if hasattr(namespace, name):
            return getattr(namespace, name)
    raise AssertionError(f"torch has no {name}")


def fill(
    library: Any, sample: Sample, dtype: Any = np.float64, layout: str = "C"
) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """A sample's arguments as tensors of a library, and among them the leaves that require grad."""
    leaves: list[Any] = []

    def convert(value: Any) -> Any:
        if isinstance(value, Constant):
            return library.from_numpy(value.array.astype(dtype))
        if isinstance(value, np.ndarray):
            array = value.astype(dtype) if value.dtype.kind == "f" else value.copy()
            if layout == "strided" and array.ndim:
                wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
                wide[..., ::2] = array
                array = wide[..., ::2]
            elif layout == "F" and array.ndim > 1:
                array = np.asfortranarray(array)
            tensor = library.from_numpy(array)
            if array.dtype.kind == "f":
                tensor.requires_grad_()
                leaves.append(tensor)
            return tensor
        return (
            [convert(v) for v in value]
            if isinstance(value, list) and value and isinstance(value[0], np.ndarray)
            else value
        )

    args, kwargs = sample
    return [convert(a) for a in args], {k: convert(v) for k, v in kwargs.items()}, leaves


def outputs(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def same(mine: Any, other: Any, rtol: float = 1e-9) -> None:
    """Same Python value, or same dtype, shape and elements."""
    if not hasattr(other, "dtype"):
        assert mine == other
        return
    assert str(mine.dtype) == str(other.dtype)
    assert tuple(mine.shape) == tuple(other.shape)
    assert mine.requires_grad == other.requires_grad
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=rtol, atol=rtol)


def weights(results: list[Any], library: Any) -> list[Any]:
    """A fixed gradient for each differentiable output."""
    rng = np.random.default_rng(1)
    drawn = [np.asarray(rng.standard_normal(tuple(y.shape))) for y in results]
    return [library.from_numpy(g).to(y.dtype) for g, y in zip(drawn, results, strict=True)]


def gradients(
    library: Any, function: Callable[..., Any], sample: Sample, **options: Any
) -> tuple[list[Any], list[Any]]:
    args, kwargs, leaves = fill(library, sample, **options)
    results = [y for y in outputs(function(*args, **kwargs)) if y.requires_grad]
    found = library.autograd.grad(results, leaves, weights(results, library), allow_unused=True)
    return results, [
        np.zeros(tuple(x.shape)) if g is None else g.numpy(force=True) for g, x in zip(found, leaves, strict=True)
    ]


def all_samples(name: str) -> list[Sample]:
    if name in EXPRESSIONS:
        return [(tuple(EXPRESSIONS[name][1](Maker())), {})]
    return {**SAMPLES, **VALUES_ONLY}[name](Maker())


def pair(torch: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if name in EXPRESSIONS:
        return EXPRESSIONS[name][0], EXPRESSIONS[name][0]
    return ours(name), theirs(torch, name)


DIFFERENTIABLE = [*SAMPLES, *EXPRESSIONS]
SINGLE_PRECISION_CONSTANTS = {"celu", "hardsigmoid"}
"""Functions whose derivative torch multiplies by a constant of seven digits even in float64."""


def test_no_public_function_lacks_samples():
    known = {*SAMPLES, *VALUES_ONLY, *ELSEWHERE}
    assert sorted(set(PUBLIC) - known - {"relu_"}) == []
    assert sorted(set(SAMPLES) - set(PUBLIC) - set(METHODS_ONLY)) == []


def test_no_registered_derivative_lacks_samples(monkeypatch):
    """Every registry entry with a derivative is run by some sample, derivatives of derivatives included."""
    from rlgrad.autograd.registry import REGISTRY, Op

    used: set[str] = set()
    original = Op.plan

    def plan(op: Op, *args: Any) -> Any:
        used.add(op.name)
        return original(op, *args)

    monkeypatch.setattr(Op, "plan", plan)
    for op in REGISTRY.values():
        op.masks.clear()
    for name in DIFFERENTIABLE:
        function = EXPRESSIONS[name][0] if name in EXPRESSIONS else ours(name)
        for sample in all_samples(name):
            args, kwargs, leaves = fill(rlgrad, sample)
            results = [y for y in outputs(function(*args, **kwargs)) if y.requires_grad]
            seeds = [g.requires_grad_() for g in weights(results, rlgrad)]
            rlgrad.autograd.grad(results, leaves, seeds, create_graph=True, allow_unused=True)
    in_place_or_copies = {"fill", "copy", "index_put", "move", "heaviside", "nextafter", "zero"}
    drawn = {"bernoulli", "normal_of_both", "normal_of_mean", "normal_of_std", "poisson"}  # no gradient flows
    straight_from_functions = {name for name, op in REGISTRY.items() if op.differentiable and op.inputs} - used
    number_forms = {name for name in straight_from_functions if name.rsplit("_", 1)[0] in SAMPLES}
    # Elementwise ops hold their plans from the start.
    special = {
        name for name in straight_from_functions for form in EXPRESSIONS if name in form.replace(".", " ").split()
    }
    elementwise = number_forms | special | {name for name in straight_from_functions if name in SAMPLES}
    tested_as_modules = {"rnn_layer", "gru_layer", "lstm_layer", "ctc_loss", "ctc_gradient"}
    tested_as_modules |= {
        "normal_log_prob",
        "categorical_entropy",
        "log_tanh_slope",
        "chosen",
        "chosen_into",
    }  # of distributions
    tested_as_modules |= {"clipped_surrogate", "categorical_log_prob", "huber_of_chosen"}  # of agents
    assert sorted(straight_from_functions - elementwise - in_place_or_copies - drawn - tested_as_modules) == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*SAMPLES, *VALUES_ONLY, *EXPRESSIONS])
def test_value_is_torchs(torch, name, dtype):
    mine, other = pair(torch, name)
    for sample in all_samples(name):
        results = []
        for library, function in ((rlgrad, mine), (torch, other)):
            args, kwargs, _ = fill(library, sample, dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(outputs(function(*args, **kwargs)))
        assert len(results[0]) == len(results[1])
        for a, b in zip(*results, strict=True):
            same(a, b, 1e-9 if dtype is np.float64 else 2e-5)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_is_torchs(torch, name, layout):
    mine, other = pair(torch, name)
    if layout != "C" and name in ("view", "view_as", "view_copy", "nll_loss", "max_unpool2d", "max_unpool3d"):
        pytest.skip("torch wants contiguous memory here")
    for sample in all_samples(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, found = gradients(rlgrad, mine, sample, layout=layout)
            second, expected = gradients(torch, other, sample, layout=layout)
        for a, b in zip(first, second, strict=True):
            same(a, b)
        for a, b in zip(found, expected, strict=True):
            assert a.shape == b.shape
            rtol = 1e-7 if name in SINGLE_PRECISION_CONSTANTS else 1e-8
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_and_second_derivatives_match_differences(name):
    function = EXPRESSIONS[name][0] if name in EXPRESSIONS else ours(name)
    if name == "x.to(float32 and back)":
        pytest.skip("float32 is too coarse for differences")
    for sample in all_samples(name):
        args, kwargs, leaves = fill(rlgrad, sample)
        if not leaves or sum(x.numel() for x in leaves) == 0:
            continue
        positions = {id(x): i for i, x in enumerate(leaves)}

        def call(*values: Any, args=args, kwargs=kwargs, positions=positions) -> Any:
            swap = lambda v: (  # noqa: E731
                [swap(e) for e in v] if isinstance(v, list) else values[positions[id(v)]] if id(v) in positions else v
            )
            return function(*[swap(a) for a in args], **{k: swap(v) for k, v in kwargs.items()})

        rlgrad.manual_seed(0)
        assert rlgrad.autograd.gradcheck(call, leaves)
        assert rlgrad.autograd.gradgradcheck(call, leaves, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in {**SAMPLES, **VALUES_ONLY} if hasattr(rlgrad.Tensor, n + "_")])
def test_in_place_form_equals_the_plain_one(name):
    """Also in its gradients."""
    function, in_place = ours(name), getattr(rlgrad.Tensor, name + "_")
    tried = 0
    for sample in all_samples(name):
        args, kwargs, leaves = fill(rlgrad, sample)
        if not isinstance(args[0], rlgrad.Tensor):
            continue
        expected = function(*args, **kwargs)
        if expected.shape != args[0].shape or expected.dtype != args[0].dtype:
            continue
        tried += 1
        target = args[0].clone()
        version = target._version
        result = in_place(target, *args[1:], **kwargs)
        assert result is target
        assert target._version > version
        same(result, expected)
        if expected.requires_grad and expected.grad_fn.name() != "torch::autograd::NotImplemented":
            seed = weights([expected], rlgrad)
            wanted = rlgrad.autograd.grad(expected, leaves, seed)
            for a, b in zip(rlgrad.autograd.grad(result, leaves, seed), wanted, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
    assert tried or name in VALUES_ONLY or name in ("polygamma", *TURNED_IN_PLACE)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_different_leaves_share_no_memory(name):
    function = EXPRESSIONS[name][0] if name in EXPRESSIONS else ours(name)
    for sample in all_samples(name):
        args, kwargs, leaves = fill(rlgrad, sample)
        results = [y for y in outputs(function(*args, **kwargs)) if y.requires_grad]
        seeds = weights(results, rlgrad)
        rlgrad.autograd.backward(results, seeds)
        held = [x.grad for x in leaves if x.grad is not None]
        others = [*seeds, *(x.detach() for x in leaves), *(y.detach() for y in results)]
        for i, g in enumerate(held):
            assert g.numpy().flags.writeable
            for other in [*held[:i], *others]:
                assert not np.shares_memory(g.numpy(), other.numpy())


TURNED_IN_PLACE = ["squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims", "as_strided"]  # these change the shape

NAMED = ["add", "sub", "mul", "div", "pow", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "neg", "clamp", "maximum", "sum", "mean", "var", "std", "max", "matmul", "mm", "mv", "bmm", "dot", "cat", "stack", "reshape", "permute", "transpose", "t", "expand", "select", "gather", "softmax", "log_softmax", "mse_loss", "nll_loss", "where", "cumsum", "softplus", "leaky_relu", "elu", "logsumexp", "clone", "unsqueeze", "squeeze", "split", "unbind", "flip", "masked_fill"]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_node_is_named_as_in_torch(torch, name):
    mine, other = pair(torch, name)
    for sample in all_samples(name)[:1]:
        named = []
        for library, function in ((rlgrad, mine), (torch, other)):
            args, kwargs, _ = fill(library, sample)
            named.append(outputs(function(*args, **kwargs))[0].grad_fn.name())
        assert named[0] == named[1]
