"""Several categorical variables at once, for MultiDiscrete actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor
from rlgrad.distributions import constraints
from rlgrad.distributions.categorical import Categorical, checked_mask
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.distribution import Distribution, RandomSource

__all__ = ["MultiCategorical"]


class MultiCategorical(Distribution):
    """Several independent categorical variables whose logits lie side by side, for MultiDiscrete actions.

    Args:
        logits: (*batch_shape, sum(nvec)) unnormalised log-probabilities of the first variable's outcomes, then
            the second's, and so on.
        nvec: number of outcomes of each variable.
        mask: booleans of the shape of `logits`, False for impossible outcomes.

    Raises:
        ValueError: the last axis of `logits` is not `sum(nvec)` long.

    Example:
        >>> import rlgrad
        >>> policy = MultiCategorical(rlgrad.zeros(4, 5), nvec=[2, 3])
        >>> policy.sample().shape, policy.log_prob(policy.mode).shape
        (torch.Size([4, 2]), torch.Size([4]))
    """

    arg_constraints = {"logits": constraints.independent(constraints.real, 1)}

    def __init__(
        self,
        logits: Tensor,
        nvec: Sequence[int],
        validate_args: bool | None = None,
        *,
        mask: Tensor | np.ndarray | None = None,
    ) -> None:
        self.nvec = tuple(int(n) for n in nvec)
        if not self.nvec or min(self.nvec) < 1 or logits.ndim < 1 or logits.shape[-1] != sum(self.nvec):
            raise ValueError(
                f"MultiCategorical with nvec {list(self.nvec)} needs logits whose last axis has {sum(self.nvec)} entries, "
                f"got shape {tuple(logits.shape)}."
            )
        allowed = None if mask is None else checked_mask(mask, logits, rows=False)
        batch, width = logits.shape[:-1], max(self.nvec)
        if min(self.nvec) < width:
            # Rows of unequal length become equal ones, padded with outcomes that the mask forbids.
            places, real = _padding(self.nvec)
            padding = rlgrad.from_numpy(real).to(logits.device)
            index = rlgrad.from_numpy(places).to(logits.device)
            logits = logits.index_select(-1, index)
            allowed = (
                padding if allowed is None else allowed.expand(*batch, sum(self.nvec)).index_select(-1, index) & padding
            )
        rows = (*batch, len(self.nvec), width)
        if allowed is not None:
            allowed = allowed.expand(*batch, allowed.shape[-1]).reshape(rows)
        self._categorical = Categorical(logits=logits.reshape(rows), validate_args=False, mask=allowed)
        super().__init__(batch, (len(self.nvec),), validate_args)

    def expand(self, batch_shape: Sequence[int]) -> Any:
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand((*batch_shape, len(self.nvec)))
        return new

    @property
    def logits(self) -> list[Tensor]:
        """Normalised log-probabilities of each variable, `(*batch_shape, n)`."""
        return [self._categorical.logits[..., i, :n] for i, n in enumerate(self.nvec)]

    @property
    def support(self) -> Constraint:
        top = np.array(self.nvec)
        return constraints.Constraint(
            f"IntegerIntervals(below={list(self.nvec)})",
            lambda v: ((v % 1 == 0) & (v >= 0) & (v < top)).all(-1),
            is_discrete=True,
            event_dim=1,
        )

    @property
    def mode(self) -> Tensor:
        return self._categorical.mode

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value).sum(-1)

    def entropy(self) -> Tensor:
        return self._categorical.entropy().sum(-1)

    def sample(self, sample_shape: Sequence[int] = (), generator: RandomSource = None) -> Tensor:
        return self._categorical.sample(sample_shape, generator)


def _padding(nvec: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """For rows padded to the longest: where each entry comes from, and which entries are real."""
    column = np.arange(max(nvec))
    real = column < np.array(nvec)[:, None]
    starts = np.concatenate([[0], np.cumsum(nvec)[:-1]])[:, None]
    return np.where(real, starts + column, 0).ravel(), real.ravel()
