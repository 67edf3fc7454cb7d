"""``rlgrad check-env``: what is wrong with an environment, before hours of training on it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from rlgrad.cli.app import EXIT_USAGE, UsageError, fail
from rlgrad.cli.assignments import plain_settings

EXIT_PROBLEMS = 1

USAGE = """usage: check-env ENVIRONMENT [steps=200] [seed=0]

ENVIRONMENT  a registered id, such as CartPole-v1, or module:name of a class or function that makes one,
             such as my_module:MyEnv
steps        random steps to look at
seed         of the environment and the actions

Exit code 0: training can begin; 1: problems, which are listed.
"""


def check_env(arguments: Sequence[str]) -> int:
    """Say what is wrong with the environment that ``arguments`` name; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else EXIT_USAGE
    from rlgrad import envs

    name, *rest = arguments
    try:
        settings = plain_settings(rest, {"steps": "200", "seed": "0"}, whole=["steps", "seed"])
        steps = int(settings["steps"])
        remarks = envs.check_env(_find(name), steps, int(settings["seed"]))
    except UsageError as error:
        return fail(str(error), EXIT_USAGE)
    except envs.InvalidEnvironmentError as error:
        _print_remarks(error.remarks)
        return fail(str(error), EXIT_PROBLEMS)
    print(f"{name}: no problems in {steps} random steps.")
    _print_remarks(remarks)
    return 0


def _print_remarks(remarks: Sequence[str]) -> None:
    for remark in remarks:
        print(f"  Remark: {remark}")


def _find(name: str) -> Any:
    """What makes the environment that a name means, or the environment itself."""
    import gymnasium as gym

    module, colon, attribute = name.partition(":")
    if colon:
        # An installed command does not look for modules in the folder that it is called in.
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            found = getattr(importlib.import_module(module), attribute, None)
        except ModuleNotFoundError as error:
            if error.name != module.partition(".")[0] and error.name != module:
                raise
            raise UsageError(
                f"{name}: there is no module {module!r}, neither installed nor in {os.getcwd()}."
            ) from error
        if callable(found):
            return found
    try:
        return gym.make(name, disable_env_checker=True)
    except gym.error.Error as error:
        hint = f" Module {module!r} has no {attribute!r} that makes an environment either." if colon else ""
        raise UsageError(f"{name}: {error}{hint}") from error
