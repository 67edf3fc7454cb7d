"""The check of derivatives notices what is wrong with them, in either mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd import Function, gradcheck, gradgradcheck
from rlgrad.autograd.gradcheck import GradcheckError

MODES = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


class Wrong(Function):
    """The square, with the derivative 3x; ``noise`` makes it differ from call to call."""

    noise = False
    factor = 3.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * Wrong.factor + (rlgrad.rand_like(x) * 1e-7 if Wrong.noise else 0)


def leaf(*shape: int) -> Any:
    return rlgrad.from_numpy(np.random.default_rng(0).uniform(0.5, 1.5, shape)).requires_grad_()


@MODES
def test_right_derivatives_pass_for_several_inputs_and_outputs(fast_mode: bool) -> None:
    def function(x: Any, y: Any, n: int) -> Any:
        return (x @ y).tanh(), (x**n).sum(), (x > 1)

    assert gradcheck(function, (leaf(2, 3), leaf(3, 2), 3), fast_mode=fast_mode)
    assert gradgradcheck(lambda x, y: (x @ y).tanh(), (leaf(2, 3), leaf(3, 2)), fast_mode=fast_mode)


@MODES
def test_a_wrong_derivative_is_found(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, leaf(3), fast_mode=fast_mode)
    assert not gradcheck(Wrong.apply, leaf(3), fast_mode=fast_mode, raise_exception=False)


@MODES
def test_a_derivative_that_changes_from_call_to_call_needs_nondet_tol(fast_mode: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(Wrong, "noise", True)
    monkeypatch.setattr(Wrong, "factor", 2.0)
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Wrong.apply, leaf(3), fast_mode=fast_mode)
    assert gradcheck(Wrong.apply, leaf(3), fast_mode=fast_mode, nondet_tol=1e-6)


def test_fast_mode_calls_the_function_a_fixed_number_of_times() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(None)
        return x.exp()

    assert gradcheck(function, leaf(100), fast_mode=True)
    assert len(calls) == 4


def test_inputs_of_which_none_requires_grad_are_refused() -> None:
    with pytest.raises(ValueError, match="require gradient"):
        gradcheck(lambda x: x, rlgrad.ones(2))
