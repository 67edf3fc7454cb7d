"""Maps into constraints: PyTorch's values, log-determinants and choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad
import rlgrad.distributions as ours

torch = pytest.importorskip("torch")
theirs = torch.distributions

CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "real": lambda c: c.real,
    "real vectors": lambda c: c.real_vector,
    "positive": lambda c: c.positive,
    "not negative": lambda c: c.nonnegative,
    "above": lambda c: c.greater_than(2.0),
    "from": lambda c: c.greater_than_eq(-1.0),
    "below": lambda c: c.less_than(3.0),
    "between": lambda c: c.interval(-2.0, 5.0),
    "half open": lambda c: c.half_open_interval(1.0, 2.0),
    "unit": lambda c: c.unit_interval,
    "simplex": lambda c: c.simplex,
    "factor": lambda c: c.lower_cholesky,
    "positive definite": lambda c: c.positive_definite,
    "independent": lambda c: c.independent(c.positive, 2),
    "boolean": lambda c: c.boolean,
}


def mapped(library: Any, d: Any, registry: str, name: str) -> Any:
    x = library.tensor(np.random.default_rng(0).normal(size=(2, 3, 3)))
    try:
        transform = getattr(d, registry)(CONSTRAINTS[name](d.constraints))
    except NotImplementedError as error:
        return type(error)
    y = transform(x)
    back = transform.inv(y)
    try:
        slope = transform.log_abs_det_jacobian(x, y)
    except NotImplementedError:
        slope = library.zeros(1)
    shapes = tuple(transform.forward_shape(tuple(x.shape))), tuple(transform.inverse_shape(tuple(y.shape)))
    assert shapes == (tuple(y.shape), tuple(x.shape))
    return [v.numpy() for v in (y, back, slope)]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_the_map_into_a_constraint_is_torchs(registry: str, name: str) -> None:
    mine, other = mapped(rlgrad, ours, registry, name), mapped(torch, theirs, registry, name)
    if isinstance(other, type):
        assert mine is other
        return
    for a, b in zip(mine, other, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_rule_of_ones_own_is_used() -> None:
    registry = ours.constraint_registry.ConstraintRegistry()
    mine = ours.constraints.greater_than(1.0)

    @registry.register(mine)
    def rule(constraint: Any) -> Any:
        return ours.ExpTransform()

    assert registry(mine) == ours.ExpTransform()
    with pytest.raises(NotImplementedError, match="Simplex"):
        registry(ours.constraints.simplex)


def test_transforms_equal_those_alike() -> None:
    t = ours.transforms
    assert t.PowerTransform(2.0) == t.PowerTransform(2.0)
    assert t.PowerTransform(2.0) != t.PowerTransform(3.0)
    assert t.IndependentTransform(t.ExpTransform(), 1) == t.IndependentTransform(t.ExpTransform(), 1)
    assert t.IndependentTransform(t.ExpTransform(), 1) != t.IndependentTransform(t.ExpTransform(), 2)
    assert t.AbsTransform()(rlgrad.tensor(-2.0)).item() == 2
    with pytest.raises(NotImplementedError):
        t.AbsTransform().log_abs_det_jacobian(rlgrad.ones(1), rlgrad.ones(1))
