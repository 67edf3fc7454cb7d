"""Windows, shared memory, rare methods and old names: the same calls as in PyTorch, value by value and error by error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops.writing import combine_at, weigh_by_index

torch = pytest.importorskip("torch")

WINDOWS: dict[str, Callable[[Any], Any]] = {
    f"{name}({', '.join(map(str, args))})": lambda t, name=name, args=args: getattr(t, name)(*args, dtype=t.float64)
    for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
    for args in ((0,), (1,), (2,), (7,), (8, False))
}
CALLS: dict[str, Callable[[Any], Any]] = {
    **WINDOWS,
    "default dtype": lambda t: t.hann_window(4),
    "gradients of a window": lambda t: t.hann_window(4, requires_grad=True),
    "weights of a window": lambda t: t.hamming_window(5, True, 0.6, 0.3),
    "width of a window": lambda t: t.kaiser_window(6, False, 3.0),
    "negative window": lambda t: t.hann_window(-1),
    "whole window": lambda t: t.hann_window(4, dtype=t.int64),
    "window of a fraction": lambda t: t.hann_window(4.5),
    "asarray of a list": lambda t: t.asarray([[1, 2], [3, 4]]),
    "asarray of a number": lambda t: t.asarray(3.5),
    "asarray of a NumPy scalar": lambda t: t.asarray(np.float64(3.5)),
    "asarray that requires grad": lambda t: t.asarray([1.0, 2.0], requires_grad=True),
    "asarray of integers that require grad": lambda t: t.asarray([1, 2], requires_grad=True),
    "asarray of bytes": lambda t: t.asarray(bytearray(b"abcd"), dtype=t.int32),
    "asarray of a list without copy": lambda t: t.asarray([1, 2], copy=False),
    "asarray in another dtype without copy": lambda t: t.asarray(np.ones(2), dtype=t.float32, copy=False),
    "asarray of a tensor, detached": lambda t: t.asarray(t.ones(2, requires_grad=True), requires_grad=False),
    "asarray of a tensor, copied": lambda t: t.asarray(t.ones(2, requires_grad=True) * 2, copy=True),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.int16, count=2, offset=2),
    "frombuffer of a fraction": lambda t: t.frombuffer(bytearray(b"abc"), dtype=t.int32),
    "frombuffer of nothing": lambda t: t.frombuffer(bytearray(b""), dtype=t.int32),
    "frombuffer beyond its end": lambda t: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.int32, offset=9),
    "frombuffer of too many": lambda t: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.int32, count=3),
    "frombuffer of a list": lambda t: t.frombuffer([1], dtype=t.int32),
    "qr": lambda t: [x.abs() for x in t.qr(t.arange(6.0, dtype=t.float64).reshape(3, 2))],
    "qr, complete": lambda t: [x.abs() for x in t.qr(t.arange(6.0, dtype=t.float64).reshape(2, 3), some=False)],
    "qr of a vector": lambda t: t.qr(t.ones(2)),
    "ger": lambda t: t.ones(2).ger(t.arange(3.0)),
    "ger of a matrix": lambda t: t.ones(2).ger(t.ones(2, 2)),
    "fill_diagonal_": lambda t: t.zeros(3, 4).fill_diagonal_(2.0),
    "fill_diagonal_, tall": lambda t: t.zeros(7, 3).fill_diagonal_(1.0),
    "fill_diagonal_, wrapped": lambda t: t.zeros(11, 3).fill_diagonal_(1.0, wrap=True),
    "fill_diagonal_, wide and wrapped": lambda t: t.zeros(3, 11).fill_diagonal_(1.0, wrap=True),
    "fill_diagonal_ of a cube": lambda t: t.zeros(3, 3, 3).fill_diagonal_(1),
    "fill_diagonal_ of a transposed matrix": lambda t: t.arange(6.0).reshape(2, 3).t().fill_diagonal_(9.0),
    "fill_diagonal_ of nothing": lambda t: t.zeros(0, 3).fill_diagonal_(1.0, wrap=True),
    "fill_diagonal_ of a vector": lambda t: t.zeros(3).fill_diagonal_(1.0),
    "fill_diagonal_ of a block": lambda t: t.zeros(3, 3, 2).fill_diagonal_(1.0),
    "fill_diagonal_ with a vector": lambda t: t.zeros(3, 3).fill_diagonal_(t.ones(2)),
    "fill_diagonal_ of a leaf": lambda t: t.zeros(3, 3, requires_grad=True).fill_diagonal_(1.0),
    "as_subclass": lambda t: t.ones(2).as_subclass(t.nn.Parameter),
    "as_subclass of a number": lambda t: t.ones(2).as_subclass(int),
    "is_pinned": lambda t: t.ones(2).is_pinned(),
    "is_shared": lambda t: t.ones(2).is_shared(),
    "is_same_size": lambda t: (t.ones(2).is_same_size(t.zeros(2)), t.ones(2).is_same_size(t.zeros(3))),
    "is_set_to": lambda t: (lambda x: (x.is_set_to(x.detach()), x.is_set_to(x[1:]), x.is_set_to(x.clone())))(t.ones(2)),
    "new of a size": lambda t: t.ones(2, dtype=t.float64).new(2, 3).shape,
    "new of values": lambda t: t.ones(2, dtype=t.float64).new([1.0, 2.0]),
    "apply_": lambda t: t.arange(4.0).reshape(2, 2).apply_(lambda x: x * x + 1),
    "apply_ on integers": lambda t: t.arange(4).apply_(lambda x: x // 2),
    "map_": lambda t: t.arange(4.0).reshape(2, 2).map_(t.tensor([1.0, 2.0]), lambda x, y: x * y),
    "apply_ with gradients": lambda t: t.ones(2, requires_grad=True).apply_(abs),
    "determinism": lambda t: t.use_deterministic_algorithms(1),
    "debug mode": lambda t: t.set_deterministic_debug_mode("never"),
    "debug mode by number": lambda t: t.set_deterministic_debug_mode(3),
}


def outcome(library: Any, call: Callable[[Any], Any]) -> Any:
    """What a call gives, as plain Python, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(call(library))
        except Exception as error:
            return type(error)


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "detach"):
        return str(value.dtype), value.requires_grad, value.is_leaf, value.detach().numpy()
    return value


