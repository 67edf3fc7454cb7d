"""Random programs of operations, views, writes and detached aliases behave as under torch, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlgrad

torch = pytest.importorskip("torch")

ONE: dict[str, Callable[..., Any]] = {
    **{
        name: lambda _, x, name=name: getattr(x, name)()
        for name in ["neg", "exp", "tanh", "sigmoid", "relu", "sin", "square", "clone"]
    },
    "x.t()": lambda _, x: x.t(),
    "x.reshape(-1)": lambda _, x: x.reshape(-1),
    "x.view(-1)": lambda _, x: x.view(-1),
    "x.unsqueeze(0)": lambda _, x: x.unsqueeze(0),
    "x.squeeze()": lambda _, x: x.squeeze(),
    "x.transpose(0, -1)": lambda _, x: x.transpose(0, -1),
    "x[0]": lambda _, x: x[0],
    "x[1:]": lambda _, x: x[1:],
    "x[..., ::2]": lambda _, x: x[..., ::2],
    "x.expand(2, ...)": lambda _, x: x.expand(2, *x.shape),
    "x[[0, 0]]": lambda _, x: x[[0, 0]],
    "x[x > 0]": lambda _, x: x[x > 0],
    "x * 2": lambda _, x: x * 2,
    "x + 2": lambda _, x: x + 2,
    "x ** 2": lambda _, x: x**2,
    "x.cumsum(0)": lambda _, x: x.cumsum(0),
    "x.sum()": lambda _, x: x.sum(),
    "x.mean(0)": lambda _, x: x.mean(0),
    "x.max()": lambda _, x: x.max(),
    "x.softmax(-1)": lambda _, x: x.softmax(-1),
    "x.detach()": lambda _, x: x.detach(),
    "x.data": lambda _, x: x.data,
    "x.zero_()": lambda _, x: x.zero_(),
    "x.fill_(0.5)": lambda _, x: x.fill_(0.5),
    "x.mul_(0.5)": lambda _, x: x.mul_(0.5),
    "x.add_(1)": lambda _, x: x.add_(1),
    "x.tanh_()": lambda _, x: x.tanh_(),
    "x.sigmoid_()": lambda _, x: x.sigmoid_(),
    "x.relu_()": lambda _, x: x.relu_(),
    "x.sin_()": lambda _, x: x.sin_(),
    "x.clamp_(-0.5, 0.5)": lambda _, x: x.clamp_(-0.5, 0.5),
    "x.data.mul_(2)": lambda _, x: x.data.mul_(2),
    "x.detach().add_(1)": lambda _, x: x.detach().add_(1),
    "x[0] = 0.25": lambda _, x: _set(x, 0, 0.25),
    "x[x < 0] = 0.25": lambda _, x: _set(x, x.detach() < 0, 0.25),
    "no_grad: x.mul_(0.5)": lambda lib, x: _without_grad(lib, x),
    "x.sum().backward(retain_graph)": lambda _, x: _backward(x, True),
    "x.sum().backward()": lambda _, x: _backward(x, False),
    "grad(x)": lambda lib, x: lib.autograd.grad(x.sum() * 2, x, retain_graph=True)[0].clone(),
}
TWO: dict[str, Callable[..., Any]] = {
    "x + y": lambda _, x, y: x + y,
    "x * y": lambda _, x, y: x * y,
    "x - y": lambda _, x, y: x - y,
    "x / (y * y + 1)": lambda _, x, y: x / (y * y + 1),
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "x @ y": lambda _, x, y: x @ y,
    "cat": lambda lib, x, y: lib.cat([x, y]),
    "stack": lambda lib, x, y: lib.stack([x, y]),
    "where": lambda lib, x, y: lib.where(x > 0, x, y),
    "x.add_(y)": lambda _, x, y: x.add_(y),
    "x.mul_(y)": lambda _, x, y: x.mul_(y),
    "x.sub_(y)": lambda _, x, y: x.sub_(y),
    "x.copy_(y)": lambda _, x, y: x.copy_(y),
    "x[0] = y": lambda _, x, y: _set(x, 0, y),
    "x[1:] = y": lambda _, x, y: _set(x, slice(1, None), y),
    "x[[0]] = y": lambda _, x, y: _set(x, [0], y),
    "x[..., 0] += y": lambda _, x, y: _add_at(x, y),
}


def _set(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def _add_at(x: Any, y: Any) -> None:
    x[..., 0] += y


def _without_grad(library: Any, x: Any) -> None:
    with library.no_grad():
        x.mul_(0.5)


def _backward(x: Any, retain_graph: bool) -> None:
    x.sum().backward(retain_graph=retain_graph)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(sorted(ONE)), st.integers(0, 20)),
        st.tuples(st.sampled_from(sorted(TWO)), st.integers(0, 20), st.integers(0, 20)),
    ),
    min_size=3,
    max_size=14,
)


def attempt(library: Any, step: tuple[Any, ...], live: list[Any]) -> Any:
    """What a step gives: its result, or the class of its error."""
    function = {**ONE, **TWO}[step[0]]
    try:
        return function(library, *[live[i % len(live)] for i in step[1:]])
    except Exception as error:
        return error


def check_same(mine: Any, other: Any, where: str) -> None:
    assert mine.requires_grad == other.requires_grad, where
    assert mine.is_leaf == other.is_leaf, where
    assert mine.shape == tuple(other.shape), where
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=where)


def close(mine: Any, other: Any, where: str) -> None:
    assert (mine is None) == (other is None), where
    if mine is not None:
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-8, atol=1e-10, err_msg=where)


@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
@given(steps=STEPS, retain=st.booleans())
def test_program_runs_as_under_torch(steps, retain):
    rng = np.random.default_rng(0)
    pairs: list[tuple[Any, Any]] = []
    for shape, requires_grad in (((2, 3), True), ((3,), True), ((2, 3), False), ((3, 2), True), ((), True)):
        values = rng.uniform(-1, 1, shape)
        pairs.append(tuple(lib.tensor(values.copy()).requires_grad_(requires_grad) for lib in (rlgrad, torch)))
    trail: list[Any] = []
    ahead = [0] * len(pairs)
    whole = True  # torch leaves half the gradients of a backward that fails; rlgrad leaves them as they were
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in steps:
            trail.append(step)
            where = f"after {trail}"
            mine = attempt(rlgrad, step, [a for a, _ in pairs])
            other = attempt(torch, step, [b for _, b in pairs])
            if isinstance(mine, Exception) or isinstance(other, Exception):
                assert type(mine) is type(other), f"{where}: {mine!r} where torch gives {other!r}"
                whole = whole and "backward" not in step[0]
            elif mine is not None and not any(mine is a for a, _ in pairs):
                pairs.append((mine, other))
                ahead.append(other._version - mine._version)  # some of torch's kernels begin at 1
            for (a, b), more in zip(pairs, ahead, strict=True):
                check_same(a, b, where)
                assert b._version - a._version == more, where
        finish = ("x.sum().backward()",) if not retain else ("x.sum().backward(retain_graph)",)
        for index, (a, b) in enumerate(pairs):
            if not a.requires_grad:
                continue
            mine, other = attempt(rlgrad, (*finish, 0), [a]), attempt(torch, (*finish, 0), [b])
            where = f"backward from {index} after {trail}"
            assert type(mine) is type(other), f"{where}: {mine!r} where torch gives {other!r}"
            whole = whole and mine is None
        for a, b in pairs if whole else ():
            if b.is_leaf:
                close(a.grad, b.grad, f"gradients after {trail}")
