"""Where a setting comes from: flag, then environment, then file, then default; each value keeps its origin.

A service lists its settings once, as an attrs class of `setting(...)` fields; flags, the environment table and
`--print-config` are made from that class. A value may also stand in a file that `NAME_FILE` names, as secrets do.
"""

import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic, Literal, TypeVar

import attrs
import yaml

from sie.runtime.kinds import Kind, kind_of, shown
from sie.runtime.variables import VARIABLES

S = TypeVar("S", bound=attrs.AttrsInstance)
D = TypeVar("D")
Origin = str
LogLevel = Literal["debug", "info", "warning", "error"]
HashFormName = Literal["reference", "sie-0.10"]
MASK = "********"
_USERINFO = re.compile(r"//[^/@\s]+@")


@attrs.frozen
class Setting:
    """What is known of one setting beside its name, type and default. Where an optional one is set to nothing it counts
    as unset, unless `empty_counts`. `at_least` bounds a number from below.
    """

    env: str
    help: str
    flags: tuple[str, ...] = ()
    secret: bool = False
    empty_counts: bool = False
    at_least: float | None = None


@attrs.frozen
class Field:
    """One field of a settings class, with what its annotation takes."""

    name: str
    setting: Setting
    kind: Kind
    default: object


@attrs.frozen
class Resolved(Generic[S]):
    """`origins` says for each field where its value came from; `unknown` lists variables that nothing reads."""

    settings: S
    origins: Mapping[str, Origin]
    unknown: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """One line a setting, for people: variable, value, origin. Secrets are masked, also those inside a URL."""
        for field in fields(type(self.settings)):
            value = getattr(self.settings, field.name)
            text = MASK if field.setting.secret and value else _USERINFO.sub(f"//{MASK}@", shown(value))
            yield f"{field.setting.env}={text}  # {self.origins[field.name]}"


@attrs.frozen
class Sources:
    """`flags` is keyed by field, `environ` and `file` by variable; `file_name` is the file's origin in messages."""

    flags: Mapping[str, object]
    environ: Mapping[str, str]
    file: Mapping[str, object]
    file_name: str = "file"


class SettingError(ValueError):
    """A value that cannot be what it should; the message names the setting, its origin and the value seen."""


def setting(
    default: D,
    *,
    env: str,
    help: str,  # noqa: A002
    flags: tuple[str, ...] = (),
    secret: bool = False,
    empty_counts: bool = False,
    at_least: float | None = None,
) -> D:
    """A field of a settings class; its annotation is one that `sie.runtime.kinds` knows."""
    return attrs.field(default=default, metadata={"setting": Setting(env, help, flags, secret, empty_counts, at_least)})


def fields(cls: type[attrs.AttrsInstance]) -> Iterator[Field]:
    hints: Mapping[str, object] = typing.get_type_hints(cls)
    for attribute in attrs.fields(cls):
        kind = kind_of(hints[attribute.name])
        yield Field(attribute.name, attribute.metadata["setting"], kind, attribute.default)


def resolve(cls: type[S], sources: Sources) -> Resolved[S]:
    """Raises SettingError."""
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for field in fields(cls):
        values[field.name], origins[field.name] = _pick(field, sources)
    return Resolved(cls(**values), origins, tuple(sorted(_unknown(sources))))


def read_settings_file(path: str) -> Mapping[str, object]:
    """A YAML map of variables to values. Raises SettingError."""
    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SettingError(f"settings file {path}: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise SettingError(f"settings file {path}: must be a map of SIE_ variables to values")
    return value


def _unknown(sources: Sources) -> frozenset[str]:
    """All of a settings file is meant for us; of the environment, what has our prefix."""
    known = VARIABLES | {f"{variable}_FILE" for variable in VARIABLES}
    ours = frozenset(name for name in sources.environ if name.startswith("SIE_"))
    return (ours - known) | (frozenset(sources.file) - VARIABLES)


def _pick(field: Field, sources: Sources) -> tuple[object, Origin]:
    env = field.setting.env
    if sources.flags.get(field.name) is not None:
        return _parse(field, sources.flags[field.name], "flag"), "flag"
    if env in sources.environ:
        return _parse(field, sources.environ[env], "environment"), "environment"
    if f"{env}_FILE" in sources.environ:
        origin = f"environment {env}_FILE"
        return _parse(field, _text_of(sources.environ[f"{env}_FILE"], env), origin), origin
    if env in sources.file:
        return _parse(field, sources.file[env], sources.file_name), sources.file_name
    return field.default, "default"


def _text_of(path: str, env: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{env}_FILE: {error}") from error


def _parse(field: Field, value: object, origin: Origin) -> object:
    if field.kind.optional and (value is None or (value == "" and not field.setting.empty_counts)):
        return None
    try:
        parsed = field.kind.parse(value)
    except (ValueError, TypeError) as error:
        seen = MASK if field.setting.secret else repr(value)
        raise SettingError(f"{field.setting.env} (from {origin}) must be {field.kind.name}, not {seen}") from error
    least = field.setting.at_least
    if least is not None and isinstance(parsed, (int, float)) and parsed < least:
        raise SettingError(f"{field.setting.env} (from {origin}) must be at least {least:g}, not {parsed:g}")
    return parsed
