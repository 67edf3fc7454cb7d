"""From a constraint to a map that takes all real numbers into it: bijections, and maps fit for optimisation.

Example:
    >>> import rlgrad
    >>> from rlgrad.distributions import constraints, transform_to
    >>> transform_to(constraints.interval(2.0, 4.0))(rlgrad.tensor(0.0))
    tensor(3.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad.distributions import constraints
from rlgrad.distributions.constraints import Constraint
from rlgrad.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform, Transform
from rlgrad.distributions.vector_transforms import (
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Maker = Callable[[Constraint], Transform]


class ConstraintRegistry:
    """Makes a transform for a constraint by the rule that was registered for it, or for the function that made it."""

    def __init__(self) -> None:
        self._rules: dict[Any, Maker] = {}

    def register(self, constraint: Any, factory: Maker | None = None) -> Any:
        """Add a rule: for a constraint, or for a function that makes such; without a factory, as a decorator."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        self._rules[constraint] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """A new transform from the real numbers to the constraint.

        Raises:
            NotImplementedError: where there is no rule.
        """
        rule = self._rules.get(constraint) or self._rules.get(constraint.made_by)
        if rule is None:
            raise NotImplementedError(f"Cannot transform {constraint!r} constraints")
        return rule(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _above(constraint: Constraint) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


def _below(constraint: Constraint) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


def _between(constraint: Constraint) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda c: ComposeTransform([]))
    _registry.register(
        constraints.independent,
        lambda c, registry=_registry: IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),  # type: ignore[misc]
    )
    for _positive in (constraints.positive, constraints.nonnegative):
        _registry.register(_positive, lambda c: ExpTransform())
    for _kind, _rule in (
        (constraints.greater_than, _above),
        (constraints.greater_than_eq, _above),
        (constraints.less_than, _below),
        (constraints.interval, _between),
        (constraints.half_open_interval, _between),
    ):
        _registry.register(_kind, _rule)
    _registry.register(constraints.unit_interval, lambda c: SigmoidTransform())
biject_to.register(constraints.simplex, lambda c: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: PositiveDefiniteTransform())
