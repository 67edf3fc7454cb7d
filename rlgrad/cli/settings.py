"""Settings dataclasses as Hydra schemas: names and types checked going in, the real dataclass coming out."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from rlgrad.backend.errors import nearest

T = TypeVar("T")

_WORDS: dict[Any, str] = {
    int: "a whole number (int)",
    float: "a number (float)",
    bool: "true or false (bool)",
    str: "text (str)",
    type(None): "null",
}


@dataclass
class LoggerSettings:
    """Where a run's numbers go.

    Attributes:
        tensorboard: write TensorBoard events.
        csv: write ``metrics.csv``.
    """

    tensorboard: bool = True
    csv: bool = True


@dataclass
class EnvSettings:
    """Which environment a run trains in.

    Attributes:
        id: Gymnasium id, such as ``"CartPole-v1"``.
        num_envs: copies that are stepped together; ``None`` for the agent's own number.
        vectorization: how they are run: ``"auto"``, ``"vector"``, ``"sync"``, ``"async"`` or ``"envpool"``, see
            :func:`rlgrad.envs.make`.
        options: keyword arguments of the environment itself.
    """

    id: str = "CartPole-v1"
    num_envs: int | None = None
    vectorization: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)


def conf_dir() -> Path:
    """The folder with the Hydra groups: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "optimizer").is_dir():
            return folder
    raise FileNotFoundError(
        f"rlgrad's configuration folder is neither {package / 'conf'} nor {package.parent / 'conf'}: "
        "install rlgrad again."
    )


def schema_of(cls: type) -> type:
    """A copy of a settings dataclass that OmegaConf can hold: mutable, and with plain types.

    OmegaConf makes frozen dataclasses read-only, which would refuse every override, and knows no ``Literal``.
    Its defaults stay, its ``__post_init__`` does not: checks of values run in :func:`settings_from`.
    """
    hints = typing.get_type_hints(cls)
    fields: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(cls):
        if not item.init:
            continue
        kind = _schema_type(hints[item.name])
        if dataclasses.is_dataclass(kind):
            entry: Any = field(default_factory=kind)  # type: ignore[arg-type]
        elif item.default_factory is not dataclasses.MISSING:
            entry = field(default_factory=item.default_factory)
        elif isinstance(item.default, (tuple, list, dict)):
            entry = field(default_factory=_copier(item.default))
        elif item.default is not dataclasses.MISSING:
            entry = field(default=item.default)
        else:
            entry = field(default="???")
        fields.append((item.name, kind, entry))
    return dataclasses.make_dataclass(cls.__name__, fields)


def settings_from(cls: type[T], values: Mapping[str, Any], place: str = "") -> T:
    """Make the real settings dataclass from plain values that its schema has let through.

    Args:
        cls: the settings dataclass.
        values: field name to value, nested for nested dataclasses.
        place: dotted name of the values in the whole configuration, for messages.

    Raises:
        ValueError: a value is none of a field's choices, or the dataclass's own checks refuse it.
    """
    hints = typing.get_type_hints(cls)
    arguments = {}
    for name, value in values.items():
        where = f"{place}.{name}" if place else name
        if name not in hints:
            raise ValueError(f"There is no setting '{where}'.{nearest(name, hints)}")
        arguments[name] = _restore(hints[name], value, where)
    return cls(**arguments)


def signature_schema(function: Callable[..., Any], name: str, leave_out: Collection[str]) -> type:
    """The keyword options of a function or class as a schema, read off its own signature.

    Args:
        function: what will be called with the options.
        name: value of the schema's field ``name``, by which the function is chosen.
        leave_out: parameters that are no settings.
    """
    hints = _hints_of(function)
    fields: list[tuple[str, Any, Any]] = [("name", str, field(default=name))]
    for parameter in inspect.signature(function).parameters.values():
        default = parameter.default
        if parameter.name in leave_out or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if isinstance(default, (tuple, list)):
            kind, entry = list[float], field(default_factory=_copier(default))
        else:
            kind = _schema_type(hints.get(parameter.name, Any))
            entry = field(default="???" if default is parameter.empty else default)
        fields.append((parameter.name, kind, entry))
    return dataclasses.make_dataclass(f"{name}_options", fields)


def describe_type(kind: Any) -> str:
    """A type in the words of an error message: ``float`` is "a number (float)"."""
    if kind in _WORDS:
        return _WORDS[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe_type(part) for part in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (list, tuple):
        inner = f", each item {describe_type(arguments[0])}" if arguments else ""
        return f"a list [..., ...]{inner}"
    if origin is dict or kind is dict:
        return "a mapping: {name: value}"
    return getattr(kind, "__name__", str(kind))


def field_types(cls: type, place: str = "") -> dict[str, Any]:
    """Every setting of a (nested) dataclass as dotted name to type."""
    found: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(cls).items():
        where = f"{place}.{name}" if place else name
        found[where] = kind
        if dataclasses.is_dataclass(kind):
            found.update(field_types(kind, where))  # type: ignore[arg-type]
    return found


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except NameError:
        # Names that a module imports for type checkers alone cannot be looked up; such options go unchecked.
        return {}


def _schema_type(kind: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        return schema_of(kind)  # type: ignore[arg-type]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return type(arguments[0])
    if origin is tuple:
        return list[_schema_type(arguments[0])]  # type: ignore[misc]
    if origin in (typing.Union, types.UnionType):
        parts = [part for part in arguments if part is not type(None)]
        if len(parts) > 1:
            return Any
        inner = _schema_type(parts[0])
        return inner if inner is Any else typing.Optional[inner]  # noqa: UP045
    if origin in (list, dict) or kind in (int, float, bool, str, list, dict):
        return kind
    return Any


def _restore(kind: Any, value: Any, place: str) -> Any:
    if value is None:
        return None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        parts = [part for part in arguments if part is not type(None)]
        return _restore(parts[0], value, place) if len(parts) == 1 else value
    if origin is Literal and value not in arguments:
        choices = ", ".join(map(str, arguments))
        raise ValueError(f"{place} is one of {choices}, not {value!r}.{nearest(str(value), map(str, arguments))}")
    if origin is tuple:
        return tuple(value)
    if dataclasses.is_dataclass(kind):
        return settings_from(kind, value, place)  # type: ignore[arg-type]
    return value


def _copier(value: Any) -> Any:
    """A default factory for a value that must not be shared between configurations."""
    return lambda: dict(value) if isinstance(value, dict) else list(value)
