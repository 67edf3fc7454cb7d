"""Run one job through Hydra, with one clean message for every mistake a user can make.

Exit codes: 0 done, 1 training failed (a value that is not finite), 2 a mistake in the command or its
surroundings, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import os
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.cli.explain import explain
from rlgrad.cli.settings import conf_dir, field_types, schema_of, settings_from

if TYPE_CHECKING:
    from omegaconf import DictConfig

CONFIG_NAME = "config.yaml"
CHECKPOINT_NAME = "checkpoint.safetensors"

EXIT_TRAINING_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# What a run may do differently from the part of it that was there before.
_MAY_CHANGE_ON_RESUME = (
    "total_timesteps",
    "iterations",
    "evaluation_episodes",
    "evaluation_every",
    "checkpoint_every",
    "checkpoint_keep",
    "video",
    "progress",
    "resume",
    "device",
    "threads",
    "logger",
)


class UsageError(Exception):
    """A mistake in the command or its surroundings; its text is the whole message."""


@dataclass(frozen=True)
class Job:
    """One trainable thing that the command line offers.

    Attributes:
        name: sub-command and folder under ``outputs``.
        config_name: the job's file in ``conf``, without its ending.
        settings: the settings dataclass of the whole job, whose fields are the command line's settings.
        train: trains and returns the exit code.
        groups: for each group whose settings depend on the option chosen, the schema of an option's ``name``.
        complete: adds to the command's arguments what they imply.
    """

    name: str
    config_name: str
    settings: type
    train: Callable[[Any, Path], int]
    groups: Mapping[str, Callable[[str], type]]
    complete: Callable[[list[str]], list[str]] = list


def run(job: Job, arguments: Sequence[str], program: str) -> int:
    """Compose a job's configuration from ``arguments``, train, and return the exit code.

    Args:
        job: the job.
        arguments: ``name=value`` overrides and Hydra's own flags (``--help``, ``--cfg job``, ``--multirun``).
        program: what to call the command in messages and help.
    """
    import hydra

    conf = conf_dir()
    try:
        arguments = job.complete(_into_the_run_that_is_resumed(arguments, job))
        _register(job)
        show_whole_errors = os.environ.get("HYDRA_FULL_ERROR") == "1"
        # Hydra prints its own message and leaves unless this is set; then errors reach the handlers below.
        os.environ["HYDRA_FULL_ERROR"] = "1"
        saved, sys.argv = sys.argv, [program, *arguments]
        try:
            hydra.main(version_base="1.3", config_path=str(conf), config_name=job.config_name)(_task(job))()
        finally:
            sys.argv = saved
            if not show_whole_errors:
                del os.environ["HYDRA_FULL_ERROR"]
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE if stop.code else 0
    except KeyboardInterrupt:
        return fail("Interrupted before training started; nothing was saved.", EXIT_INTERRUPTED)
    except UsageError as error:
        return fail(str(error), EXIT_USAGE)
    except Exception as error:
        if show_whole_errors or not _is_usage_mistake(error):
            raise
        return fail(_message(error, job, arguments, conf), EXIT_USAGE)
    return 0


def compose_job(job: Job, overrides: Sequence[str]) -> Any:
    """A job's settings as the command line would make them of ``name=value`` overrides, without running it.

    Example:
        >>> from rlgrad.cli.train_agent import TRAIN
        >>> compose_job(TRAIN, ["+experiment=ppo_cartpole", "seed=3"]).total_timesteps
        100000
    """
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    _register(job)
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose(job.config_name, list(overrides))
    values: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    return settings_from(job.settings, values)


@contextmanager
def mistakes_of_the_user() -> Iterator[None]:
    """Around work that fails only for what the user asked, such as making an environment: no traceback."""
    try:
        yield
    except (ValueError, TypeError, ImportError, RuntimeError) as error:
        if os.environ.get("RLGRAD_FULL_ERROR") == "1":
            raise
        raise UsageError(str(error)) from error


def fail(message: str, code: int) -> int:
    """Print one error message on standard error and return the exit code."""
    print(f"rlgrad: {message}", file=sys.stderr)
    return code


def _task(job: Job) -> Callable[[DictConfig], None]:
    def task(config: DictConfig) -> None:
        code = _train(job, config)
        if code:
            sys.exit(code)

    return task


def _train(job: Job, config: DictConfig) -> int:
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    from rlgrad.training import CheckpointError, NonFiniteError, prepare_run_directory

    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    try:
        if config.resume is not None:
            config = _resumed_config(config, list(hydra_config.overrides.task), job)
        if missing := sorted(OmegaConf.missing_keys(config)):
            raise UsageError(f"{missing[0]} has no value, and needs one: add {missing[0]}=... to the command.")
        values = OmegaConf.to_container(config, resolve=True)
        assert isinstance(values, dict)
        with mistakes_of_the_user():
            settings: Any = settings_from(job.settings, values)  # type: ignore[arg-type]
        directory = prepare_run_directory(directory)
        (directory / CONFIG_NAME).write_text(OmegaConf.to_yaml(config, resolve=True))
        # A value that overflows is reported once, by the check that names it, not by NumPy's warnings too.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return job.train(settings, directory)
    except NonFiniteError as error:
        return fail(f"{error} {_last_checkpoint(directory)}", EXIT_TRAINING_FAILED)
    except KeyboardInterrupt:
        return fail(f"Interrupted. {_last_checkpoint(directory)}", EXIT_INTERRUPTED)
    except (UsageError, CheckpointError) as error:
        if config.resume is None:
            _remove_untouched(directory)
        return fail(str(error), EXIT_USAGE)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return fail(f"{str(error.strerror or error).rstrip('.')}{where}.", EXIT_USAGE)


def _last_checkpoint(directory: Path) -> str:
    checkpoint = directory / CHECKPOINT_NAME
    return f"The last good checkpoint is {checkpoint}." if checkpoint.exists() else "There is no checkpoint yet."


def _remove_untouched(directory: Path) -> None:
    """Take away the folder of a run that never began."""
    with suppress(OSError):
        if {path.name for path in directory.iterdir()} <= {CONFIG_NAME}:
            (directory / CONFIG_NAME).unlink(missing_ok=True)
            directory.rmdir()


def _register(job: Job) -> None:
    """Give Hydra the settings dataclasses as schemas; a configuration file adds values, never names."""
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    store = ConfigStore.instance()
    schema = OmegaConf.structured(schema_of(job.settings))
    for key, kind in field_types(job.settings).items():
        # A mapping takes any names, like an environment's own options.
        if typing.get_origin(kind) is dict:
            OmegaConf.set_struct(OmegaConf.select(schema, key), False)
    store.store(name=f"{job.name}_schema", node=schema)
    for group, option_schema in job.groups.items():
        for name in {_option_name(path) for path in (conf_dir() / group).glob("*.yaml")}:
            store.store(name=f"{name}_schema", group=group, node=option_schema(name))
    # For the help text: Hydra's own list of groups would show other jobs' groups, and the schemas as options.
    OmegaConf.register_new_resolver("options", _options, replace=True)


def _options(group: str) -> str:
    return ", ".join(sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")))


def _option_name(path: Path) -> str:
    """The ``name`` in an option's file; several files may be presets of one name."""
    match = re.search(r"^ *name: *(\S+)", path.read_text(), re.MULTILINE)
    if match is None:
        raise UsageError(f"{path} has no line 'name: ...', which says what its settings belong to.")
    return match.group(1)


