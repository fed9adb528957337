"""Where a setting comes from: flag, then environment, then file, then default; each value keeps its origin.

A service lists its settings once, as an attrs class of `setting(...)` fields; flags, the environment table and
`--print-config` are made from that class. A secret may also stand in the file that `NAME_FILE` names.
"""

import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs
import yaml

from sie.runtime.variables import VARIABLES

S = TypeVar("S", bound=attrs.AttrsInstance)
Origin = str
MASK = "********"
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off", ""})


@attrs.frozen
class Setting:
    """What is known of one setting beside its name, type and default."""

    env: str
    help: str
    flags: tuple[str, ...] = ()
    secret: bool = False


@attrs.frozen
class Resolved(Generic[S]):
    """`origins` says for each field where its value came from; `unknown` lists SIE_ variables that nothing reads."""

    settings: S
    origins: Mapping[str, Origin]
    unknown: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """One line a setting, for people: variable, value, origin. Secrets are masked."""
        for field in fields(type(self.settings)):
            value = getattr(self.settings, field.name)
            shown = MASK if field.setting.secret and value else _shown(value)
            yield f"{field.setting.env}={shown}  # {self.origins[field.name]}"


@attrs.frozen
class Field:
    """One field of a settings class: its parser and default are taken from the class itself."""

    name: str
    setting: Setting
    kind: Any
    default: object


class SettingError(ValueError):
    """A value that cannot be what it should; the message names the setting, its origin and the value seen."""


def setting(default: Any, *, env: str, help: str, flags: tuple[str, ...] = (), secret: bool = False) -> Any:  # noqa: A002
    """A field of a settings class; its annotation is its type: str, int, float, bool, tuple[str, ...], or `| None`."""
    return attrs.field(default=default, metadata={"setting": Setting(env, help, flags, secret)})


def fields(cls: type[attrs.AttrsInstance]) -> Iterator[Field]:
    hints = typing.get_type_hints(cls)
    for attribute in attrs.fields(cls):
        yield Field(attribute.name, attribute.metadata["setting"], hints[attribute.name], attribute.default)


def resolve(
    cls: type[S],
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Mapping[str, object],
    file_name: str = "file",
) -> Resolved[S]:
    """`flags` is keyed by field, `file` by variable. Raises SettingError."""
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for field in fields(cls):
        values[field.name], origins[field.name] = _pick(field, flags, environ, file, file_name)
    known = {name for variable in VARIABLES for name in (variable, f"{variable}_FILE")}
    given = {name for name in (*environ, *file) if name.startswith("SIE_")}
    return Resolved(cls(**values), origins, tuple(sorted(given - known)))


def read_settings_file(path: str) -> Mapping[str, object]:
    """A YAML map of variables to values. Raises SettingError."""
    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise SettingError(f"settings file {path}: {error}") from error
    if not isinstance(value, dict):
        raise SettingError(f"settings file {path}: must be a map of SIE_ variables to values")
    return value


def _pick(
    field: Field,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Mapping[str, object],
    file_name: str,
) -> tuple[object, Origin]:
    env = field.setting.env
    if flags.get(field.name) is not None:
        return _parse(field, flags[field.name], "flag"), "flag"
    if env in environ:
        return _parse(field, environ[env], "environment"), "environment"
    if f"{env}_FILE" in environ:
        origin = f"environment {env}_FILE"
        return _parse(field, _secret_file(environ[f"{env}_FILE"], env), origin), origin
    if env in file:
        return _parse(field, file[env], file_name), file_name
    return field.default, "default"


def _secret_file(path: str, env: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingError(f"{env}_FILE: {error}") from error


def _parse(field: Field, value: object, origin: Origin) -> object:
    kind, optional = _bare(field.kind)
    if optional and value in ("", None):
        return None
    parser = _PARSERS[kind]
    try:
        return parser(value)
    except (ValueError, TypeError) as error:
        name = _KIND_NAMES[kind]
        shown = MASK if field.setting.secret else repr(value)
        raise SettingError(f"{field.setting.env} (from {origin}) must be {name}, not {shown}") from error


def _bare(kind: Any) -> tuple[Any, bool]:
    if isinstance(kind, types.UnionType):
        inner = [arg for arg in typing.get_args(kind) if arg is not type(None)]
        return inner[0], True
    return kind, False


def _bool(value: object) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _number(kind: Callable[[str], Any]) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if isinstance(value, bool):
            raise TypeError(value)
        return kind(str(value).strip())

    return parse


def _words(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return tuple(word for part in parts if (word := str(part).strip()))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_PARSERS: Mapping[Any, Callable[[object], object]] = {
    str: lambda value: str(value).strip(),
    int: _number(int),
    float: _number(float),
    bool: _bool,
    tuple[str, ...]: _words,
}
_KIND_NAMES: Mapping[Any, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: "a comma-separated list",
}
