"""Where do two answers differ? Both are brought to one form first, then told apart place by place.

What cannot agree is taken out: the time of an export, and where the epoch stood when the sequence began. 1, 1.0 and
true are three values, and a YAML text is compared as it is and by what it says.
"""

import json
from collections.abc import Iterator, Mapping

import attrs
import yaml

from ci.lib.compat_config_services import Observed
from ci.lib.compat_config_steps import Step
from sie.bus.api import Message

_HEADERS = ("content-type", "allow", "www-authenticate", "location")
_YAML = ("raw_yaml", "model_config")
ABSENT = "<absent>"


@attrs.frozen
class Difference:
    """`place` is dotted, numbers for entries of a list."""

    place: str
    ours: object
    theirs: object


@attrs.frozen
class Exchange:
    """One step and both answers to it, in one form; `flavor` is that of the services."""

    flavor: str
    step: Step
    ours: Mapping[str, object]
    theirs: Mapping[str, object]

    @property
    def differences(self) -> tuple[Difference, ...]:
        return tuple(_differences("", self.ours, self.theirs))

    @property
    def statuses(self) -> tuple[object, object]:
        return self.ours.get("status"), self.theirs.get("status")


def in_one_form(observed: Observed, base: int) -> Mapping[str, object]:
    """`base` is the service's epoch when the sequence began."""
    kind = observed.headers.get("content-type", "").partition(";")[0]
    return {
        "status": observed.status,
        "headers": {name: observed.headers[name] for name in _HEADERS if name in observed.headers},
        "body": _plain(_read(kind, observed.content), base),
        "epoch": _plain(observed.epoch, base),
        "heard": [_heard(message, base) for message in observed.heard],
        "pairs": _are_pairs(observed.heard),
    }


def _read(kind: str, content: bytes) -> object:
    text = content.decode("utf-8", "replace")
    if kind == "application/json" and text:
        value: object = json.loads(text)
        return value
    return {"text": text, "says": said_by(text)} if kind == "application/x-yaml" else text


def _heard(message: Message, base: int) -> Mapping[str, object]:
    return {"subject": message.subject, "body": _plain(json.loads(message.data), base)}


def _are_pairs(heard: tuple[Message, ...]) -> bool:
    """Each delta once for its bundle and once, byte for byte, for all."""
    return all(one.data == two.data for one, two in zip(heard[::2], heard[1::2], strict=False))


def _plain(value: object, base: int, key: str = "") -> object:
    match value:
        case dict():
            return {name: _plain(inner, base, name) for name, inner in value.items()}
        case list():
            return [_plain(inner, base) for inner in value]
        case int() if key == "epoch" and not isinstance(value, bool):
            return value - base
        case str() if key == "generated_at":
            return value.endswith("+00:00") and "T" in value
        case str() if key in _YAML:
            return {"text": value, "says": said_by(value)}
        case _:
            return value


def said_by(text: str) -> object:
    try:
        value: object = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return value


def _differences(place: str, ours: object, theirs: object) -> Iterator[Difference]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in {**ours, **theirs}:
            yield from _differences(f"{place}.{key}".lstrip("."), ours.get(key, ABSENT), theirs.get(key, ABSENT))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, two) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(f"{place}.{number}", one, two)
    elif type(ours) is not type(theirs) or (ours != theirs and not _are_nan(ours, theirs)):
        yield Difference(place, ours, theirs)


def _are_nan(ours: object, theirs: object) -> bool:
    """It alone is not itself."""
    return ours != ours and theirs != theirs
