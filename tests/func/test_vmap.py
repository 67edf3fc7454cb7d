"""Functions of one example over a batch: PyTorch's dimensions, randomness and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

from .test_transforms import check  # noqa: E402 - which needs torch


def m(t: Any, *shape: int) -> Any:
    shape = shape or (2, 3)
    return t.arange(float(np.prod(shape)), dtype=t.float64).reshape(shape) / 4


def loss(t: Any) -> Callable[..., Any]:
    return lambda w, a, y: ((a @ w - y) ** 2).sum()


CALLS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t.vmap(lambda a: a.sum())(m(t)),
    "columns": lambda t: t.vmap(lambda a: a.cumsum(0), in_dims=1)(m(t)),
    "from the end": lambda t: t.vmap(lambda a: a.cumsum(0), in_dims=-1, out_dims=-1)(m(t)),
    "shared": lambda t: t.vmap(lambda a, b: a * b.sum(), in_dims=(0, None))(m(t), m(t)),
    "shared number": lambda t: t.vmap(lambda a, n: a * n, in_dims=(0, None))(m(t), 3),
    "shared keyword": lambda t: t.vmap(lambda a, *, b: a @ b)(m(t), b=m(t, 3)),
    "two at once": lambda t: t.vmap(t.dot, in_dims=(0, 1))(m(t), m(t, 3, 2)),
    "nested": lambda t: t.vmap(t.vmap(lambda a: a * 2, in_dims=1), in_dims=1, out_dims=2)(m(t, 2, 3, 4)),
    "outer product": lambda t: t.vmap(t.vmap(t.mul, (0, None)), (None, 0))(m(t, 3), m(t, 2)),
    "dictionary": lambda t: t.vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": None},))(
        {"a": m(t), "b": m(t, 3)}
    ),
    "tuple out": lambda t: t.vmap(lambda a: (a, {"s": a.sum()}))(m(t)),
    "places out": lambda t: t.vmap(lambda a: (a, [a * 2, a.sum()]), out_dims=(1, [0, 0]))(m(t)),
    "one place out": lambda t: t.vmap(lambda a: a, out_dims=(1,))(m(t)),
    "independent out": lambda t: t.vmap(lambda a: t.ones(2))(m(t)),
    "not mapped out": lambda t: t.vmap(lambda a: t.ones(2), out_dims=None)(m(t)),
    "integers": lambda t: t.vmap(lambda a: a + 1)(t.arange(4)),
    "empty batch": lambda t: t.vmap(lambda a: a * 2)(m(t)[:0]),
    "chunks": lambda t: t.vmap(lambda a: a * 2, chunk_size=1)(m(t)),
    "per-example gradients": lambda t: t.vmap(t.func.grad(loss(t)), in_dims=(None, 0, 0))(m(t, 3), m(t, 4, 3), m(t, 4)),
    "gradient of a batch": lambda t: t.func.grad(lambda a: t.vmap(lambda b: (b**3).prod())(a).sum())(m(t) + 1),
    "jacobian of each": lambda t: t.vmap(t.func.jacrev(lambda a: a**2))(m(t)),
    "jacobian by vmap": lambda t: t.vmap(t.func.vjp(lambda a: a**2, m(t, 3))[1])(t.eye(3, dtype=t.float64)),
    "hessian of each": lambda t: t.vmap(t.func.hessian(lambda a: (a**3).sum()))(m(t)),
    "same numbers": lambda t: (lambda r: r - r[0])(t.vmap(lambda a: t.randn(3) + 0 * a, randomness="same")(m(t))),
    "no dimension": lambda t: t.vmap(lambda a: a, in_dims=5)(m(t)),
    "name of a dimension": lambda t: t.vmap(lambda a: a, in_dims="a")(m(t)),
    "list of dimensions": lambda t: t.vmap(lambda a: a, in_dims=[0])(m(t)),
    "no inputs": lambda t: t.vmap(lambda: 1)(),
    "number": lambda t: t.vmap(lambda a: a)(1.0),
    "number out": lambda t: t.vmap(lambda a: 3)(m(t)),
    "nothing out": lambda t: t.vmap(lambda a: None)(m(t)),
    "two sizes": lambda t: t.vmap(t.add)(m(t, 2), m(t, 3)),
    "nothing mapped": lambda t: t.vmap(t.add, in_dims=(None, None))(m(t), m(t)),
    "other structure": lambda t: t.vmap(t.add, in_dims=(0,))(m(t), m(t)),
    "other structure out": lambda t: t.vmap(lambda a: (a, a), out_dims=(0,))(m(t)),
    "letter out": lambda t: t.vmap(lambda a: a, out_dims="a")(m(t)),
    "far out": lambda t: t.vmap(lambda a: a, out_dims=2)(m(t)),
    "mapped, not out": lambda t: t.vmap(lambda a: a, out_dims=None)(m(t)),
    "random numbers": lambda t: t.vmap(lambda a: a + t.randn(3))(m(t)),
    "dropout": lambda t: t.vmap(t.nn.functional.dropout)(m(t)),
    "random numbers, nested": lambda t: t.vmap(t.vmap(lambda a: a + t.rand(()), randomness="different"))(m(t)),
    "unknown randomness": lambda t: t.vmap(lambda a: a, randomness="some")(m(t)),
    "chunks of nothing": lambda t: t.vmap(lambda a: a, chunk_size=0)(m(t)),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_vmap_gives_what_torch_gives(name: str) -> None:
    check(CALLS[name])


def test_random_numbers_differ_where_they_are_to() -> None:
    rows = rlgrad.vmap(lambda a: a + rlgrad.randn(3), randomness="different")(rlgrad.zeros(2, 3))
    assert bool((rows[0] != rows[1]).all())


def test_random_numbers_are_drawn_again_after_a_refusal() -> None:
    with pytest.raises(RuntimeError, match="randomness"):
        rlgrad.vmap(lambda a: a + rlgrad.randn(3))(rlgrad.zeros(2, 3))
    assert rlgrad.randn(3).shape == (3,)


def stacked(t: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    models = [t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)) for _ in range(3)]
    with t.no_grad():
        for model in models:
            for p in model.parameters():
                p.copy_(t.from_numpy(rng.standard_normal(tuple(p.shape))))
    return [model.eval() for model in models]


def test_an_ensemble_computes_what_its_modules_do_and_gets_gradients() -> None:
    found = []
    for t in (torch, rlgrad):
        models = stacked(t, 0)
        params, buffers = t.func.stack_module_state(models)
        data = t.arange(8.0).reshape(4, 2)
        output = t.vmap(lambda p, b, a, t=t, m=models[0]: t.func.functional_call(m, (p, b), a), (0, 0, None))(
            params, buffers, data
        )
        np.testing.assert_allclose(output[1].detach().numpy(), models[1](data).detach().numpy(), rtol=1e-5, atol=1e-6)
        output.square().sum().backward()
        found.append({name: p.grad.numpy() for name, p in params.items()})
        assert all(p.is_leaf for p in params.values())
        assert all(p.grad is None for p in models[0].parameters())
        assert sorted(buffers) == ["1.num_batches_tracked", "1.running_mean", "1.running_var"]
    for name, grad in found[0].items():
        np.testing.assert_allclose(found[1][name], grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["none", "mode", "class", "requires grad"])
def test_modules_that_differ_are_no_ensemble(kind: str) -> None:
    for t in (torch, rlgrad):
        models = [t.nn.Linear(2, 3), t.nn.Linear(2, 3)]
        if kind == "none":
            models = []
        elif kind == "mode":
            models[0].eval()
        elif kind == "class":
            models[0] = t.nn.Bilinear(2, 2, 3)
        else:
            models[0].requires_grad_(False)
        with pytest.raises(RuntimeError, match="Expected"):
            t.func.stack_module_state(models)
