"""Schemas of the groups whose settings are the keyword options of a class or function."""

from __future__ import annotations

import dataclasses

from rlgrad.cli.settings import schema_of, signature_schema


def agent_schema(name: str) -> type:
    """Settings of the agent that :data:`rlgrad.agents.BY_NAME` has under ``name``."""
    from rlgrad.agents import BY_NAME

    entry = ("name", str, dataclasses.field(default=name))
    return dataclasses.make_dataclass(f"{name}_settings", [entry], bases=(schema_of(BY_NAME[name][1]),))


def optimizer_schema(name: str) -> type:
    """Options of the optimizer that :func:`rlgrad.optim.make` makes of ``name``."""
    from rlgrad import optim

    return signature_schema(optim.BY_NAME[name], name, leave_out=("params", "lr"))


def data_schema(name: str) -> type:
    """Options of the data source that :func:`rlgrad.gan.make_data` makes of ``name``."""
    from rlgrad.gan import DATA

    return signature_schema(DATA[name], name, leave_out=("seed",))