@pytest.mark.parametrize("name", list(CALLS))
def test_a_call_gives_what_torch_gives(name: str) -> None:
    mine, theirs = outcome(rlgrad, CALLS[name]), outcome(torch, CALLS[name])
    np.testing.assert_equal(type(mine), type(theirs))
    if isinstance(theirs, type):
        assert mine is theirs
        return
    for a, b in zip(*((x if isinstance(x, list) else [x]) for x in (mine, theirs)), strict=True):
        if isinstance(b, tuple):
            assert a[:3] == b[:3]
            np.testing.assert_allclose(a[3], b[3], rtol=1e-6, atol=1e-7)
        else:
            assert a == b


def test_asarray_shares_what_it_can() -> None:
    array = np.zeros(3)
    assert rlgrad.asarray(array).data_ptr() == array.ctypes.data
    assert rlgrad.asarray(array, copy=True).data_ptr() != array.ctypes.data
    tensor = rlgrad.ones(2, requires_grad=True)
    assert rlgrad.asarray(tensor) is tensor
    theirs = torch.zeros(2)
    rlgrad.asarray(theirs)[0] = 5.0
    assert theirs.tolist() == [5.0, 0.0]


def test_frombuffer_writes_through_and_warns_of_read_only_memory() -> None:
    memory = bytearray(4)
    rlgrad.frombuffer(memory, dtype=rlgrad.uint8)[1] = 7
    assert memory == b"\x00\x07\x00\x00"
    with pytest.warns(UserWarning, match="not writable"):
        rlgrad.frombuffer(b"ab", dtype=rlgrad.uint8)


def test_old_qr_warns() -> None:
    with pytest.warns(UserWarning, match="linalg.qr"):
        rlgrad.qr(rlgrad.eye(2))


def test_a_filled_diagonal_gets_no_gradient() -> None:
    x = rlgrad.ones(3, 2, requires_grad=True)
    (x * 2).fill_diagonal_(5.0).sum().backward()
    assert x.grad.tolist() == [[0, 2], [2, 0], [2, 2]]


