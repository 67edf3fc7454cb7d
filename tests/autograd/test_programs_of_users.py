"""Short programs about the graph itself - hooks, views, modes, user-defined functions - end as they do under torch.

Each leaves in ``out`` tensors, names and numbers to compare, or raises an error of the same class.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

PROGRAMS = {
    "a retained gradient is that of the value after an in-place change": """
        y = x * 2
        y.retain_grad()
        y.mul_(4)
        y.sum().backward()
        out = [y.grad, x.grad, y.retains_grad]
        """,
    "names of nodes": """
        y = torch.zeros(3, dtype=torch.float64)
        y[1] = x[0]
        c = torch.zeros(3, dtype=torch.float64).copy_(x)
        made = [(x * x).grad_fn.next_functions[0][0], y.grad_fn, (x // 2).grad_fn, c.grad_fn]
        out = [node.name() for node in made] + [type(node).__name__ for node in made] + [repr(y)]
        """,
    "what a node saved": """
        a, b = x.exp(), x.pow(2)
        out = [a.grad_fn._saved_result, b.grad_fn._saved_self, b.grad_fn._saved_exponent]
        """,
    "nothing else is to be had of a node": "out = x.exp().grad_fn._saved_other",
    "what a node saved goes with the first backward": """
        y = x.exp()
        y.sum().backward()
        out = y.grad_fn._saved_result
        """,
    "a batch of gradients": """
        y = x**2
        out = list(torch.autograd.grad(y, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True))
        """,
    "a batch of gradients of two outputs, one input unused": """
        z = torch.ones(2, requires_grad=True)
        y = x**2
        seeds = torch.eye(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
        out = torch.autograd.grad((y, y.sum()), (x, z), seeds, is_grads_batched=True, allow_unused=True)
        out = [out[0], out[1] is None]
        """,
    "gradients with respect to nothing": "out = torch.autograd.grad(x.sum(), [])",
    "a generator function without gradients": """
        @torch.no_grad()
        def values():
            got = yield torch.is_grad_enabled()
            yield got, torch.is_grad_enabled()
        steps = values()
        out = [next(steps), torch.is_grad_enabled(), *steps.send("sent"), list(steps), list(values())]
        """,
    "an error thrown into a generator function without gradients": """
        @torch.no_grad()
        def values():
            try:
                yield 1
            except KeyError:
                yield torch.is_grad_enabled()
        steps = values()
        out = [next(steps), steps.throw(KeyError()), torch.is_grad_enabled()]
        """,
    "one of several views after its base was written to": """
        y = x * 1
        first, second = y.split([1, 2])
        y.mul_(2)
        first.sum().backward()
        """,
    "several views after their base, which is a constant, was written to": """
        y = torch.zeros(4)
        first, second = y.chunk(2)
        y.add_(2)
        out = [first * 2, second]
        """,
    "a function that writes into a leaf": """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)
            @staticmethod
            def backward(ctx, g):
                return g * 2
        out = Double.apply(x)
        """,
    "a backward that returns a number": """
        class Copy(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return 5
        Copy.apply(x).sum().backward()
        """,
    "a mask beside slices takes a number of another dtype": """
        y = torch.ones(2, 3, dtype=torch.float64)
        y[:, torch.tensor([True, False, True])] = torch.tensor(0.0)
        y[[True, False], 1] = torch.tensor(5.0)
        out = [y]
        """,
    "positions take no number of another dtype": """
        y = torch.ones(2, 3, dtype=torch.float64)
        y[[0, 1]] = torch.tensor(0.0)
        """,
    "whole numbers take no part in the graph": """
        y = torch.zeros(3, dtype=torch.int64)
        y[:2] = x[:2]
        y.copy_(x)
        out = [y, y.requires_grad]
        """,
    "a second backward through joined tensors of which one is empty": """
        empty = x[:0].clone()
        empty.sum().backward()
        y = torch.cat([x[x > 9].exp(), torch.ones(2, 3, dtype=torch.float64)])
        y.sum().backward()
        y.sum().backward()
        """,
}


def outcome(library: Any, program: str) -> Any:
    x = library.tensor([0.3, -0.7, 1.1], dtype=library.float64, requires_grad=True)
    names: dict[str, Any] = {"torch": library, "x": x, "out": []}
    try:
        exec(textwrap.dedent(program), names)
    except Exception as error:
        return type(error)
    return [y.detach().numpy() if isinstance(y, library.Tensor) else y for y in names["out"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_ends_as_under_torch(name: str) -> None:
    found, expected = outcome(rlgrad, PROGRAMS[name]), outcome(torch, PROGRAMS[name])
    if isinstance(expected, type):
        assert found is expected
        return
    assert [type(y) for y in found] == [type(y) for y in expected]
    for mine, other in zip(found, expected, strict=True):
        if isinstance(mine, np.ndarray):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=1e-12)
        else:
            assert mine == other


def test_a_forked_stream_can_be_switched_off() -> None:
    rlgrad.manual_seed(0)
    with rlgrad.random.fork_rng(devices=[], enabled=False):
        first = rlgrad.rand(1)
    rlgrad.manual_seed(0)
    with rlgrad.random.fork_rng(devices=[]):
        inner = rlgrad.rand(1)
    assert first.item() == inner.item() == rlgrad.rand(1).item()
