"""Indexing, reading and writing, against torch: random index expressions with gradients, and views written in place."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlgrad

torch = pytest.importorskip("torch")

BOUND = st.none() | st.integers(-4, 4)
SLICE = st.builds(slice, BOUND, BOUND, st.none() | st.integers(1, 3))
NUMBERS = st.lists(st.integers(-3, 2), max_size=3)
LISTS = st.one_of(NUMBERS, NUMBERS.map(lambda row: [row, row]), NUMBERS.map(lambda row: [[row], [row]]))


@st.composite
def _tensor_index(draw: Any) -> tuple[str, Any]:
    shape = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (1, 3), (0,), (2, 2)]))
    kind = draw(st.sampled_from(["int64", "int64", "int32"]))
    count = int(np.prod(shape))
    return ("tensor", np.array(draw(st.lists(st.integers(-3, 3), min_size=count, max_size=count)), kind).reshape(shape))


@st.composite
def _mask(draw: Any) -> tuple[str, Any]:
    shape = draw(st.sampled_from([(), (3,), (2,), (3, 2), (2, 3), (3, 2, 4), (4,)]))
    count = int(np.prod(shape))
    return ("tensor", np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(shape))


ITEM = st.one_of(
    st.integers(-3, 3),
    SLICE,
    st.just(slice(None)),
    st.none(),
    st.just(Ellipsis),
    st.booleans(),
    LISTS,
    _tensor_index(),
    _mask(),
)
INDEX = st.one_of(ITEM, st.lists(ITEM, max_size=4).map(lambda items: ("tuple", items)))
SHAPES = st.sampled_from([(3, 2, 4), (3, 2), (3,), (), (0, 2), (2, 3)])


def given_to(library: Any, index: Any) -> Any:
    if isinstance(index, tuple) and index[0] == "tensor":
        return library.tensor(index[1].copy())
    if isinstance(index, tuple) and index[0] == "tuple":
        return tuple([given_to(library, item) for item in index[1]])
    return index


def run(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:
            return error


def agree(mine: Any, other: Any) -> bool:
    """Whether both gave something; errors must be of one class."""
    if isinstance(mine, Exception) or isinstance(other, Exception):
        assert type(mine) is type(other), f"{mine!r} where torch gives {other!r}"
        return False
    return True


def equal(mine: Any, other: Any) -> None:
    assert tuple(mine.shape) == tuple(other.shape)
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-12)


def values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape))


SETTINGS = settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)


@SETTINGS
@given(shape=SHAPES, index=INDEX, turned=st.booleans())
def test_reading_is_torchs(shape, index, turned):
    results = []
    for library in (rlgrad, torch):
        x = library.tensor(values(shape)).requires_grad_()
        source = (x * 1).transpose(0, -1) if turned and shape else x * 1
        key = given_to(library, index)
        results.append((x, run(lambda source=source, key=key: source[key])))
    (x, mine), (z, other) = results
    if not agree(mine, other):
        return
    equal(mine, other)
    assert mine.grad_fn.name() == other.grad_fn.name()
    assert mine._is_view() == other._is_view()
    seed = values(tuple(other.shape), 1)
    mine.backward(rlgrad.tensor(seed), create_graph=True)
    other.backward(torch.tensor(seed))
    equal(x.grad, z.grad)


@SETTINGS
@given(
    shape=SHAPES,
    index=INDEX,
    turned=st.booleans(),
    value=st.one_of(
        st.sampled_from([2.5, 3, True]),
        st.sampled_from(["same", "number", "row", "one", "wrong", "double", "lifted"]),
    ),
)
def test_writing_is_torchs(shape, index, turned, value):
    part = run(
        lambda: (
            torch.zeros(shape).transpose(0, -1)[given_to(torch, index)]
            if turned and shape
            else torch.zeros(shape)[given_to(torch, index)]
        )
    )
    chosen = () if isinstance(part, Exception) else tuple(part.shape)
    results = []
    for library in (rlgrad, torch):
        x = library.tensor(values(shape)).requires_grad_()
        base = x * 1
        target = base.transpose(0, -1) if turned and shape else base
        source: Any = value
        leaf = None
        if isinstance(value, str):
            sizes = {
                "same": chosen,
                "number": (),
                "row": chosen[-1:],
                "one": (1,) * len(chosen),
                "wrong": (7, 5),
                "double": chosen,
                "lifted": (1, *chosen),
            }
            leaf = library.tensor(values(sizes[value], 2)).requires_grad_()
            source = leaf.float() if value == "double" else leaf * 1
        key = given_to(library, index)
        written = run(lambda target=target, key=key, source=source: target.__setitem__(key, source))
        results.append((x, leaf, base, target, written))
    mine, other = results
    if isinstance(part, Exception) and isinstance(mine[4], Exception) and isinstance(other[4], Exception):
        return  # with two mistakes, either may be named
    if not agree(mine[4], other[4]):
        return
    equal(mine[2], other[2])
    equal(mine[3], other[3])
    seed = values(tuple(other[3].shape), 1)
    for (x, leaf, base, target, _), library in ((mine, rlgrad), (other, torch)):
        (target * library.tensor(seed)).sum().backward(retain_graph=True)
        (base * base).sum().backward()
        del x, leaf
    for a, b in zip(mine[:2], other[:2], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "x[[[0, 1], [1, 0]]]",
        "x[[0, [1]]]",
        "x[[None, 0]]",
        "x[np.array([0, 1])]",
        "x[np.int64(1)]",
        "x[range(2)]",
        "x[1.5]",
        "x['a']",
        "x[{}]",
        "x[torch.tensor(1.0)]",
        "x[[1.5]]",
        "x[0, 0, 0]",
        "x[[0, 5]]",
        "x[::-1]",
        "x[np.bool_(True)]",
        "x[1.0:]",
        "x[[0, 1], [0, 1, 2]]",
        "x[torch.zeros(2, dtype=torch.int16)]",
        "x[torch.ones(3, dtype=torch.uint8)]",
        "x[False, [0, 1]]",
        "x[:0][False, [0, 1]]",
        "x[:0, [9]]",
        "x[..., ..., None]",
        "x.requires_grad_()[-3:,]",
    ],
)
def test_unusual_indices_are_read_as_in_torch(name):
    results = [
        run(lambda library=library: eval(name, {"x": library.tensor(values((3, 4))), "torch": library, "np": np}))
        for library in (rlgrad, torch)
    ]
    if agree(*results):
        equal(*results)
        assert (results[0].grad_fn and results[0].grad_fn.name()) == (results[1].grad_fn and results[1].grad_fn.name())


@pytest.mark.parametrize(
    "name",
    [
        "x[0] = np.ones(4)",
        "x[0] = [1, 2, 3, 4]",
        "x[0] = None",
        "x[0] = 'a'",
        "x[0] = np.float64(2)",
        "x[x > 0] = np.float32(1)",
        "x[0] = torch.ones(4, dtype=torch.float32)",
        "x[[0]] = torch.ones(4, dtype=torch.float32)",
        "x[x > 0] = torch.tensor(1)",
        "x[[0]] = torch.tensor(1)",
        "x[x > 9] = torch.ones(3, dtype=torch.float64)",
        "x[[0]] = True",
        "x[0, 0][torch.tensor(True)] = torch.tensor(1)",
        "y = x[0, 0]; y[[0]] = y",
        "x[0:2][0] = 3",
        "x[[0, 0]] = torch.tensor([[1.0], [2.0]], dtype=torch.float64)",
    ],
)
def test_unusual_values_are_written_as_in_torch(name):
    tensors = [library.tensor(values((3, 4))) for library in (rlgrad, torch)]
    done = [
        run(lambda x=x, library=library: exec(name, {"x": x, "torch": library, "np": np}))
        for x, library in zip(tensors, (rlgrad, torch), strict=True)
    ]
    agree(*done)
    equal(*tensors)


def test_changing_the_index_afterwards_does_not_change_the_gradient():
    x, index = rlgrad.ones(3, requires_grad=True), rlgrad.tensor([0, 1])
    y = x[index]
    index.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 0]


def test_a_large_table_is_written_without_a_copy():
    table = rlgrad.zeros(1000, 8)
    address = table.data_ptr()
    table[rlgrad.tensor([3, 5])] = rlgrad.ones(2, 8)
    assert table.data_ptr() == address
    assert table.sum().item() == 16


def test_writing_through_a_view_whose_base_is_laid_out_otherwise():
    """The copy of the base that is differentiated need not have its memory layout."""
    found = []
    for library in (rlgrad, torch):
        x = library.arange(6.0).reshape(2, 3).requires_grad_()
        base = x.t() * 1
        base.t().view(-1)[1:3] = 0
        base.sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_array_equal(*found)
    assert found[0].sum() == 4


def test_gradient_of_as_strided_scatter_is_zero_where_it_was_overwritten():
    x, y = rlgrad.ones(6, requires_grad=True), rlgrad.ones(2, 2, requires_grad=True)
    rlgrad.as_strided_scatter(x, y, (2, 2), (2, 1), 1).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 0, 0, 1]
    assert y.grad.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("name", ["squeeze_", "unsqueeze_", "t_", "transpose_", "as_strided_"])
def test_turning_in_place_is_torchs(name):
    arguments = {"unsqueeze_": (1,), "transpose_": (0, 1), "as_strided_": ((2, 2), (1, 2))}.get(name, ())
    named = []
    for library in (rlgrad, torch):
        x = library.tensor(values((1, 4))).requires_grad_()
        z = x * 1
        assert getattr(z, name)(*arguments) is z
        (z * z).sum().backward(retain_graph=True)
        named.append((z.grad_fn.name(), tuple(z.shape), z._version, x.grad.numpy()))
    for a, b in zip(*named, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(rlgrad.ones(1, 4, requires_grad=True), name)(*arguments)
