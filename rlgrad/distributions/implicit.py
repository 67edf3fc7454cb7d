"""Gradients of gamma and Dirichlet draws, which have no closed inverse distribution function.

A draw `x = F^-1(u; a)` moves with its parameter as `dx/da = -(dF/da) / f(x)`, since `F(x; a) = u` stays what it was
(Figurnov, Mohamed and Mnih, Implicit Reparameterization Gradients, 2018). `dF/da` is taken from the fourth-order
central difference of SciPy's incomplete gamma and beta functions in float64, of `F` or `1 - F`, whichever is smaller,
and from the leading term of the series in the far tails: about nine digits are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad import Tensor
from rlgrad.autograd.function import Function
from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import module_of
from rlgrad.backend.special import special_of

__all__ = ["dirichlet_sample", "gamma_cdf", "gamma_sample"]

_NEGLIGIBLE = 1e-8


def _difference(function: Callable[[Any], Any], at: Any, step: Any) -> Any:
    """The fourth-order central difference of a function."""
    near = function(at + step) - function(at - step)
    far = function(at + 2 * step) - function(at - 2 * step)
    return (8 * near - far) / (12 * step)


def _cdf_slope(xp: Any, lower: Callable[[Any], Any], upper: Callable[[Any], Any], a: Any) -> Any:
    """`dF/da` at a fixed outcome from `F` and `1 - F`, as functions of `a`."""
    step = 2e-3 * xp.minimum(a, xp.sqrt(a))
    return xp.where(lower(a) < 0.5, _difference(lower, a, step), -_difference(upper, a, step))


def gamma_slope(xp: Any, x: Any, a: Any) -> Any:
    """How a draw `x` from the gamma distribution of rate 1 moves with its concentration `a` (float64 arrays)."""
    special = special_of(xp)
    x, a = xp.broadcast_arrays(x, a)
    with np.errstate(all="ignore"):
        density = xp.exp((a - 1) * xp.log(x) - x - special.gammaln(a))
        inner = -_cdf_slope(xp, lambda c: special.gammainc(c, x), lambda c: special.gammaincc(c, x), a) / density
        tail = x / a * (special.digamma(a + 1) - xp.log(x))
    return xp.where(x < _NEGLIGIBLE, tail, inner)


def dirichlet_slope(xp: Any, x: Any, a: Any, total: Any) -> Any:
    """`dx/da / (1 - x)` for one component `x` of a Dirichlet draw, whose law is Beta(a, total - a)."""
    special = special_of(xp)
    x, a, total = xp.broadcast_arrays(x, a, total)
    b = total - a
    with np.errstate(all="ignore"):
        density = xp.exp((a - 1) * xp.log(x) + (b - 1) * xp.log1p(-x) - special.betaln(a, b))
        change = _cdf_slope(xp, lambda c: special.betainc(c, b, x), lambda c: special.betainc(b, c, 1 - x), a)
        inner = -change / density / (1 - x)
        below = x / a * (special.digamma(a + 1) - special.digamma(total) - xp.log(x)) / (1 - x)
        above = (special.digamma(total) - special.digamma(a)) / b
    slope = xp.where((1 - x) * (1 + a) < _NEGLIGIBLE, above, inner)
    return xp.where(x * (1 + b) < _NEGLIGIBLE, below, slope)


def _wide(tensor: Any) -> Any:
    return tensor._array.astype(np.float64)


def _narrow(array: Any, like: Tensor) -> Tensor:
    return wrap(array.astype(like._array.dtype))


class _Sample(Function):
    """A draw that was made already, given a derivative by a subclass."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor, drawn: Tensor) -> Tensor:
        result = drawn.clone()
        ctx.save_for_backward(concentration, result)
        return result


class _GammaSample(_Sample):
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        concentration, drawn = ctx.saved_tensors
        _refuse_second_order(grad, "Gamma.rsample")
        slope = gamma_slope(module_of(drawn._array), _wide(drawn), _wide(concentration))
        return grad * _narrow(slope, drawn), None


class _DirichletSample(_Sample):
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        concentration, drawn = ctx.saved_tensors
        _refuse_second_order(grad, "Dirichlet.rsample")
        a = _wide(concentration)
        slope = dirichlet_slope(module_of(a), _wide(drawn), a, a.sum(-1, keepdims=True))
        return _narrow(slope, drawn) * (grad - (grad * drawn).sum(-1, keepdim=True)), None


class _GammaCdf(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(concentration, x)
        a, b = _wide(concentration), _wide(x)
        return _narrow(special_of(module_of(a)).gammainc(a, b), x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        concentration, x = ctx.saved_tensors
        _refuse_second_order(grad, "Gamma.cdf")
        a, b = _wide(concentration), _wide(x)
        xp = module_of(a)
        special = special_of(xp)
        density = xp.exp((a - 1) * xp.log(b) - b - special.gammaln(a))
        to_concentration = grad * _narrow(-gamma_slope(xp, b, a) * density, x) if ctx.needs_input_grad[0] else None
        return to_concentration, grad * _narrow(density, x)


def _refuse_second_order(grad: Tensor, name: str) -> None:
    if grad.requires_grad:
        raise RuntimeError(f"{name} has first derivatives only; compute its gradient without create_graph=True.")


def gamma_sample(concentration: Tensor, drawn: Tensor) -> Tensor:
    """`drawn`, standard gamma numbers of the same shape, as a differentiable function of `concentration`."""
    return _GammaSample.apply(concentration, drawn)


def dirichlet_sample(concentration: Tensor, drawn: Tensor) -> Tensor:
    """`drawn: (*shape, K)`, rows from Dirichlet distributions, as a differentiable function of `concentration`."""
    return _DirichletSample.apply(concentration, drawn)


def gamma_cdf(concentration: Tensor, x: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function, of arguments of one shape."""
    return _GammaCdf.apply(concentration, x)
