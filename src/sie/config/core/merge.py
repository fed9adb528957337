"""What does a document become when another is appended to it (§3)? Append-only: what stands, stands.

New profiles and new top-level fields are added, missing ones are kept, and a different value for one that is there is
a conflict.
"""

from collections.abc import Mapping

import attrs

from sie.domain.canonical_json import canonical_json
from sie.domain.model import Json

Config = Mapping[str, Json]
PROFILES = "profiles"


@attrs.frozen
class Merged:
    config: Config
    created: tuple[str, ...]
    skipped: tuple[str, ...]


@attrs.frozen
class Conflict:
    """What is there with another content; `fields` are top-level ones, in order."""

    profiles: tuple[str, ...]
    fields: tuple[str, ...]


def append(stored: Config, incoming: Config) -> Merged | Conflict:
    """`stored` is empty where there is no such model yet. Both have a map of profiles."""
    there, offered = profiles_of(stored), profiles_of(incoming)
    created = tuple(name for name in offered if name not in there)
    skipped = tuple(name for name in offered if name in there)
    profiles = tuple(name for name in skipped if not is_same(there[name], offered[name]))
    again = (key for key in incoming if key in stored and key != PROFILES)
    fields = tuple(sorted(key for key in again if not is_same(incoming[key], stored[key])))
    if profiles or fields:
        return Conflict(profiles, fields)
    merged = {**there, **{name: offered[name] for name in created}}
    new_fields = {key: value for key, value in incoming.items() if key not in stored}
    return Merged({**stored, **new_fields, PROFILES: merged}, created, skipped)


def profiles_of(config: Config) -> Mapping[str, Json]:
    found = config.get(PROFILES)
    return found if isinstance(found, Mapping) else {}


def is_same(one: Json, other: Json) -> bool:
    """The same JSON: the order of keys does not count, and 1, 1.0 and true are three values."""
    return canonical_json(one) == canonical_json(other)
