"""What the engine promises: errors that help, versions, views, hooks, modes, functions, and no garbage left behind."""

import copy
import gc
import pickle
import threading
import warnings
import weakref

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd import Function, grad, gradcheck, gradgradcheck
from rlgrad.autograd.function import once_differentiable


def leaf(*values):
    return rlgrad.tensor(list(values), dtype=rlgrad.float64, requires_grad=True)


def test_second_backward_says_what_was_freed_and_the_way_out():
    y = (leaf(1.0, 2.0) ** 2).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"freed.*retain_graph=True"):
        y.backward()


def test_saved_tensor_modified_in_place_is_told_in_full():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    for part in ("float64", "[2]", "version 1", "expected version 0", "MulBackward0", "ExpBackward0", "detect_anomaly"):
        assert part in str(caught.value)


def test_backward_on_a_vector_asks_for_a_gradient():
    with pytest.raises(RuntimeError, match=r"\[2\].*gradient="):
        (leaf(1.0, 2.0) * 2).backward()


def test_in_place_on_a_leaf_names_no_grad():
    x = leaf(1.0, 2.0)
    for change in (lambda: x.add_(1), lambda: x[:1].mul_(2), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError, match=r"leaf.*no_grad"):
            change()


def test_root_without_history():
    with pytest.raises(RuntimeError, match=r"does not require grad.*grad_fn"):
        rlgrad.ones(1).backward()


def test_gradient_of_the_wrong_shape_names_both():
    with pytest.raises(RuntimeError, match=r"\[3\].*\[2\]"):
        (leaf(1.0, 2.0) * 2).backward(rlgrad.ones(3, dtype=rlgrad.float64))


def test_unused_input_is_named():
    x, y = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match=r"inputs\[1\].*allow_unused=True"):
        grad(x.sum(), [x, y])


@pytest.mark.parametrize("dtype", [rlgrad.int64, rlgrad.bool])
def test_integers_cannot_require_grad(dtype):
    with pytest.raises(RuntimeError, match=r"floating point.*torch\."):
        rlgrad.zeros(1, dtype=dtype).requires_grad_()


def test_wrong_number_or_shape_of_gradients_names_the_function():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, count):
            ctx.count = count
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return (g, None, g) if ctx.count else (rlgrad.ones(5, dtype=rlgrad.float64), None)

    with pytest.raises(RuntimeError, match=r"WrongBackward.*expected 2, got 3"):
        Wrong.apply(leaf(1.0, 2.0), True).sum().backward()
    with pytest.raises(RuntimeError, match=r"WrongBackward.*\[5\].*\[2\]"):
        Wrong.apply(leaf(1.0, 2.0), False).sum().backward()


def test_anomaly_mode_shows_the_forward_line():
    with rlgrad.autograd.detect_anomaly():
        y = (leaf(0.0) * 0).sqrt()
        with pytest.raises(RuntimeError, match="nan") as caught:
            (y * 0).sum().backward()
    assert any("test_semantics" in note for note in caught.value.__notes__)


def test_detach_shares_the_version_and_data_does_not():
    x = rlgrad.zeros(2)
    x.detach().add_(1)
    assert (x._version, x.tolist()) == (1, [1.0, 1.0])
    x.data.add_(1)
    assert (x._version, x.tolist()) == (1, [2.0, 2.0])
    x[0].zero_()
    assert x._version == 2


def test_a_write_to_a_view_reaches_the_base_and_its_gradient():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    view.mul_(10)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]


def test_a_write_to_the_base_reaches_the_view():
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    base.mul_(3)
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0]


def test_a_view_taken_under_no_grad_is_not_written_outside():
    base = leaf(1.0, 2.0) * 1
    with rlgrad.no_grad():
        view = base[:1]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.add_(1)


def test_one_of_several_views_is_not_written():
    with pytest.raises(RuntimeError, match="multiple views"):
        (leaf(1.0, 2.0) * 1).unbind()[0].add_(1)


def test_tensor_hooks_replace_and_are_removed():
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0]
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [22.0]


def test_leaf_hooks_run_before_accumulation_and_after():
    x, seen = leaf(1.0), []
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 2).sum().backward()
    assert seen == [[3.0]]


def test_retained_gradient_is_the_hooked_one():
    y = leaf(1.0) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    assert y.grad.tolist() == [3.0]


def test_node_hooks_see_and_replace_both_sides():
    x, seen = leaf(1.0), []
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 5,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append((ins[0].tolist(), outs[0].tolist())))
    y.sum().backward()
    assert seen == [([10.0], [5.0])]
    assert x.grad.tolist() == [10.0]


def test_a_hooks_own_tensor_never_becomes_the_gradient():
    mine, x = rlgrad.ones(1, dtype=rlgrad.float64), leaf(1.0)
    y = x * 2
    y.grad_fn.register_hook(lambda ins, outs: (mine, *ins[1:]))
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2.0]
    assert mine.tolist() == [1.0]


def test_a_hook_may_run_backward_itself():
    x, z = leaf(1.0), leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda t: (z * z).sum().backward())
    (x * 2).sum().backward()
    assert z.grad.tolist() == [4.0]


@pytest.mark.parametrize("mode", [rlgrad.no_grad, rlgrad.inference_mode, lambda: rlgrad.set_grad_enabled(False)])
def test_modes_as_context_and_decorator(mode):
    x = leaf(1.0)
    with mode():
        assert not (x * 2).requires_grad
        with rlgrad.enable_grad():
            assert (x * 2).requires_grad or rlgrad.is_inference_mode_enabled()
    double = mode()(lambda: x * 2)
    assert rlgrad.is_grad_enabled()
    assert not double().requires_grad
    assert (x * 2).requires_grad


