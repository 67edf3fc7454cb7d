"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions.distribution import Distribution, standard_gumbel

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Outcomes 0 to K-1 with given probabilities.

    Exactly one of `probs` and `logits` is given. Either may be unnormalised: probabilities are divided by
    their sum, logits are shifted by their log-sum-exp.

    Args:
        probs: (*batch_shape, K) non-negative weights with a positive sum.
        logits: (*batch_shape, K) logarithms of the weights.

    Raises:
        ValueError: both or neither given, or no last axis to index the outcomes.

    Example:
        >>> import rlgrad
        >>> policy = Categorical(logits=rlgrad.zeros(3, 2))
        >>> policy.entropy().shape, policy.sample().shape
        (torch.Size([3]), torch.Size([3]))
    """

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None) -> None:
        if (probs is None) == (logits is None):
            given = "neither" if probs is None else "both"
            raise ValueError(f"Categorical takes exactly one of probs and logits, got {given}.")
        parameter = probs if logits is None else logits
        assert parameter is not None
        if parameter.ndim < 1:
            raise ValueError("Categorical needs a last axis over the outcomes, got a tensor without axes.")
        if logits is not None:
            self.logits = logits.log_softmax(-1)
            """(*batch_shape, K) normalised log-probabilities."""
        else:
            weights = parameter / parameter.sum(-1, keepdim=True)
            # A zero probability keeps a finite logit, so that its product with the probability is 0 in the
            # entropy.
            epsilon = float(np.finfo(np.float32).eps)
            self.logits = weights.clamp(min=epsilon, max=1.0 - epsilon).log()
        self._weights = None if logits is not None else weights
        super().__init__(parameter.shape[:-1])

    @property
    def probs(self) -> Tensor:
        """(*batch_shape, K) probabilities that sum to 1."""
        return self.logits.softmax(-1) if self._weights is None else self._weights

    @property
    def mode(self) -> Tensor:
        return self.logits.argmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if value.is_floating_point():
            raise TypeError(f"Categorical outcomes are integers, got a tensor of {value.dtype}; use `.long()`.")
        if tuple(value.shape) == self.batch_shape:
            return self.logits.gather(-1, value.long().unsqueeze(-1)).squeeze(-1)
        shape = np.broadcast_shapes(tuple(value.shape), self.batch_shape)
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        return logits.gather(-1, value.long().expand(*shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        # -inf logits (an excluded outcome) would give 0 * -inf; they are replaced by the smallest finite
        # float.
        finite = self.logits.clamp(min=float(np.finfo(np.float32).min))
        return -(finite * self.probs).sum(-1)

    def sample(self, sample_shape: Sequence[int] = (), generator: np.random.Generator | None = None) -> Tensor:
        # Gumbel-max: the largest of logits plus standard Gumbel noise falls on outcome k with probability
        # softmax_k.
        with rlgrad.no_grad():
            shape = (*sample_shape, *self.logits.shape)
            return (self.logits + standard_gumbel(self.logits, shape, generator)).argmax(-1)
