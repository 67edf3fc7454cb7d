"""What every distribution offers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

import rlgrad
from rlgrad import Generator, Size, Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import module_of, to_host
from rlgrad.distributions.constraints import Constraint

__all__ = ["Distribution", "RandomSource", "broadcast", "draw"]

RandomSource = Generator | np.random.Generator | None
"""Who owns a draw: a generator of rlgrad or of NumPy, or None for rlgrad's default generator."""


class Distribution(ABC):
    """A batch of independent distributions of one family.

    Args:
        batch_shape: shape of the batch of distributions; `log_prob` and `entropy` have it.
        event_shape: shape of one outcome.
        validate_args: check parameters and outcomes against their constraints; None for the default, which
            `set_default_validate_args` changes and which is to check, as in PyTorch.

    Attributes:
        arg_constraints: what each parameter must satisfy, by name.
        support: which outcomes there are.
        has_rsample: whether `rsample` carries gradients to the parameters.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    has_rsample: Any = False
    support: Any
    _batched: ClassVar[dict[str, int]] = {}
    """Attributes that `expand` expands, with the number of their trailing axes that are not the batch's."""
    _validates_by_default: ClassVar[bool] = True

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self.batch_shape = Size(batch_shape)
        self.event_shape = Size(event_shape)
        self._validate_args = Distribution._validates_by_default if validate_args is None else validate_args
        if self._validate_args:
            self._validate_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made without `validate_args` check their arguments."""
        if value not in (True, False):
            raise ValueError(f"value must be True or False, got {value!r}.")
        Distribution._validates_by_default = bool(value)

    @abstractmethod
    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the probability (or density) of `value: (*batch_shape, *event_shape)`."""

    def entropy(self) -> Tensor:
        """Entropy in nats, of shape `batch_shape`."""
        raise self._has_no("entropy", "estimate it as the mean of -log_prob(sample)")

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws outcomes without recording, of shape `(*sample_shape, *batch_shape, *event_shape)`.

        Args:
            sample_shape: how many outcomes to draw for each distribution of the batch.
            generator: owns the draw; without one, rlgrad's default generator is used.
        """
        with rlgrad.no_grad():
            return self.rsample(sample_shape, generator)

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        """Draws outcomes as differentiable functions of the parameters; arguments as for `sample`."""
        raise self._has_no("reparameterised sample", "use sample() and the log-derivative trick")

    @property
    def mean(self) -> Tensor:
        """Expectation, of shape `(*batch_shape, *event_shape)`."""
        raise self._has_no("mean", "average samples")

    @property
    def mode(self) -> Tensor:
        """The most probable outcome, of shape `(*batch_shape, *event_shape)`."""
        raise self._has_no("mode", "compare log_prob of candidates")

    @property
    def variance(self) -> Tensor:
        """Variance of each component, of shape `(*batch_shape, *event_shape)`."""
        raise self._has_no("variance", "take the variance of samples")

    @property
    def stddev(self) -> Tensor:
        """Standard deviation of each component, of shape `(*batch_shape, *event_shape)`."""
        return self.variance.sqrt()

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of an outcome not above `value`."""
        raise self._has_no("cumulative distribution function", "count samples")

    def icdf(self, value: Tensor) -> Tensor:
        """The outcome below which the probability is `value`, between 0 and 1."""
        raise self._has_no("inverse cumulative distribution function", "take quantiles of samples")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All outcomes of a discrete distribution along a new first axis."""
        raise self._has_no("finite support", "draw samples")

    def perplexity(self) -> Tensor:
        """Exponential of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Sequence[int]) -> Self:
        """The same distributions repeated to a larger `batch_shape`, without copies of the parameters."""
        shape = Size(batch_shape)
        new = copy.copy(self)
        new.batch_shape = shape
        for name, event_dims in self._batched.items():
            value = self.__dict__.get(name)
            if value is not None:
                new.__dict__[name] = value.expand(*shape, *value.shape[value.ndim - event_dims :])
        return new

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = (f"{name}: {v.item() if v.numel() == 1 else v.shape}" for name, v in given.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shape(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def _has_no(self, what: str, instead: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what} in closed form; {instead}.")

    def _validate_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                self._refuse_outside(f"parameter {name}", value, constraint)

    def _validate_sample(self, value: Tensor) -> None:
        """Refuses outcomes of a wrong shape or outside the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value of {self!r} must be a Tensor, got {type(value).__name__}; use rlgrad.tensor()."
            )
        events = len(self.event_shape)
        if tuple(value.shape[value.ndim - events :]) != self.event_shape or value.ndim < events:
            raise ValueError(
                f"A value of shape {tuple(value.shape)} does not end in the event_shape {tuple(self.event_shape)} of {self!r}."
            )
        try:
            np.broadcast_shapes(tuple(value.shape[: value.ndim - events]), tuple(self.batch_shape))
        except ValueError:
            raise ValueError(
                f"A value of shape {tuple(value.shape)} does not broadcast with the batch_shape "
                f"{tuple(self.batch_shape)} of {self!r}."
            ) from None
        self._refuse_outside("value", value, self.support)

    def _refuse_outside(self, what: str, value: Tensor, constraint: Constraint) -> None:
        inside = constraint.check(value).numpy()
        if not inside.all():
            place = tuple(int(i) for i in np.argwhere(~inside)[0])
            member = value.detach().cpu().numpy()[place]
            raise ValueError(
                f"Expected {what} (of shape {tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                f"{constraint!r}, but found {member!s} at index {place}."
            )


def broadcast(**parameters: Tensor | float) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """Parameters given as tensors or numbers, brought to one shape.

    Numbers take the dtype and device of the tensors among the parameters.

    Raises:
        ValueError: a parameter is neither a tensor nor a number, or the shapes do not broadcast; the message names it.
    """
    values = tuple(parameters.values())
    like = next((value for value in values if isinstance(value, Tensor)), None)
    tensors = []
    for name, value in parameters.items():
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (int, float, np.number)):
            floating = like is not None and like.is_floating_point()
            dtype, device = (like.dtype, like.device) if floating and like is not None else (None, None)
            tensors.append(rlgrad.tensor(float(value), dtype=dtype, device=device))
        else:
            raise ValueError(f"{name} must be a Tensor or a number, got {type(value).__name__}; use rlgrad.tensor().")
    shapes = [tuple(tensor.shape) for tensor in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        given = " and ".join(f"{name} of shape {s}" for name, s in zip(parameters, shapes, strict=True))
        raise ValueError(f"{given} do not broadcast.") from None
    return tuple(t if s == shape else t.expand(*shape) for t, s in zip(tensors, shapes, strict=True)), shape


def enumerated(outcomes: Tensor, batch_shape: Sequence[int], expand: bool) -> Tensor:
    """`outcomes: (n,)` along a new first axis before those of the batch, as `enumerate_support` gives them."""
    values = outcomes.reshape(-1, *[1] * len(batch_shape))
    return values.expand(-1, *batch_shape) if expand else values


def draw(
    like: Tensor, shape: Sequence[int], generator: RandomSource, sampler: Callable[..., Any], *parameters: Tensor
) -> Any:
    """Random numbers as a raw array with the dtype and on the device of `like`.

    Args:
        sampler: `sampler(stream, shape, dtype, *parameters)` draws from a generator of NumPy or CuPy; `dtype` is
            float32 or float64.
        parameters: reach the sampler as float64 arrays of the generator's library.
    """
    array = like._array
    xp = module_of(array)
    dtype = array.dtype if array.dtype.itemsize >= 4 and array.dtype.kind == "f" else np.dtype(np.float32)
    if isinstance(generator, np.random.Generator):
        stream = generator
    else:
        stream = (rlgrad.default_generator if generator is None else generator).on(xp)
    wide = [parameter.detach()._array.astype(np.float64) for parameter in parameters]
    if stream is generator:
        wide = [to_host(array) for array in wide]
    drawn = sampler(stream, tuple(shape), dtype, *wide)
    if xp is not np and isinstance(drawn, np.ndarray):
        return wrap(drawn).to(like.device)._array.astype(array.dtype, copy=False)
    return xp.asarray(drawn).astype(array.dtype if array.dtype.kind == "f" else dtype, copy=False)


def standard_normal(like: Tensor, shape: Sequence[int], generator: RandomSource) -> Tensor:
    """Standard normal draws in the dtype and on the device of `like`."""
    return wrap(draw(like, shape, generator, lambda stream, size, dtype: stream.standard_normal(size, dtype)))


def standard_uniform(like: Tensor, shape: Sequence[int], generator: RandomSource) -> Tensor:
    """Draws from [0, 1) in the dtype and on the device of `like`."""
    return wrap(draw(like, shape, generator, lambda stream, size, dtype: stream.random(size, dtype)))


def standard_exponential(like: Tensor, shape: Sequence[int], generator: RandomSource) -> Tensor:
    """Draws from the exponential distribution of rate 1 in the dtype and on the device of `like`."""
    return wrap(draw(like, shape, generator, lambda stream, size, dtype: stream.standard_exponential(size, dtype)))


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` axes."""
    return value.sum(tuple(range(-dims, 0))) if dims else value