def test_set_grad_enabled_works_at_once():
    rlgrad.set_grad_enabled(False)
    try:
        assert not (leaf(1.0) * 2).requires_grad
    finally:
        rlgrad.set_grad_enabled(True)


def test_modes_belong_to_a_thread():
    seen = []
    with rlgrad.no_grad():
        thread = threading.Thread(target=lambda: seen.append(rlgrad.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_options_of_grad():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    y = x**2
    seed = rlgrad.tensor([1.0, 10.0], dtype=rlgrad.float64)
    assert grad(y, x, seed, retain_graph=True)[0].tolist() == [2.0, 40.0]
    assert grad(y, [x, unused], seed, retain_graph=True, allow_unused=True)[1] is None
    assert grad(y, [x, unused], seed, materialize_grads=True)[1].tolist() == [0.0]
    assert x.grad is None


def test_backward_for_some_inputs_only():
    x, y = leaf(1.0), leaf(2.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2.0]
    assert y.grad is None


def test_third_derivative():
    x = leaf(2.0)
    value = x**4
    for expected in (32.0, 48.0, 48.0):
        (value,) = grad(value.sum(), x, create_graph=True)
        assert value.tolist() == [expected]


class Cube(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def test_function_with_setup_context_differentiates_twice():
    assert gradcheck(Cube.apply, (leaf(1.0, 2.0),))
    assert gradgradcheck(Cube.apply, (leaf(1.0, 2.0),))


def test_function_knows_what_is_needed_and_what_is_constant():
    seen = {}

    class Two(Function):
        @staticmethod
        def forward(ctx, x, y):
            index = (x > 0).long()
            ctx.mark_non_differentiable(index)
            ctx.set_materialize_grads(False)
            seen["needs"] = ctx.needs_input_grad
            return x * 2, y * 1, index

        @staticmethod
        def backward(ctx, gx, gy, gi):
            seen["grads"] = (gy, gi)
            return gx * 2, None

    x = leaf(1.0)
    first, _, index = Two.apply(x, leaf(1.0).detach())
    assert seen["needs"] == (True, False)
    assert not index.requires_grad
    first.sum().backward()
    assert seen["grads"] == (None, None)
    assert x.grad.tolist() == [2.0]


def test_dirty_input_comes_back_with_the_functions_history():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    y = x * 1
    z = Double.apply(y)
    assert z is y
    z.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_once_differentiable_refuses_the_second_time():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    (slope,) = grad(Once.apply(x), x, leaf(1.0), create_graph=True)
    assert slope.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_gradcheck_catches_a_wrong_derivative():
    class Wrong(Cube):
        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, (leaf(1.0, 2.0),))
    assert not gradcheck(Wrong.apply, (leaf(1.0, 2.0),), raise_exception=False)


def test_a_graph_goes_without_the_garbage_collector():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = x.exp()
        z = (y[0] * y.sum()).tanh()
        nodes = [weakref.ref(t.grad_fn) for t in (y, z)]
        Cube.apply(y).sum().backward(retain_graph=True)
        z.backward()
        array = weakref.ref(y)
        del y, z
        assert array() is None
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_training_makes_no_garbage():
    model = rlgrad.nn.Sequential(rlgrad.nn.Linear(4, 8), rlgrad.nn.Tanh(), rlgrad.nn.Linear(8, 1))
    optimizer, x = rlgrad.optim.Adam(model.parameters()), rlgrad.randn(3, 4)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()

    steps(10)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        steps(2000)
        assert len(gc.get_objects()) - before < 50
        assert gc.collect() < 20
    finally:
        gc.enable()


def test_a_chain_of_a_hundred_thousand_differentiates_and_is_freed():
    x = leaf(1.0)
    y = x
    for _ in range(120_000):
        y = y + 1
    y.sum().backward()
    del y
    assert x.grad.tolist() == [1.0]


def test_two_threads_accumulate_into_one_leaf():
    w = leaf(1.0)

    def work():
        for _ in range(300):
            (w * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad.tolist() == [1200.0]


def test_copies_and_pickles_of_leaves_but_not_of_results():
    x = leaf(1.0)
    x.grad = rlgrad.ones(1, dtype=rlgrad.float64)
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.requires_grad
        assert twin.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)
    with pytest.raises(RuntimeError, match="detach"):
        pickle.dumps(x * 2)


def test_numpy_and_dlpack_share_memory():
    x = rlgrad.zeros(3)
    np.asarray(x)[0] = 1
    assert x.tolist() == [1.0, 0.0, 0.0]
    np.from_dlpack(x)
    torch = pytest.importorskip("torch")
    shared = torch.from_dlpack(x)
    shared[1] = 2
    assert x.tolist() == [1.0, 2.0, 0.0]
    assert rlgrad.from_dlpack(torch.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(leaf(1.0))


def test_gradient_of_a_non_leaf_warns_once_asked():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match=r"retain_grad\(\)"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_the_node_of_a_target_is_not_run_itself():
    x = rlgrad.ones(3, requires_grad=True)
    y = x * 2
    for _ in range(2):  # what y saved is neither used nor freed
        (g,) = grad((y * y).sum(), y)
        assert g.tolist() == [4.0] * 3
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_constants_are_torchs():
    torch = pytest.importorskip("torch")
    for name in ("e", "inf", "nan", "newaxis", "pi"):
        assert repr(getattr(rlgrad, name)) == repr(getattr(torch, name))