def test_a_subclass_shares_memory_and_graph() -> None:
    class Named(rlgrad.Tensor):
        pass

    x = rlgrad.ones(2, requires_grad=True)
    named = x.as_subclass(Named)
    assert type(named) is Named
    assert named.data_ptr() == x.data_ptr()
    named.note = "kept"
    (named * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_pinning_without_a_gpu_is_refused() -> None:
    if rlgrad.cuda.is_available():
        pinned = rlgrad.ones(3).pin_memory()
        assert pinned.is_pinned()
        assert pinned.tolist() == [1, 1, 1]
        assert pinned.pin_memory() is pinned
    else:
        with pytest.raises(RuntimeError, match="cuda"):
            rlgrad.ones(3).pin_memory()


def test_the_old_default_type_sets_the_dtype() -> None:
    try:
        rlgrad.set_default_tensor_type("torch.DoubleTensor")
        assert rlgrad.ones(1).dtype is rlgrad.float64
    finally:
        rlgrad.set_default_tensor_type(rlgrad.FloatTensor)
    assert rlgrad.ones(1).dtype is rlgrad.float32
    for wrong in (rlgrad.LongTensor, "torch.NoTensor"):
        with pytest.raises(TypeError):
            rlgrad.set_default_tensor_type(wrong)


def test_determinism_is_remembered() -> None:
    try:
        for mode in ("error", "warn", "default"):
            rlgrad.set_deterministic_debug_mode(mode)
            torch.set_deterministic_debug_mode(mode)
            for name in (
                "are_deterministic_algorithms_enabled",
                "is_deterministic_algorithms_warn_only_enabled",
                "get_deterministic_debug_mode",
            ):
                assert getattr(rlgrad, name)() == getattr(torch, name)()
    finally:
        rlgrad.use_deterministic_algorithms(False)
        torch.use_deterministic_algorithms(False)


def test_an_unknown_precision_changes_nothing() -> None:
    rlgrad.set_float32_matmul_precision("high")
    with pytest.warns(UserWarning, match="lowest"):
        rlgrad.set_float32_matmul_precision("lowest")
    assert rlgrad.get_float32_matmul_precision() == "high"
    rlgrad.set_float32_matmul_precision("highest")


def test_deterministic_sums_over_indices_leave_the_gpu_alone() -> None:
    class Gpu:
        """An array library whose sums over repeated indices have no fixed order, and so may not be asked for any."""

        asarray = staticmethod(np.asarray)

    out = np.zeros(3)
    rlgrad.use_deterministic_algorithms(True)
    try:
        combine_at(Gpu, "add", out, (np.array([0, 2, 0]),), np.array([1.0, 2.0, 3.0]))
        sums = weigh_by_index(Gpu, np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 4)
    finally:
        rlgrad.use_deterministic_algorithms(False)
    assert out.tolist() == [4, 0, 2]
    assert sums.tolist() == [4, 0, 2, 0]


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (0.1, 0.7), (3, -2.5), (0, 2 * np.pi), (1e-3, 1e3)])
def test_linspace_rounds_as_torch_does(start: float, end: float) -> None:
    for steps in (1, 2, 3, 7, 10, 33, 64, 101):
        mine, theirs = (t.linspace(start, end, steps).tolist() for t in (rlgrad, torch))
        assert mine == theirs


def test_nodes_of_composites_have_torchs_names() -> None:
    def names(t: Any) -> list[str]:
        x = t.eye(3).requires_grad_()
        soft = t.nn.functional.cross_entropy(x, t.full((3, 3), 1 / 3))
        return [y.grad_fn.name() for y in (soft, t.cosine_similarity(x, x))]

    assert names(rlgrad) == names(torch)


