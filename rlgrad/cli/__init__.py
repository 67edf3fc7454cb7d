"""The command line: ``rlgrad train agent=ppo env=CartPole``, ``rlgrad gan``.

A job's module holds its settings and what it does with them; :mod:`rlgrad.cli.app` composes them with Hydra.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rlgrad.backend.errors import nearest

_JOBS = {
    "train": "train any agent in an environment, such as agent=ppo env=LunarLander",
    "reinforce": "train REINFORCE in an environment, such as env=CartPole",
    "gan": "train a GAN, such as data=ring or data=digits net=mlp",
    "sample": "draw samples from a trained GAN, such as checkpoint=outputs/gan/...",
    "check-env": "say what is wrong with an environment, such as CartPole-v1 or my_module:MyEnv",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``rlgrad`` command: dispatch to a job and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        import rlgrad

        print(f"rlgrad {rlgrad.__version__}")
        return 0
    name, *rest = arguments
    if name not in _JOBS:
        suggestion = nearest(name, _JOBS)
        print(f"rlgrad: there is no job '{name}'.{suggestion}\n\n{_usage()}", file=sys.stderr)
        return 2
    jobs = {"train": train, "reinforce": reinforce, "gan": gan, "sample": sample, "check-env": check_env}
    return jobs[name](rest, program=f"rlgrad {name}")


def train(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Train an agent as ``arguments`` say (the process's own by default) and return the exit code."""
    from rlgrad.cli.app import run
    from rlgrad.cli.train_agent import TRAIN

    return run(TRAIN, sys.argv[1:] if arguments is None else arguments, program or sys.argv[0])


def reinforce(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Train REINFORCE as ``arguments`` say (the process's own by default) and return the exit code."""
    from rlgrad.cli.app import run
    from rlgrad.cli.train_agent import REINFORCE

    return run(REINFORCE, sys.argv[1:] if arguments is None else arguments, program or sys.argv[0])


def gan(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Train a GAN as ``arguments`` say (the process's own by default) and return the exit code."""
    from rlgrad.cli.app import run
    from rlgrad.cli.train_gan import JOB

    return run(JOB, sys.argv[1:] if arguments is None else arguments, program or sys.argv[0])


def sample(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Draw samples from a trained GAN as ``arguments`` say (the process's own by default) and return the exit code."""
    from rlgrad.cli.sample_gan import sample

    return sample(sys.argv[1:] if arguments is None else arguments)


def check_env(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Check the environment that ``arguments`` name (the process's own by default) and return the exit code."""
    from rlgrad.cli.environment_check import check_env

    return check_env(sys.argv[1:] if arguments is None else arguments)


def _usage() -> str:
    jobs = "\n".join(f"  {name:<10} {text}" for name, text in _JOBS.items())
    return (
        "usage: rlgrad JOB [name=value ...]\n\n"
        f"jobs:\n{jobs}\n\n"
        "A job's settings, with their values:  rlgrad JOB --cfg job\n"
        "Its groups and their options:         rlgrad JOB --help\n"
        "Several runs, one after another:      rlgrad JOB --multirun seed=0,1,2"
    )
