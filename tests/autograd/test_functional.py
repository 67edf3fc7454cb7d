"""Jacobians, Hessians and their products are torch's, errors included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

A, B = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [0.3, -0.7, 0.9]])


def two_outputs(x: Any, y: Any) -> Any:
    return (y * x).sin(), (x**2).sum() * y.sum(1)


def one_output(x: Any) -> Any:
    return x.exp() * x.sum()


def scalar(x: Any) -> Any:
    return (x**3).sum() * x[0] * x[1]


def scalar_of_two(x: Any, y: Any) -> Any:
    return ((y @ x) ** 2).sum() + y.cos().sum()


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [a for v in value for a in flat(v)]
    return [value.detach().numpy()]


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "jacobian": lambda F, t: F.jacobian(one_output, t(A)),
    "jacobian of several": lambda F, t: F.jacobian(two_outputs, (t(A), t(B))),
    "hessian": lambda F, t: F.hessian(scalar, t(A)),
    "hessian of several": lambda F, t: F.hessian(scalar_of_two, (t(A), t(B))),
    "vjp": lambda F, t: F.vjp(two_outputs, (t(A), t(B)), (t(B * 2), t(A[:2]))),
    "vjp of a scalar": lambda F, t: F.vjp(scalar, t(A)),
    "jvp": lambda F, t: F.jvp(two_outputs, (t(A), t(B)), (t(A * 2), t(B + 1))),
    "vhp": lambda F, t: F.vhp(scalar, t(A), t(A + 1)),
    "hvp": lambda F, t: F.hvp(scalar_of_two, (t(A), t(B)), (t(A + 1), t(B * 3))),
    "independent": lambda F, t: F.jacobian(lambda x, y: x * 2, (t(A), t(B))),
    "constant": lambda F, t: F.hessian(lambda x: x.sum(), t(A)),
}
ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "strict": lambda F, t: F.jacobian(lambda x, y: x * 2, (t(A), t(B)), strict=True),
    "strict constant": lambda F, t: F.vjp(lambda x: t(A), t(A), t(A), strict=True),
    "strict hessian": lambda F, t: F.hessian(lambda x: x.sum(), t(A), strict=True),
    "not a scalar": lambda F, t: F.hessian(one_output, t(A)),
    "v of the wrong shape": lambda F, t: F.vjp(one_output, t(A), t(B)),
    "v missing": lambda F, t: F.jvp(one_output, t(A)),
    "not a tensor": lambda F, t: F.vjp(lambda x: 3.0, t(A), t(A)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_torchs(name: str) -> None:
    ours = flat(CASES[name](rlgrad.autograd.functional, lambda a: rlgrad.from_numpy(a.copy())))
    theirs = flat(CASES[name](torch.autograd.functional, lambda a: torch.from_numpy(a.copy())))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_is_of_torchs_class(name: str) -> None:
    kinds = []
    for library in (rlgrad, torch):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            ERRORS[name](library.autograd.functional, lambda a, lib=library: lib.from_numpy(a.copy()))
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("product", ["jacobian", "vjp", "jvp", "hvp"])
def test_with_create_graph_the_result_can_be_differentiated(product: str) -> None:
    grads = []
    for library in (rlgrad, torch):
        x = library.from_numpy(A.copy()).requires_grad_()
        F, v = library.autograd.functional, library.from_numpy(A + 1)
        if product == "jacobian":
            result = F.jacobian(one_output, x, create_graph=True)
        else:
            result = getattr(F, product)(scalar if product == "hvp" else one_output, x, v, create_graph=True)[1]
        (g,) = library.autograd.grad((result**2).sum(), x)
        grads.append(g.numpy())
        detached = F.jacobian(one_output, x)
        assert not detached.requires_grad
    np.testing.assert_allclose(*grads, rtol=1e-10)
