"""Gradients and Jacobians as functions: PyTorch's values, structures and errors, and any nesting of them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.func import trees

torch = pytest.importorskip("torch")

Pair = namedtuple("Pair", "first second")


def x(t: Any) -> Any:
    return t.tensor([0.5, -1.5, 2.0], dtype=t.float64)


def m(t: Any) -> Any:
    return t.arange(6.0, dtype=t.float64).reshape(2, 3) / 4


def cube(a: Any) -> Any:
    return (a**3).sum()


def mixed(a: Any, b: Any) -> Any:
    return {"product": a * b.sin(), "sum": ((a * a).sum(), [b.exp()])}


def under_no_grad(t: Any, call: Callable[[], Any]) -> Any:
    with t.no_grad():
        return call()


def half_constant(t: Any) -> Callable[[Any], Any]:
    def f(a: Any) -> Any:
        with t.no_grad():
            c = a**2
        return (a * c).sum()

    return f


CALLS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda t: t.func.grad(cube)(x(t)),
    "grad of grad": lambda t: t.func.grad(lambda a: t.func.grad(cube)(a).sin().sum())(x(t)),
    "third derivative": lambda t: t.func.grad(t.func.grad(t.func.grad(lambda a: a.exp() * a**2)))(t.tensor(1.5)),
    "perturbations told apart": lambda t: t.func.grad(lambda a: a * t.func.grad(lambda b: a + b)(t.tensor(1.0)))(
        t.tensor(3.0)
    ),
    "outer variable inside": lambda t: t.func.grad(lambda a: t.func.grad(lambda b: a * b**2)(a))(t.tensor(3.0)),
    "several arguments": lambda t: t.func.grad(lambda a, b: (a * b**2).sum(), argnums=(1, 0))(x(t), x(t)),
    "last argument": lambda t: t.func.grad(lambda a, b: (a * b**2).sum(), argnums=-1)(x(t), x(t)),
    "keyword": lambda t: t.func.grad(lambda a, *, n: (a**n).sum())(x(t), n=4),
    "dictionary": lambda t: t.func.grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": x(t), "b": [x(t), x(t)]}),
    "named tuple": lambda t: t.func.grad(lambda p: (p.first * p.second).sum())(Pair(x(t), x(t))),
    "aux": lambda t: t.func.grad(lambda a: (cube(a), a * 2), has_aux=True)(x(t)),
    "value": lambda t: t.func.grad_and_value(cube)(x(t)),
    "value and aux": lambda t: t.func.grad_and_value(lambda a: (cube(a), {"b": a * 2}), has_aux=True)(x(t)),
    "unused": lambda t: t.func.grad(lambda a, b: cube(b), argnums=(0, 1))(x(t), x(t)),
    "constant": lambda t: t.func.grad(lambda a: t.tensor(1.0))(x(t)),
    "inner no_grad": lambda t: t.func.grad(half_constant(t))(x(t)),
    "outer no_grad": lambda t: under_no_grad(t, lambda: t.func.grad(half_constant(t))(x(t))),
    "nested under no_grad": lambda t: under_no_grad(t, lambda: t.func.grad(t.func.grad(lambda a: a**3))(t.tensor(2.0))),
    "vjp": lambda t: t.func.vjp(mixed, x(t), m(t))[0],
    "vjp product": lambda t: (lambda out, pull: pull(out))(*t.func.vjp(mixed, x(t), m(t))),
    "vjp twice": lambda t: (lambda pull: (pull(x(t)), pull(x(t) * 2)))(t.func.vjp(lambda a: a.tanh(), x(t))[1]),
    "vjp aux": lambda t: t.func.vjp(lambda a: (a.sin(), a * 2), x(t), has_aux=True)[2],
    "grad of vjp": lambda t: t.func.grad(lambda a: t.func.vjp(lambda b: b**3, a)[1](a)[0].sum())(x(t)),
    "jvp": lambda t: t.func.jvp(mixed, (x(t), m(t)), (x(t) * 2, m(t) - 1)),
    "jvp aux": lambda t: t.func.jvp(lambda a: (a.sin(), a * 2), (x(t),), (x(t),), has_aux=True),
    "jvp of a constant": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (x(t),)),
    "jvp of jvp": lambda t: t.func.jvp(lambda a: t.func.jvp(lambda b: b**3, (a,), (a,))[1], (x(t),), (x(t) + 1,)),
    "grad of jvp": lambda t: t.func.grad(lambda a: t.func.jvp(t.sin, (a,), (a * a,))[1].sum())(x(t)),
    "hessian-vector product": lambda t: t.func.jvp(t.func.grad(cube), (x(t),), (x(t) + 1,))[1],
    "linearize": lambda t: (lambda out, push: (out, push(x(t)), push(x(t) * 3)))(
        *t.func.linearize(lambda a: a**2, x(t))
    ),
    "jacrev": lambda t: t.func.jacrev(mixed)(x(t), m(t)),
    "jacrev, several": lambda t: t.func.jacrev(mixed, argnums=(0, 1))(x(t), m(t)),
    "jacrev of a dictionary": lambda t: t.func.jacrev(lambda p: p["a"] * p["b"])({"a": x(t), "b": m(t)}),
    "jacrev aux": lambda t: t.func.jacrev(lambda a: (a**2, a.sum()), has_aux=True)(x(t)),
    "jacfwd": lambda t: t.func.jacfwd(mixed)(x(t), m(t)),
    "jacfwd, several": lambda t: t.func.jacfwd(mixed, argnums=(1, 0))(x(t), m(t)),
    "jacfwd of a dictionary": lambda t: t.func.jacfwd(lambda p: p["a"] * p["b"])({"a": x(t), "b": m(t)}),
    "jacfwd aux": lambda t: t.func.jacfwd(lambda a: (a**2, a.sum()), has_aux=True)(x(t)),
    "jacrev of jacfwd": lambda t: t.func.jacrev(t.func.jacfwd(lambda a: a.prod()))(x(t)),
    "jacfwd of jacrev": lambda t: t.func.jacfwd(t.func.jacrev(lambda a: a.prod()))(x(t)),
    "hessian": lambda t: t.func.hessian(lambda a: (a.exp() * a.sum()).sum())(x(t)),
    "hessian, several": lambda t: t.func.hessian(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(x(t), m(t)),
    "hessian of a dictionary": lambda t: t.func.hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": x(t), "b": m(t)}),
    "number": lambda t: t.func.grad(cube)(1.0),
    "integers": lambda t: t.func.grad(cube)(t.tensor([1, 2])),
    "no such argument": lambda t: t.func.grad(cube, argnums=1)(x(t)),
    "no arguments": lambda t: t.func.grad(cube, argnums=())(x(t)),
    "argument by name": lambda t: t.func.grad(cube, argnums="a")(x(t)),
    "argument twice": lambda t: t.func.grad(lambda a, b: cube(a), argnums=(0, 0))(x(t), x(t)),
    "vector": lambda t: t.func.grad(lambda a: a)(x(t)),
    "number out": lambda t: t.func.grad(lambda a: 1.0)(x(t)),
    "no aux": lambda t: t.func.grad(cube, has_aux=True)(x(t)),
    "vjp of integers": lambda t: t.func.vjp(lambda a: a.int(), x(t)),
    "vjp of nothing": lambda t: t.func.vjp(lambda a: (), x(t)),
    "vjp of another structure": lambda t: t.func.vjp(lambda a: (a, a), x(t))[1](x(t)),
    "vjp of another shape": lambda t: t.func.vjp(cube, x(t))[1](x(t)),
    "jvp without a tuple": lambda t: t.func.jvp(cube, x(t), x(t)),
    "jvp of another structure": lambda t: t.func.jvp(cube, (x(t),), x(t)),
    "jvp of another shape": lambda t: t.func.jvp(cube, (x(t),), (t.ones(2),)),
    "jvp of a number": lambda t: t.func.jvp(cube, (1.0,), (x(t),)),
    "strict jvp": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (x(t),), strict=True),
    "chunks of nothing": lambda t: t.func.jacrev(cube, chunk_size=0)(x(t)),
}


def outcome(library: Any, call: Callable[[Any], Any]) -> Any:
    try:
        leaves, structure = trees.flatten(call(library))
    except Exception as error:
        return type(error)
    return str(structure), [(leaf.requires_grad, leaf.detach().numpy()) for leaf in leaves]


def check(call: Callable[[Any], Any]) -> None:
    mine, theirs = outcome(rlgrad, call), outcome(torch, call)
    if isinstance(theirs, type):
        assert mine is theirs
        return
    assert mine[0] == theirs[0]
    for (flag, value), (expected_flag, expected) in zip(mine[1], theirs[1], strict=True):
        assert flag == expected_flag
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(CALLS))
def test_a_transform_gives_what_torch_gives(name: str) -> None:
    check(CALLS[name])


TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda t, a, w: t.func.grad(lambda b: (b**3 * w).sum())(a),
    "value": lambda t, a, w: t.func.grad_and_value(lambda b: (b**3 * w).sum())(a)[1] * w,
    "aux": lambda t, a, w: t.func.grad(lambda b: (b.sum(), b * w), has_aux=True)(a)[1],
    "vjp": lambda t, a, w: t.func.vjp(lambda b: b**3 * w, a)[1](t.ones_like(a))[0],
    "jvp": lambda t, a, w: t.func.jvp(lambda b: b**3 * w, (a,), (t.ones_like(a),))[1],
    "tangent": lambda t, a, w: t.func.jvp(lambda b: b**3, (a,), (w * t.ones_like(a),))[1],
    "jacrev": lambda t, a, w: t.func.jacrev(lambda b: b**3 * w)(a),
    "jacfwd": lambda t, a, w: t.func.jacfwd(lambda b: b**3 * w)(a),
    "hessian": lambda t, a, w: t.func.hessian(lambda b: (b**3 * w).sum())(a),
    "vmap": lambda t, a, w: t.func.vmap(t.func.grad(lambda b: b**3 * w))(a),
}


@pytest.mark.parametrize("inner", [False, True], ids=["input is a constant", "input requires grad"])
@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_what_a_transform_gives_is_differentiated_by_what_is_outside(name: str, inner: bool) -> None:
    found = []
    for t in (torch, rlgrad):
        a, w = x(t).requires_grad_(inner), t.tensor(2.0, dtype=t.float64, requires_grad=True)
        (TRANSFORMS[name](t, a, w) ** 2).sum().backward()
        found.append((w.grad.numpy(), a.grad.numpy() if inner else None))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-9)
    if inner:
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-9)


def test_a_plain_gradient_keeps_no_graph_and_touches_no_grad() -> None:
    a = rlgrad.ones(3)
    result = rlgrad.func.grad(cube)(a)
    assert not result.requires_grad
    assert not a.requires_grad
    leaf = rlgrad.ones(3, requires_grad=True)
    rlgrad.func.grad(cube)(leaf)
    assert leaf.grad is None


def test_trees_are_built_again_as_they_were() -> None:
    value = {"a": [1, (2, Pair(3, None))], "b": ()}
    leaves, structure = trees.flatten(value)
    assert leaves == [1, 2, 3, None]
    assert structure.build(leaves) == value
    assert isinstance(structure.build(leaves)["a"][1][1], Pair)
