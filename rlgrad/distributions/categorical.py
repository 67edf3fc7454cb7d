"""Categorical distributions: over indices, and over one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap
from rlgrad.backend.devices import module_of
from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import Distribution, RandomSource, draw, enumerated
from rlgrad.distributions.kernels import categorical_entropy, chosen

__all__ = ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough", "OverCategories", "checked_mask"]


class Categorical(Distribution):
    """Outcomes 0 to K-1 with given probabilities.

    Exactly one of `probs` and `logits` is given. Either may be unnormalised: probabilities are divided by
    their sum, logits are shifted by their log-sum-exp.

    Args:
        probs: (*batch_shape, K) non-negative weights with a positive sum.
        logits: (*batch_shape, K) logarithms of the weights.
        mask: (*batch_shape, K) or (K,) booleans, False for outcomes that are impossible here, such as illegal
            actions: their probability is 0, they are never drawn, and no gradient reaches their parameters.

    Raises:
        ValueError: both or neither given, no last axis to index the outcomes, or a mask that forbids every
            outcome of some row.

    Example:
        >>> import rlgrad
        >>> policy = Categorical(logits=rlgrad.zeros(3, 2))
        >>> policy.entropy().shape, policy.sample().shape
        (torch.Size([3]), torch.Size([3]))
        >>> Categorical(logits=rlgrad.zeros(3), mask=rlgrad.tensor([True, False, True])).probs
        tensor([0.5000, 0.0000, 0.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.independent(constraints.real, 1)}
    _batched = {"probs": 1, "logits": 1}

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
        *,
        mask: Tensor | np.ndarray | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            given = "neither" if probs is None else "both"
            raise ValueError(f"{type(self).__name__} takes exactly one of probs and logits, got {given}.")
        parameter = probs if logits is None else logits
        assert parameter is not None
        if parameter.ndim < 1:
            raise ValueError("Categorical needs a last axis over the outcomes, got a tensor without axes.")
        if mask is not None:
            excluded = 0.0 if logits is None else -np.inf
            parameter = rlgrad.where(checked_mask(mask, parameter), parameter, excluded)
        self._given = "probs" if logits is None else "logits"
        if logits is None:
            self.probs = parameter / parameter.sum(-1, keepdim=True)
        else:
            self.logits = parameter.log_softmax(-1)
        self.num_outcomes = int(parameter.shape[-1])
        super().__init__(parameter.shape[:-1], (), validate_args)

    @cached_property
    def logits(self) -> Tensor:
        """(*batch_shape, K) normalised log-probabilities."""
        # A zero probability keeps a finite logit, so that its product with the probability is 0 in the entropy.
        epsilon = float(np.finfo(self.probs._array.dtype).eps)
        return self.probs.clamp(epsilon, 1.0 - epsilon).log()

    @cached_property
    def probs(self) -> Tensor:
        """(*batch_shape, K) probabilities that sum to 1."""
        return self.logits.softmax(-1)

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter that was given, `(*batch_shape, K)`."""
        return self.__dict__[self._given].shape

    @property
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self.num_outcomes - 1)

    @property
    def mean(self) -> Tensor:
        return rlgrad.full(self.batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def variance(self) -> Tensor:
        return self.mean

    @property
    def mode(self) -> Tensor:
        return self.__dict__[self._given].argmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        if not isinstance(value, Tensor):
            value = rlgrad.as_tensor(value, device=self.logits.device)
        index = value._array
        if index.dtype.kind not in "iu":
            value = _as_integers(value)
            index = value._array
        if index.dtype.itemsize != 8:
            value = value.long()
        if index.shape == self.batch_shape:
            return chosen(self.logits, value)
        shape = np.broadcast_shapes(index.shape, tuple(self.batch_shape))
        return chosen(self.logits.expand(*shape, self.num_outcomes), value.expand(*shape))

    def entropy(self) -> Tensor:
        if self._given == "probs":
            return -(self.probs * self.logits).sum(-1)
        return categorical_entropy(self.logits)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        # Exponential races: of K exponential times with rates p_k, the k-th is the shortest with probability p_k.
        given = self.__dict__[self._given]
        array = given._array
        xp = module_of(array)
        times = draw(
            given, (*sample_shape, *array.shape), generator, lambda g, s, kind: g.standard_exponential(s, kind)
        )
        if self._given == "logits":
            return wrap(xp.asarray((array - xp.log(times)).argmax(-1)))
        return wrap(xp.asarray((array / times).argmax(-1)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(rlgrad.arange(self.num_outcomes, device=self.probs.device), self.batch_shape, expand)


class OverCategories(Distribution):
    """What distributions share over vectors with an entry for each of K outcomes of a `Categorical`.

    Args:
        categorical: the distribution of the outcomes.
    """

    def __init__(self, categorical: Categorical, validate_args: bool | None = None) -> None:
        self._categorical = categorical
        super().__init__(categorical.batch_shape, (categorical.num_outcomes,), validate_args)

    def expand(self, batch_shape: Sequence[int]) -> Any:
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def logits(self) -> Tensor:
        """(*batch_shape, K) normalised log-probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """(*batch_shape, K) probabilities that sum to 1."""
        return self._categorical.probs


class OneHotCategorical(OverCategories):
    """`Categorical` whose outcomes are one-hot vectors of length K.

    Args:
        probs: (*batch_shape, K) non-negative weights with a positive sum.
        logits: (*batch_shape, K) logarithms of the weights; exactly one of the two is given.
        mask: outcomes that are possible, as for `Categorical`.
    """

    arg_constraints = Categorical.arg_constraints
    support: Any = constraints.one_hot

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
        *,
        mask: Tensor | np.ndarray | None = None,
    ) -> None:
        super().__init__(Categorical(probs, logits, validate_args, mask=mask), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape, generator))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._one_hot(self._categorical.enumerate_support(expand))

    def _one_hot(self, index: Tensor) -> Tensor:
        return rlgrad.nn.functional.one_hot(index, self.event_shape[0]).to(self.probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients straight to the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self.sample(sample_shape, generator) + (self.probs - self.probs.detach())


def _as_integers(value: Tensor) -> Tensor:
    if value._array.dtype.kind == "f" and bool((value._array % 1 != 0).any()):
        raise TypeError(
            f"Categorical outcomes are integers, got fractions in a tensor of {value.dtype}: pass indices, as sample() gives."
        )
    return value.long()


def checked_mask(mask: Tensor | np.ndarray, parameter: Tensor, rows: bool = True) -> Tensor:
    """The mask as a boolean tensor, after checking its shape and that each row leaves an outcome."""
    tensor = mask if isinstance(mask, Tensor) else rlgrad.from_numpy(np.asarray(mask)).to(parameter.device)
    if tensor.dtype is not rlgrad.bool:
        tensor = tensor != 0
    try:
        fits = np.broadcast_shapes(tuple(tensor.shape), tuple(parameter.shape)) == tuple(parameter.shape)
    except ValueError:
        fits = False
    if not fits or tensor.shape[-1:] != parameter.shape[-1:]:
        raise ValueError(
            f"A mask of shape {tuple(tensor.shape)} does not fit parameters of shape {tuple(parameter.shape)}."
        )
    if rows and not bool(tensor._array.any(-1).all()):
        raise ValueError("The mask forbids every outcome of some row: leave at least one True per row.")
    return tensor
