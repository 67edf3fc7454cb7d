"""Kullback-Leibler divergences: one formula for each pair of families that has a closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlgrad import Tensor
from rlgrad.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]

_FORMULAS: dict[tuple[type, type], Formula] = {}
_found: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorates a function `(p, q) -> Tensor` that computes the divergence of `type_q` from `type_p`.

    Of several that fit a pair, `kl_divergence` takes the one registered for the nearest class of `p`, then of `q`.

    Raises:
        TypeError: an argument is not a class of distributions.
    """
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(f"register_kl takes classes of distributions, got {given!r}.")

    def register(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        _found.clear()
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """`KL(p || q)`, the mean of `log p(x) - log q(x)` over `x` from `p`, in nats, of the batch's shape.

    Raises:
        NotImplementedError: no closed form is registered for the two families.

    Example:
        >>> import rlgrad
        >>> from rlgrad.distributions import Normal
        >>> kl_divergence(Normal(rlgrad.zeros(1), rlgrad.ones(1)), Normal(rlgrad.ones(1), rlgrad.ones(1)))
        tensor([0.5000])
    """
    pair = type(p), type(q)
    formula = _found.get(pair)
    if formula is None:
        fitting = [key for key in _FORMULAS if isinstance(p, key[0]) and isinstance(q, key[1])]
        if not fitting:
            raise NotImplementedError(
                f"No closed form of KL({pair[0].__name__} || {pair[1].__name__}) is registered: add one with register_kl, or "
                "average p.log_prob(x) - q.log_prob(x) over samples of p."
            )
        nearest = min(fitting, key=lambda key: (pair[0].__mro__.index(key[0]), pair[1].__mro__.index(key[1])))
        formula = _found[pair] = _FORMULAS[nearest]
    return formula(p, q)
