"""Hooks on saved tensors, checkpoints, anomaly mode and inference tensors, with torch as the oracle."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd import graph
from rlgrad.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

torch = pytest.importorskip("torch")


def leaf(library: Any, *values: float) -> Any:
    return library.tensor(values, dtype=library.float64, requires_grad=True)


def hooks_of(library: Any) -> Any:
    return library.autograd.graph.saved_tensors_hooks


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_saved_tensors_pass_through_the_innermost_hooks(library: Any) -> None:
    calls: list[str] = []
    x = leaf(library, 1.0, 2.0)
    outer = hooks_of(library)(lambda t: calls.append("outer") or t, lambda t: calls.append("opened outer") or t)
    inner = hooks_of(library)(lambda t: calls.append("inner") or t * 1, lambda t: calls.append("opened inner") or t)
    with outer:
        y = x.exp()
        with inner:
            z = y.sin().sum()
    z.backward()
    assert calls == ["outer", "inner", "opened inner", "opened outer"]
    expected = np.cos(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_what_the_unpack_hook_returns_is_what_derivatives_use_in_every_order() -> None:
    grads = []
    for library in (rlgrad, torch):
        x = leaf(library, 1.0, 2.0)
        with hooks_of(library)(lambda t: t.numpy().copy(), lambda a, lib=library: lib.from_numpy(a) * 2):
            y = (x * x * x).sum()
        (first,) = library.autograd.grad(y, x, create_graph=True)
        (second,) = library.autograd.grad(first.sum(), x)
        grads.append((first.detach().numpy(), second.numpy()))
    np.testing.assert_allclose(grads[0], grads[1])


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_hooks_that_write_in_place_or_return_no_tensor_are_refused(library: Any) -> None:
    x = leaf(library, 1.0)
    with hooks_of(library)(lambda t: t.add_(1), lambda t: t), pytest.raises(RuntimeError, match="in place"):
        x.exp()
    with hooks_of(library)(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.backward()


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_hooks_see_what_a_function_of_the_users_saves(library: Any) -> None:
    class Cube(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = leaf(library, 2.0)
    with hooks_of(library)(lambda t: t.item(), lambda n: library.tensor([n + 1], dtype=library.float64)):
        y = Cube.apply(x)
    y.backward()
    assert x.grad.item() == 27.0


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_disabled_hooks_raise_the_given_message_and_saving_on_the_cpu_changes_no_gradient(library: Any) -> None:
    with library.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        hooks_of(library)(lambda t: t, lambda t: t).__enter__()
    x = leaf(library, 1.0, 3.0)
    with library.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 3.0]) * [2.0, 4.0])


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_a_gradient_edge_stands_for_its_tensor(library: Any) -> None:
    x = leaf(library, 1.0, 2.0)
    y = x * 2
    edge = library.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    (g,) = library.autograd.grad((y * y).sum(), edge)
    np.testing.assert_array_equal(g.numpy(), [4.0, 8.0])
    with pytest.raises(RuntimeError, match="gradient edge"):
        library.autograd.graph.get_gradient_edge(y.detach())


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_a_version_incremented_by_hand_is_noticed(library: Any) -> None:
    x = leaf(library, 1.0)
    y = x.exp()
    library.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_the_nodes_of_a_graph_come_in_the_order_of_backward() -> None:
    x = rlgrad.ones(4, requires_grad=True)
    a, b = (x * 2).split(2)
    names = [node.name() for node in graph.nodes((a * b).sum())]
    assert names == [
        "SumBackward0",
        "MulBackward0",
        "SplitBackward0",
        "MulBackward0",
        "torch::autograd::AccumulateGrad",
    ]
    assert graph.leaves(a)[0] is x


def test_a_checkpoint_gives_the_same_gradients_with_nothing_saved_and_the_same_random_numbers() -> None:
    w = rlgrad.randn(8, 8, dtype=rlgrad.float64, requires_grad=True)
    x = rlgrad.randn(4, 8, dtype=rlgrad.float64, requires_grad=True)
    calls = []

    def block(t: Any, *, scale: float) -> Any:
        calls.append(None)
        return (rlgrad.rand_like(t) * (t @ w).tanh() * scale).exp()

    rlgrad.manual_seed(3)
    block(x, scale=2.0).sum().backward()
    expected, x.grad, w.grad = (x.grad, w.grad), None, None
    rlgrad.manual_seed(3)
    y = checkpoint(block, x, scale=2.0, use_reentrant=False)
    after = rlgrad.rand(1)
    y.sum().backward()
    assert len(calls) == 3
    np.testing.assert_array_equal(x.grad.numpy(), expected[0].numpy())
    np.testing.assert_array_equal(w.grad.numpy(), expected[1].numpy())
    assert bool(after != rlgrad.rand(1))


def test_checkpoints_nest_differentiate_twice_and_run_again_for_a_retained_graph() -> None:
    x = rlgrad.tensor([0.5, 1.5], dtype=rlgrad.float64, requires_grad=True)

    def inner(t: Any) -> Any:
        return t.exp() * t

    def outer(t: Any) -> Any:
        return checkpoint(inner, t.sin(), use_reentrant=False) * t

    plain, saved = (inner(x.sin()) * x).sum(), checkpoint(outer, x, use_reentrant=False).sum()
    for y in (plain, saved):
        (first,) = rlgrad.autograd.grad(y, x, create_graph=True)
        (again,) = rlgrad.autograd.grad(y, x, retain_graph=True)
        (second,) = rlgrad.autograd.grad(first.sum(), x)
        np.testing.assert_array_equal(first.detach().numpy(), again.numpy())
        if y is plain:
            expected = first, second
        else:
            np.testing.assert_allclose(first.detach().numpy(), expected[0].detach().numpy())
            np.testing.assert_allclose(second.numpy(), expected[1].numpy())


def test_a_checkpoint_that_does_not_repeat_itself_or_whose_input_changed_raises() -> None:
    x = rlgrad.ones(2, requires_grad=True)
    runs = iter([3, 2])
    y = checkpoint(lambda t: t.new_ones(next(runs)) * t.sum().exp(), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="different metadata"):
        y.sum().backward()
    z = x * 1
    y = checkpoint(lambda t: t.exp(), z, use_reentrant=False)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_checkpointed_sequence_matches_the_sequence() -> None:
    layers = [rlgrad.nn.Linear(3, 3) for _ in range(5)]
    net = rlgrad.nn.Sequential(*layers)
    x = rlgrad.randn(2, 3, requires_grad=True)
    net(x).sum().backward()
    expected, x.grad = x.grad, None
    checkpoint_sequential(net, 2, x, use_reentrant=False).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_anomaly_mode_names_the_operation_and_shows_the_forward_line(library: Any) -> None:
    x = library.tensor(0.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with library.autograd.detect_anomaly():
            y = x.sqrt() * 0  # the line to find
            with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"):
                y.backward()
    text = "".join(str(w.message) for w in seen)
    assert "Error detected in SqrtBackward0" in text
    assert "# the line to find" in text


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_anomaly_mode_without_nan_check_only_annotates_and_ends_with_its_block(library: Any) -> None:
    x = library.tensor(0.0, requires_grad=True)
    with library.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).backward()
        with library.autograd.set_detect_anomaly(False):
            assert not library.is_anomaly_enabled()
        assert library.is_anomaly_enabled()
        assert not library.is_anomaly_check_nan_enabled()
    assert np.isnan(x.grad.item())
    assert not library.is_anomaly_enabled()
    assert library.is_anomaly_check_nan_enabled()


def test_anomaly_mode_names_what_induced_a_recorded_derivative() -> None:
    x = rlgrad.tensor(0.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen, rlgrad.autograd.detect_anomaly():
        warnings.simplefilter("always")
        (g,) = rlgrad.autograd.grad(x.sqrt(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="nan"):
            (g * 0).backward()
    assert "induced by SqrtBackward0" in str(seen[-1].message)


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_inference_tensors_can_be_read_but_neither_saved_nor_written_outside(library: Any) -> None:
    x = library.ones(2, requires_grad=True)
    with library.inference_mode():
        t = library.ones(2) * 3
        assert t.is_inference()
        t.add_(1)
        alias = x[0]
    assert not x.is_inference()
    assert not alias.is_inference()
    assert t[0].is_inference()
    assert not (t * 2).is_inference()
    assert not t.clone().is_inference()
    (x + t).sum().backward()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * t
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t.add_(1)
    with library.no_grad(), pytest.raises(RuntimeError, match="Inplace update"):
        t.mul_(1)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = t._version
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        t.requires_grad_()
    (x * t.clone()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), (1 + t).numpy())


@pytest.mark.parametrize("library", [rlgrad, torch], ids=["rlgrad", "torch"])
def test_views_made_without_recording_and_several_views_at_once_are_not_written_to(library: Any) -> None:
    base = library.ones(4, requires_grad=True).clone()
    with library.no_grad():
        view = base[:2]
    with pytest.raises(RuntimeError, match=r"created in no_grad mode|no_grad"):
        view.mul_(2)
    first, _ = base.split(2)
    with pytest.raises(RuntimeError, match="multiple views"):
        first.mul_(2)
    (row, *_) = base.reshape(2, 2).unbind(0)
    with pytest.raises(RuntimeError, match="multiple views"):
        row.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf Variable"):
        library.ones(4, requires_grad=True)[:2].mul_(2)
    with library.no_grad():
        first.mul_(3)
    assert base[0].item() == 3.0


@pytest.mark.parametrize(
    "function",
    [
        lambda lib, x: lib.nn.functional.linear(x, x[0]),
        lambda lib, x: lib.nn.functional.max_pool1d(x, 2),
        lambda lib, x: lib.nn.functional.pairwise_distance(x, x * x),
        lambda lib, x: lib.nn.functional.binary_cross_entropy(x, x.detach(), weight=x.detach()),
    ],
)
def test_results_named_as_a_whole_keep_what_hooks_packed(function: Any) -> None:
    found = []
    for library in (rlgrad, torch):
        x = library.linspace(0.1, 0.9, 12).reshape(2, 2, 3).requires_grad_()
        with library.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = function(library, x)
        name = y.grad_fn.name()
        y.sum().backward()
        found.append((name, x.grad.numpy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4)
