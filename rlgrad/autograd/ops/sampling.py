"""Random tensors, and tensors refilled with random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.arithmetic import zero_gradient
from rlgrad.autograd.ops.creation import Device, _place, _shape
from rlgrad.autograd.ops.define import public
from rlgrad.autograd.ops.inplace import assign, check_inplace, write_out
from rlgrad.autograd.registry import Op, apply, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices, dtypes
from rlgrad.backend.random import Generator, default_generator


def _draw(
    size: Any, dtype: Any, device: Device, generator: Generator | None, requires_grad: bool, sample: Any
) -> Tensor:
    target = devices.as_device(device if device is not None or generator is None else generator.device)
    xp = devices.module_for(target)
    stream = (generator or default_generator).on(xp)
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    with devices.on_device(target):
        drawn = sample(stream, size, kind if kind.itemsize >= 4 and kind.kind == "f" else np.dtype(np.float32))
        result = wrap(xp.asarray(drawn).astype(kind, copy=False))
    return result.requires_grad_() if requires_grad else result


def rand(
    *shape: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1)."""
    return _draw(_shape(shape, size), dtype, device, generator, requires_grad, lambda g, s, kind: g.random(s, kind))


def randn(
    *shape: Any,
    size: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers."""
    return _draw(
        _shape(shape, size), dtype, device, generator, requires_grad, lambda g, s, kind: g.standard_normal(s, kind)
    )


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
            device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Integers from ``low`` up to, not including, ``high``."""
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() needs the size of the result, a tuple of ints")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    target = devices.as_device(device)
    stream = (generator or default_generator).on(devices.module_for(target))
    with devices.on_device(target):
        drawn = stream.integers(low, high, _shape((size,)))
    return (
        wrap(np.asarray(drawn) if target.type == "cpu" else drawn)
        .to(dtype or dtypes.int64)
        .requires_grad_(requires_grad)
    )


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None, dtype: Any = None,
    device: Device = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """:func:`randint` with the shape, dtype and device of ``input``."""
    if high is None:
        low, high = 0, low
    return randint(
        low,
        high,
        input._array.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=device or input.device,
        requires_grad=requires_grad,
    )


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, device: Device = None) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    array = (generator or default_generator).numpy.permutation(n)
    return _place(array.astype(dtypes.to_numpy(dtype or dtypes.int64)), device, False)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """Normal numbers with a mean and a standard deviation, each a number or a tensor."""
    least = std._array.min(initial=0) if isinstance(std, Tensor) else std
    if least < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {float(least)}")
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise TypeError("normal() needs a tensor as mean or std, or the size of the result")
        shape = np.broadcast_shapes(*[x._array.shape for x in (mean, std) if isinstance(x, Tensor)])
        dtype, device = dtype or like.dtype, device or like.device
    else:
        shape = _shape((size,))
    values = [x.detach() if isinstance(x, Tensor) else x for x in (mean, std)]
    result = randn(shape, generator=generator, dtype=dtype, device=device) * values[1] + values[0]
    if out is not None:
        return write_out(out, result, True, False)
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not given:
        return result.requires_grad_(requires_grad)
    op = _normal_of_both if len(given) == 2 else _normal_of_mean if given[0] is mean else _normal_of_std
    return apply(op, given, (result._array,))


def _constant(name: str, node: str, inputs: int = 1) -> Op:
    """An op whose result was drawn before and does not depend on its inputs: their gradients are zero."""
    forward = (lambda xp, a, drawn: drawn) if inputs == 1 else (lambda xp, a, b, drawn: drawn)
    return Op(name, forward, (zero_gradient,) * inputs, node=node)


_normal_of_mean = _constant("normal_of_mean", "NormalBackward1")
_normal_of_std = _constant("normal_of_std", "NormalBackward2")
_normal_of_both = _constant("normal_of_both", "NormalBackward3", 2)
_bernoulli = _constant("bernoulli", "BernoulliBackward0")
_poisson = _constant("poisson", "PoissonBackward0")


