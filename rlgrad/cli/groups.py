"""Schemas of the groups whose settings are the keyword options of a class or function."""

from __future__ import annotations

import inspect

from rlgrad.cli.settings import signature_schema


def optimizer_schema(name: str) -> type:
    """Options of the optimizer that :func:`rlgrad.optim.make` makes of ``name``."""
    from rlgrad import optim

    classes = {key.lower(): value for key, value in vars(optim).items() if inspect.isclass(value)}
    return signature_schema(classes[name], name, leave_out=("self", "params", "lr"))


def data_schema(name: str) -> type:
    """Options of the data source that :func:`rlgrad.gan.make_data` makes of ``name``."""
    from rlgrad.gan import DATA

    return signature_schema(DATA[name], name, leave_out=("seed",))
