"""The fields of a published config.json, each checked as it is read. A family says which ones it needs."""

import json
from collections.abc import Mapping
from pathlib import Path

from sie.adapters.api import LoadFailed

Fields = Mapping[str, object]


def read_fields(folder: Path) -> Fields:
    """All of config.json: a head reads more of it than the network. Raises LoadFailed."""
    try:
        fields = json.loads((folder / "config.json").read_bytes())
    except ValueError as error:
        raise refused(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise refused("not a JSON object")
    return fields


def check_implemented(fields: Fields, implemented: Fields) -> None:
    """A choice that is left out means the one that is implemented. Raises LoadFailed(CONFIG)."""
    for name, value in implemented.items():
        if fields.get(name, value) != value:
            raise refused(f"{name} is {fields[name]!r}; this adapter implements only {value!r}")


def label_names(fields: Fields) -> tuple[str, ...]:
    """The names of a head's outputs, in their order. Raises LoadFailed(CONFIG)."""
    named = fields.get("id2label")
    if not isinstance(named, Mapping) or not named:
        raise refused("id2label must name the labels of the head")
    names = tuple(named.get(str(number)) for number in range(len(named)))
    found = tuple(name for name in names if isinstance(name, str))
    if len(found) != len(names):
        raise refused(f"id2label must give a name to each of 0 to {len(names) - 1}")
    return found


def size_of(fields: Fields, name: str) -> int:
    """Raises LoadFailed(CONFIG)."""
    value = fields.get(name)
    if type(value) is not int or value < 1:
        raise refused(f"{name} must be a positive integer, not {value!r}")
    return value


def epsilon_of(fields: Fields) -> float:
    """Raises LoadFailed(CONFIG)."""
    value = fields.get("layer_norm_eps", 1e-12)
    if not isinstance(value, float) or not value > 0:
        raise refused(f"layer_norm_eps must be a positive number, not {value!r}")
    return value


def refused(reason: str) -> LoadFailed:
    return LoadFailed(f"config.json: {reason}", error_class="CONFIG", permanent=True)