def test_functions_of_ones_own_print_as_torchs_do() -> None:
    def text(t: Any) -> str:
        class Twice(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

        return repr(Twice.apply(t.ones(1, requires_grad=True)).grad_fn).split(" object")[0]

    assert text(rlgrad) == text(torch)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "max": lambda t: t.tensor([[1.0, 2.0]]).max(1),
    "aminmax": lambda t: t.arange(3).aminmax(),
    "sort": lambda t: t.tensor([2, 1]).sort(),
    "topk": lambda t: t.arange(3).topk(2),
    "kthvalue": lambda t: t.arange(3).kthvalue(2),
    "median": lambda t: t.arange(3).median(0),
    "mode": lambda t: t.arange(3).mode(),
    "cummin": lambda t: t.arange(3).cummin(0),
    "frexp": lambda t: t.frexp(t.tensor(3.0)),
    "linalg.eigh": lambda t: t.linalg.eigh(t.ones(1, 1)),
    "linalg.inv_ex": lambda t: t.linalg.inv_ex(t.eye(2)),
    "linalg.lu_factor": lambda t: t.linalg.lu_factor(t.eye(2)),
    "linalg.slogdet": lambda t: t.linalg.slogdet(t.eye(2)),
    "linalg.svd": lambda t: t.linalg.svd(t.ones(1, 1)),
    "geqrf": lambda t: [line.split("(")[0] for line in repr(t.geqrf(t.ones(1, 1))).splitlines()],
    "histogram": lambda t: t.histogram(t.arange(4.0), 2),
}


@pytest.mark.parametrize("name", list(RESULTS))
def test_several_results_print_as_torchs_do(name: str) -> None:
    assert repr(RESULTS[name](rlgrad)) == repr(RESULTS[name](torch))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_record_the_names_of_their_last_steps(reduction: str) -> None:
    def names(t: Any) -> list[str]:
        f, x, y = t.nn.functional, t.arange(4.0).requires_grad_(), t.ones(4)
        losses = (
            f.hinge_embedding_loss(x, y, reduction=reduction),
            f.margin_ranking_loss(x, y, y, reduction=reduction),
            f.binary_cross_entropy_with_logits(x, y, pos_weight=y, reduction=reduction),
        )
        return [loss.grad_fn.name() for loss in losses]

    assert names(rlgrad) == names(torch)


def test_what_no_tensor_is_here() -> None:
    x = rlgrad.ones(1)
    assert not any((x.is_sparse, x.is_quantized, x.is_meta, x.is_mps, x.is_nested, x.is_conj(), x.is_neg()))


ANSWERS: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda t, name=name: getattr(t, name)(t.ones(2))
        for name in ("get_device", "is_conj", "is_neg", "is_signed", "is_storage", "typename")
    },
    "storages": lambda t: t.is_storage(t.ones(2).untyped_storage()),
    "types of others": lambda t: [t.typename(3), t.typename(int), t.typename(np.ones(1)), t.typename(len)],
    "sizes": lambda t: [t.is_same_size(t.ones(2), t.ones(2)), t.is_same_size(t.ones(2), t.ones(3))],
    "detached": lambda t: t.detach(t.ones(2, requires_grad=True)),
    "warnings": lambda t: [t.set_warn_always(True), t.is_warn_always_enabled(), t.set_warn_always(False)],
    "range": lambda t: t.range(0, 2, 0.5),
    "range of integers": lambda t: t.range(3, 1, -1, dtype=t.int64),
    "empty range": lambda t: t.range(3, 1),
    "range without a step": lambda t: t.range(1, 3, 0),
    "split_with_sizes": lambda t: t.split_with_sizes(t.arange(6.0).reshape(2, 3), [1, 2], 1),
    "layouts": lambda t: [
        repr(t.ones(1).layout),
        isinstance(t.strided, t.layout),
        isinstance(t.channels_last, t.memory_format),
    ],
    "rows": lambda t: [
        t.ones(1, 2, 3, 4).is_contiguous(memory_format=f) for f in (t.contiguous_format, t.channels_last)
    ],
    "channels last": lambda t: t.ones(1, 4, 5, 3).permute(0, 3, 1, 2).is_contiguous(memory_format=t.channels_last),
    "kept order": lambda t: t.zeros_like(t.ones(2, 3).t(), memory_format=t.preserve_format).stride(),
    "new order": lambda t: t.zeros_like(t.ones(2, 3).t(), memory_format=t.contiguous_format).stride(),
    "no workers": lambda t: t.utils.data.get_worker_info(),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_a_question_is_answered_as_torch_does(name: str) -> None:
    mine, theirs = outcome(rlgrad, ANSWERS[name]), outcome(torch, ANSWERS[name])
    assert repr(mine) == repr(theirs)