def _drawn_like(function: Any) -> Any:
    def make(
        input: Tensor,
        *,
        generator: Generator | None = None,
        dtype: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        return function(
            input._array.shape,
            generator=generator,
            dtype=dtype or input.dtype,
            device=device or input.device,
            requires_grad=requires_grad,
        )

    make.__name__ = make.__qualname__ = function.__name__ + "_like"
    make.__doc__ = f":func:`{function.__name__}` with the shape, dtype and device of ``input``."
    return make


rand_like, randn_like = _drawn_like(rand), _drawn_like(randn)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts from Poisson distributions whose rates are the elements of ``input``."""
    rates = input._array
    if bool((rates < 0).any()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    xp = devices.module_of(rates)
    drawn = (generator or default_generator).on(xp).poisson(rates.astype(np.float64), rates.shape)
    return apply_one(_poisson, input, (xp.asarray(drawn).astype(rates.dtype),))


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probability that ``input`` (or ``p``) gives for each element, zeros otherwise."""
    probabilities = input._array if p is None else np.full(input._array.shape, p, input._array.dtype)
    if bool(((probabilities < 0) | (probabilities > 1)).any()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got probabilities outside [0, 1]")
    drawn = rand(probabilities.shape, generator=generator, device=input.device)._array
    result = apply_one(_bernoulli, input, ((drawn < probabilities).astype(probabilities.dtype),))
    return result if out is None else write_out(out, result)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn from each row with probability proportional to its entries."""
    if input._array.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got shape {list(input.shape)}")
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype!r}")
    if num_samples < 1:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    weights = np.atleast_2d(devices.to_host(input._array)).astype(np.float64)
    if (weights < 0).any() or not np.isfinite(weights).all() or (weights.sum(1) <= 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0, or a row that sums to zero")
    stream = (generator or default_generator).numpy
    if replacement:
        edges = np.cumsum(weights / weights.sum(1, keepdims=True), 1)
        drawn = (stream.random((len(weights), num_samples))[:, :, None] >= edges[:, None, :-1]).sum(-1)
    else:
        if num_samples > weights.shape[1] or ((weights > 0).sum(1) < num_samples).any():
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        with np.errstate(divide="ignore"):  # the largest of E/w, exponential races: a sample without replacement
            keys = np.log(weights) + stream.gumbel(size=weights.shape)
        drawn = np.argsort(-keys, 1)[:, :num_samples]
    result = wrap(np.ascontiguousarray(drawn.astype(np.int64).reshape((*input._array.shape[:-1], num_samples))))
    result = result.to(input.device)
    return result if out is None else write_out(out, result)


def _refill(name: str, sample: Any, doc: str, accepts: Any = None, complaint: str = "") -> None:
    def method(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        check_inplace(self)
        if accepts is not None and not accepts(*args, **kwargs):
            given = ", ".join([*map(str, args), *[f"{k}={v}" for k, v in kwargs.items()]])
            raise RuntimeError(f"{name} expects {complaint}, but found {given}")
        xp = devices.module_of(self._array)
        stream = (generator or default_generator).on(xp)
        drawn = sample(stream, self._array.shape, *args, **kwargs)
        return assign(self, wrap(xp.asarray(drawn).astype(self._array.dtype)))

    method.__name__, method.__doc__ = name, doc
    setattr(Tensor, name, method)


def _ends(low: float = 0.0, high: float = 1.0, **ends: float) -> tuple[float, float]:
    """The limits of ``uniform_``, whose names are keywords of Python."""
    return ends.get("from", low), ends.get("to", high)


def _uniform(g: Any, s: Any, *args: float, **ends: float) -> Any:
    low, high = _ends(*args, **ends)
    return g.random(s) * (high - low) + low


_refill(
    "normal_",
    lambda g, s, mean=0.0, std=1.0: g.standard_normal(s) * std + mean,
    "Fill with normal numbers.",
    lambda mean=0.0, std=1.0: std >= 0,
    "std >= 0.0",
)
_refill(
    "log_normal_",
    lambda g, s, mean=1.0, std=2.0: np.exp(g.standard_normal(s) * std + mean),
    "Fill with exponentials of normal numbers with the given mean and standard deviation.",
    lambda mean=1.0, std=2.0: std > 0,
    "std > 0.0",
)
_refill(
    "uniform_",
    _uniform,
    "Fill with uniform numbers in [a, b).",
    lambda *args, **ends: _ends(*args, **ends)[0] <= _ends(*args, **ends)[1],
    "to return a [from, to) range",
)
_refill("bernoulli_", lambda g, s, p=0.5: g.random(s) < p, "Fill with ones of probability p.")
_refill(
    "exponential_",
    lambda g, s, lambd=1.0: g.standard_exponential(s) / lambd,
    "Fill with exponential numbers.",
    lambda lambd=1.0: lambd > 0,
    "lambda > 0.0",
)
_refill(
    "geometric_",
    lambda g, s, p: np.ceil(np.log1p(-g.random(s)) / np.log1p(-p)).clip(1),
    "Fill with the number of trials of probability ``p`` up to the first success.",
    lambda p: 0 < p < 1,
    "p to be in (0, 1)",
)
_refill(
    "cauchy_",
    lambda g, s, median=0.0, sigma=1.0: np.tan(np.pi * (g.random(s) - 0.5)) * sigma + median,
    "Fill with Cauchy numbers.",
    lambda median=0.0, sigma=1.0: sigma > 0,
    "sigma > 0.0",
)
_refill(
    "random_",
    lambda g, s, low=0, high=None: g.integers(*((0, low) if high is None and low else (low, high or 2**24)), s),
    "Fill with integers in [low, high).",
)

for _function in (bernoulli, multinomial):
    setattr(Tensor, _function.__name__, _function)

__all__ = public(globals())
