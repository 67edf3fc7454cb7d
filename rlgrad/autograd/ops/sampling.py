"""Random tensors, and tensors refilled with random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.creation import Device, _place, _shape
from rlgrad.autograd.ops.define import assign, check_inplace, public
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
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in (mean, std))
    result = randn(shape, generator=generator, dtype=dtype, device=device) * std + mean
    return result.requires_grad_(requires_grad) if out is None else out.copy_(result)


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
    return wrap(xp.asarray(drawn).astype(rates.dtype))


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probability that ``input`` (or ``p``) gives for each element, zeros otherwise."""
    probabilities = input._array if p is None else np.full(input._array.shape, p, input._array.dtype)
    if bool(((probabilities < 0) | (probabilities > 1)).any()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got probabilities outside [0, 1]")
    drawn = rand(probabilities.shape, generator=generator, device=input.device)._array
    return wrap((drawn < probabilities).astype(probabilities.dtype))


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn from each row with probability proportional to its entries."""
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
    return result.to(input.device)


def _refill(name: str, sample: Any, doc: str) -> None:
    def method(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        check_inplace(self)
        xp = devices.module_of(self._array)
        stream = (generator or default_generator).on(xp)
        drawn = sample(stream, self._array.shape, *args, **kwargs)
        return assign(self, wrap(xp.asarray(drawn).astype(self._array.dtype)))

    method.__name__, method.__doc__ = name, doc
    setattr(Tensor, name, method)


_refill("normal_", lambda g, s, mean=0.0, std=1.0: g.standard_normal(s) * std + mean, "Fill with normal numbers.")
_refill(
    "uniform_",
    lambda g, s, a=0.0, b=1.0, **ends: g.random(s) * (ends.get("to", b) - ends.get("from", a)) + ends.get("from", a),
    "Fill with uniform numbers in [a, b).",
)
_refill("bernoulli_", lambda g, s, p=0.5: g.random(s) < p, "Fill with ones of probability p.")
_refill("exponential_", lambda g, s, lambd=1.0: g.standard_exponential(s) / lambd, "Fill with exponential numbers.")
_refill(
    "random_",
    lambda g, s, low=0, high=None: g.integers(*((0, low) if high is None and low else (low, high or 2**24)), s),
    "Fill with integers in [low, high).",
)

for _function in (bernoulli, multinomial):
    setattr(Tensor, _function.__name__, _function)

__all__ = public(globals())
