"""Optimizers with PyTorch's names, options and state."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

from rlgrad.backend.errors import nearest
from rlgrad.optim.adam import Adam, AdamW
from rlgrad.optim.adam_variants import Adamax, Lion, NAdam, RAdam
from rlgrad.optim.adaptive import ASGD, Adadelta, Rprop
from rlgrad.optim.hooks import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from rlgrad.optim.lbfgs import LBFGS
from rlgrad.optim.optimizer import Optimizer
from rlgrad.optim.rmsprop import Adagrad, RMSprop
from rlgrad.optim.sgd import SGD
from rlgrad.optim.targets import polyak_update

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "make",
    "polyak_update",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

BY_NAME: dict[str, type[Optimizer]] = {
    kind.__name__.lower(): kind
    for kind in (SGD, Adam, AdamW, RMSprop, Adagrad, Adamax, NAdam, RAdam, Adadelta, Rprop, ASGD, Lion)
}


def make(name: str, params: Iterable[Any], **options: Any) -> Optimizer:
    """Build an optimizer from its name in a configuration.

    Args:
        name: the class's name in lower case, such as ``"adam"`` or ``"rmsprop"``.
        params: parameters or groups of them.
        options: keyword arguments of that optimizer.

    Raises:
        ValueError: for an unknown name, listing those there are.
        TypeError: for an option that the optimizer has not, naming the nearest.

    Example:
        >>> import rlgrad
        >>> from rlgrad import nn, optim
        >>> type(optim.make("adam", nn.Linear(2, 1).parameters(), lr=1e-2)).__name__
        'Adam'
    """
    kind = BY_NAME.get(str(name).lower())
    if kind is None:
        raise ValueError(f"unknown optimizer {name!r}; there are {', '.join(BY_NAME)}.{nearest(name, BY_NAME)}")
    known = [p for p in inspect.signature(kind).parameters if p != "params"]
    for option in options:
        if option not in known:
            raise TypeError(
                f"optimizer {name!r} has no option {option!r}; it has {', '.join(known)}.{nearest(option, known)}"
            )
    return kind(params, **options)


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):  # loaded when first asked for
        return importlib.import_module(f"rlgrad.optim.{name}")
    raise AttributeError(f"module 'rlgrad.optim' has no attribute {name!r}")