def test_a_wrapped_module_computes_and_names_what_torchs_does() -> None:
    net = rlgrad.nn.Linear(2, 1)
    wrapped = rlgrad.nn.DataParallel(net)
    assert bool((wrapped(rlgrad.ones(3, 2)) == net(rlgrad.ones(3, 2))).all())
    assert list(wrapped.state_dict()) == list(torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict())


def test_scripts_are_the_functions_themselves() -> None:
    def f(x: float) -> float:
        return x + 1

    jit = rlgrad.jit
    assert all(
        g is f for g in (jit.script(f), jit.trace(f, (1,)), jit.ignore(f), jit.ignore(drop=True)(f), jit.unused(f))
    )
    assert not jit.is_scripting()


def test_made_tensors_keep_their_bounds() -> None:
    made = rlgrad.testing.make_tensor((40, 3), dtype=rlgrad.float64, device="cpu", low=2, high=3, requires_grad=True)
    assert made.requires_grad
    assert bool(((made >= 2) & (made < 3)).all())
    apart = rlgrad.testing.make_tensor(4, 3, dtype=rlgrad.int32, device="cpu", noncontiguous=True, exclude_zero=True)
    assert tuple(apart.shape) == (4, 3)
    assert not apart.is_contiguous()
    assert bool((apart != 0).all())
    with pytest.raises(ValueError, match="less than"):
        rlgrad.testing.make_tensor(1, dtype=rlgrad.float32, device="cpu", low=1, high=1)


MEMORY: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda t: [f(t.zeros(2, 3).untyped_storage()) for f in (len, lambda s: s.nbytes(), lambda s: s.size())],
    "bytes of a view": lambda t: t.zeros(2, 3)[1].untyped_storage().nbytes(),
    "shared": lambda t: (lambda x: x[1:].untyped_storage().data_ptr() == x.detach().data_ptr())(t.zeros(4)),
    "not shared": lambda t: (lambda x: x.clone().untyped_storage().data_ptr() == x.data_ptr())(t.zeros(4)),
    "elements": lambda t: [t.arange(6).reshape(2, 3).t().storage().tolist(), t.zeros(4)[2:].storage().size()],
    "order": lambda t: [
        t.zeros(2, 3).dim_order(),
        t.zeros(2, 3).t().dim_order(),
        t.zeros(2, 3, 4).permute(1, 2, 0).dim_order(),
    ],
    "dense": lambda t: [t.ones(2).to_dense(), t.ones(2).to_dense(t.float64)],
    "zero or not": lambda t: [t.zeros(1).is_nonzero(), t.ones(1, 1).is_nonzero()],
    "many zeros": lambda t: t.zeros(2).is_nonzero(),
    "shrunk": lambda t: t.arange(4.0).hardshrink(1.5),
    "softmax without a dimension": lambda t: t.ones(2).softmax(),
    "softmax of None": lambda t: t.softmax(t.ones(2), None),
    "log_softmax without a dimension": lambda t: t.log_softmax(t.ones(2)),
    "softmax in another dtype": lambda t: t.ones(2).softmax(0, t.float64),
    **{
        f"{name} of {ndim} dimensions, chosen": lambda t, name=name, ndim=ndim: getattr(t.nn.functional, name)(
            t.arange(2.0**ndim).reshape((2,) * ndim)
        )
        for name in ("softmax", "log_softmax", "softmin")
        for ndim in (1, 2, 3, 4)
    },
}


@pytest.mark.parametrize("name", list(MEMORY))
def test_a_call_about_memory_or_dimensions_gives_what_torch_gives(name: str) -> None:
    mine, theirs = (outcome(t, MEMORY[name]) for t in (rlgrad, torch))
    np.testing.assert_equal(type(mine), type(theirs))
    if isinstance(theirs, tuple):
        assert mine[:3] == theirs[:3]
        np.testing.assert_allclose(mine[3], theirs[3], rtol=1e-6)
    else:
        assert repr(mine) == repr(theirs)


def test_a_dimension_left_out_of_softmax_earns_a_warning() -> None:
    with pytest.warns(UserWarning, match="dim=X"):
        rlgrad.nn.functional.softmax(rlgrad.ones(2))
    with pytest.warns(UserWarning, match="dim=X"):
        rlgrad.nn.Softmax()(rlgrad.ones(2))