def _into_the_run_that_is_resumed(arguments: Sequence[str], job: Job) -> list[str]:
    """A continued run writes where it wrote before, and has the options that it had of each group."""
    arguments = list(arguments)
    given = [item.partition("=")[2].strip("'\"") for item in arguments if item.startswith("resume=")]
    if not given or given[-1] in ("", "null"):
        return arguments
    folder = checkpoint_path(given[-1]).parent.absolute()
    names = {item.partition("=")[0] for item in arguments}
    if "hydra.run.dir" not in names:
        quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
        arguments.append(f"hydra.run.dir='{quoted}'")
    chosen = _options_of_run(folder / CONFIG_NAME, job)
    return [*(f"{group}={option}" for group, option in chosen.items() if group not in names), *arguments]


def _options_of_run(path: Path, job: Job) -> dict[str, str]:
    """The option of each group that a run's saved settings belong to; of several with one name, that of the name."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        saved = OmegaConf.load(path)
        names = {group: OmegaConf.select(saved, f"{group}.name") for group in job.groups}
    except (OSError, OmegaConfBaseException):
        return {}  # what is wrong with the file is said when it is needed
    found = {}
    for group, name in names.items():
        options = [file.stem for file in (conf_dir() / group).glob("*.yaml") if _option_name(file) == name]
        if options:
            found[group] = name if name in options else min(options)
    return found


def checkpoint_path(path: str, setting: str = "resume") -> Path:
    """The checkpoint that ``resume=path``, or another setting, means: a file, or the one in a run's folder.

    Raises:
        UsageError: there is none.
    """
    given = Path(path)
    file = given / CHECKPOINT_NAME if given.is_dir() else given
    if not file.is_file():
        raise UsageError(
            f"{setting}={path}: there is no checkpoint {file}. Give a run's folder or its {CHECKPOINT_NAME}."
        )
    return file


def _resumed_config(config: DictConfig, overrides: Sequence[str], job: Job) -> DictConfig:
    """The settings of the run that continues, with what this command changes, if it may."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    path = checkpoint_path(config.resume).parent / CONFIG_NAME
    if not path.is_file():
        raise UsageError(f"resume={config.resume}: the run's settings are missing, there is no {path}.")
    saved = OmegaConf.load(path)
    for override in overrides:
        given, _, _ = override.partition("=")
        # Several options of a group may have one name, and differ in what else they set.
        key = f"{given}.name" if given in job.groups else given
        old, new = OmegaConf.select(saved, key), OmegaConf.select(config, key)
        if old != new and key.partition(".")[0] not in _MAY_CHANGE_ON_RESUME:
            raise UsageError(
                f"A resumed run keeps its settings: {key} is {old} in {path}, and {override} was given. "
                f"Leave {given} out, or start a new run."
            )
        OmegaConf.update(saved, key, new)
    try:
        merged = OmegaConf.merge(config, saved)
    except OmegaConfBaseException as error:
        raise UsageError(f"resume={config.resume}: {path} is not of this job, or of this release.") from error
    merged.resume = config.resume
    return merged  # type: ignore[return-value]


