"""Constraints: which values a parameter may take, and which outcomes a distribution has.

Source of the names: `torch.distributions.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlgrad import Tensor
from rlgrad.autograd.tensor import wrap

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "less_than",
    "lower_cholesky",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]


class Constraint:
    """A set of values, with a test of membership.

    Args:
        name: how messages call it, such as `GreaterThan(lower_bound=0.0)`.
        test: `test(array)` is true for the elements inside, over all axes but the last `event_dim`.
        is_discrete: whether the set is countable.
        event_dim: how many trailing axes make up one member.
        made_by: the function of this module that made it, if one did.
        bounds: its smallest and largest number, as far as there are such.

    Example:
        >>> import rlgrad
        >>> positive.check(rlgrad.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    base_constraint: Constraint
    reinterpreted_batch_ndims: int

    def __init__(
        self,
        name: str,
        test: Callable[[Any], Any],
        is_discrete: bool = False,
        event_dim: int = 0,
        made_by: Callable[..., Constraint] | None = None,
        bounds: tuple[Any, Any] = (None, None),
    ) -> None:
        self.name, self._test = name, test
        self.is_discrete, self.event_dim = is_discrete, event_dim
        self.made_by = made_by
        self.lower_bound, self.upper_bound = bounds

    def check(self, value: Tensor) -> Tensor:
        """Which members of `value: (*batch_shape, *event)` lie in the set, as booleans of shape `batch_shape`."""
        return wrap(np.asarray(self._test(value.detach().cpu().numpy())))

    def __repr__(self) -> str:
        return self.name


def _raw(bound: Any) -> Any:
    return bound.detach().cpu().numpy() if isinstance(bound, Tensor) else bound


def _shown(bound: Any) -> Any:
    return bound if not isinstance(bound, Tensor) else bound.item() if bound.numel() == 1 else f"<{list(bound.shape)}>"


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above `lower_bound`."""
    name = f"GreaterThan(lower_bound={_shown(lower_bound)})"
    return Constraint(name, lambda v: v > _raw(lower_bound), made_by=greater_than, bounds=(lower_bound, None))


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers not below `lower_bound`."""
    name = f"GreaterThanEq(lower_bound={_shown(lower_bound)})"
    return Constraint(name, lambda v: v >= _raw(lower_bound), made_by=greater_than_eq, bounds=(lower_bound, None))


def less_than(upper_bound: Any) -> Constraint:
    """Numbers below `upper_bound`."""
    name = f"LessThan(upper_bound={_shown(upper_bound)})"
    return Constraint(name, lambda v: v < _raw(upper_bound), made_by=less_than, bounds=(None, upper_bound))


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between the bounds, both included."""
    return Constraint(
        f"Interval(lower_bound={_shown(lower_bound)}, upper_bound={_shown(upper_bound)})",
        lambda v: (v >= _raw(lower_bound)) & (v <= _raw(upper_bound)),
        made_by=interval,
        bounds=(lower_bound, upper_bound),
    )


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers from `lower_bound` up to, not including, `upper_bound`."""
    return Constraint(
        f"HalfOpenInterval(lower_bound={_shown(lower_bound)}, upper_bound={_shown(upper_bound)})",
        lambda v: (v >= _raw(lower_bound)) & (v < _raw(upper_bound)),
        made_by=half_open_interval,
        bounds=(lower_bound, upper_bound),
    )


def integer_interval(lower_bound: int, upper_bound: int) -> Constraint:
    """Whole numbers between the bounds, both included."""
    return Constraint(
        f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda v: (v % 1 == 0) & (v >= lower_bound) & (v <= upper_bound),
        is_discrete=True,
    )


def independent(base: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """Arrays whose members along the last `reinterpreted_batch_ndims` axes all lie in `base`."""
    axes = tuple(range(-reinterpreted_batch_ndims, 0))
    result = Constraint(
        f"IndependentConstraint({base!r}, {reinterpreted_batch_ndims})",
        lambda v: base.check(wrap(v)).numpy().all(axes) if axes else base.check(wrap(v)).numpy(),
        base.is_discrete,
        base.event_dim + reinterpreted_batch_ndims,
        independent,
    )
    result.base_constraint, result.reinterpreted_batch_ndims = base, reinterpreted_batch_ndims
    return result


def _is_one_hot(v: Any) -> Any:
    return ((v == 0) | (v == 1)).all(-1) & (v.sum(-1) == 1)


def _is_simplex(v: Any) -> Any:
    return (v >= 0).all(-1) & (np.abs(v.sum(-1) - 1) < 1e-6 * max(1, v.shape[-1]))


def _is_lower_cholesky(v: Any) -> Any:
    return (np.tril(v) == v).all((-2, -1)) & (np.diagonal(v, axis1=-2, axis2=-1) > 0).all(-1)


def _is_positive_definite(v: Any) -> Any:
    symmetric = np.isclose(v, np.swapaxes(v, -1, -2), atol=1e-6).all((-2, -1))
    return symmetric & (np.linalg.eigvalsh(np.nan_to_num(v)) > 0).all(-1)


real = Constraint("Real()", lambda v: v == v)
"""Every number that is not NaN."""
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), is_discrete=True)
nonnegative_integer = Constraint("NonnegativeInteger()", lambda v: (v % 1 == 0) & (v >= 0), is_discrete=True)
positive_integer = Constraint("PositiveInteger()", lambda v: (v % 1 == 0) & (v >= 1), is_discrete=True)
real_vector = independent(real, 1)
one_hot = Constraint("OneHot()", _is_one_hot, is_discrete=True, event_dim=1)
simplex = Constraint("Simplex()", _is_simplex, event_dim=1)
"""Vectors of non-negative numbers that sum to 1."""
lower_cholesky = Constraint("LowerCholesky()", _is_lower_cholesky, event_dim=2)
"""Lower triangular matrices with a positive diagonal."""
positive_definite = Constraint("PositiveDefinite()", _is_positive_definite, event_dim=2)