def _is_usage_mistake(error: Exception) -> bool:
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    return isinstance(error, (HydraException, OmegaConfBaseException, OSError))


def _message(error: Exception, job: Job, arguments: Sequence[str], conf: Path) -> str:
    from hydra.errors import HydraException

    if isinstance(error, OSError) and not isinstance(error, HydraException):
        # Hydra makes the run's folder, so an error from the system that reaches this place is about that.
        return (
            f"The output folder {error.filename} cannot be written ({error.strerror}). Choose another with "
            "hydra.run.dir=FOLDER, or make it writable; training has not started."
        )
    keys = field_types(job.settings)
    for group, schema in job.groups.items():
        path = conf / group / f"{_chosen_option(conf, job, group, arguments)}.yaml"
        if path.is_file():
            keys.update(field_types(schema(_option_name(path)), group))
    return explain(error, keys, [item for item in arguments if not item.startswith("-")], conf)


def _chosen_option(conf: Path, job: Job, group: str, arguments: Sequence[str]) -> str:
    """The option of a group: as the command says, or the experiment that it names, or the job's file."""
    chosen = [item.partition("=")[2] for item in arguments if item.startswith(f"{group}=")]
    if chosen:
        return chosen[-1]
    named = [conf / "experiment" / f"{item.partition('=')[2]}.yaml" for item in arguments if "experiment=" in item]
    for path in (*named, conf / f"{job.config_name}.yaml"):
        match = (
            re.search(rf"^ *- (?:override /)?{group}: *(\S+)", path.read_text(), re.MULTILINE)
            if path.is_file()
            else None
        )
        if match:
            return match.group(1)
    return ""
