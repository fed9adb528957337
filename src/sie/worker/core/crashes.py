"""How many backend processes has an input taken with it? Counted by item, so that nobody else is blamed. Sans-IO.

A count lasts longer than the worker: each is a line of text somewhere, under a name made of the item's key. Work that
is too old to come again is forgotten, and so is the oldest where there are too many.
"""

import hashlib
from collections.abc import Iterable, Mapping

import attrs

MAX_AGE_S = 3600.0
"""Twice as long as work lasts in its stream (wire-facts 2.1)."""
MAX_KEPT = 4096


@attrs.frozen
class Crash:
    """`at_s` is unix time, of the last one."""

    count: int
    at_s: float

    def is_old(self, now_s: float) -> bool:
        return now_s - self.at_s > MAX_AGE_S


def crash_name(key: tuple[str, str]) -> str:
    """A file's name for one answer to one caller, whatever they call themselves."""
    return hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def encode_crash(crash: Crash) -> str:
    return f"{crash.count} {crash.at_s!r}\n"


def decode_crash(text: str) -> Crash | None:
    """None: it says nothing that could be trusted."""
    count, _, at_s = text.strip().partition(" ")
    try:
        crash = Crash(int(count), float(at_s))
    except ValueError:
        return None
    return crash if crash.count > 0 else None


def once_more(before: Crash | None, *, now_s: float) -> Crash:
    """The count after another crash; one from long ago was of other work."""
    counts = before is not None and not before.is_old(now_s)
    return Crash(before.count + 1 if before and counts else 1, now_s)


def overdue(kept: Mapping[str, Crash], *, now_s: float) -> tuple[str, ...]:
    """The names of those to forget: the old, and the oldest beyond MAX_KEPT."""
    fresh = sorted((name for name, crash in kept.items() if not crash.is_old(now_s)), key=lambda name: kept[name].at_s)
    remaining = frozenset(fresh[-MAX_KEPT:])
    return tuple(name for name in kept if name not in remaining)


@attrs.define
class Crashes:
    """What this worker knows of."""

    _kept: dict[str, Crash] = attrs.field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._kept)

    def learn(self, crashes: Mapping[str, Crash]) -> None:
        self._kept.update(crashes)

    def count(self, key: tuple[str, str]) -> int:
        """Cheap where nothing has crashed, as it is asked for every item."""
        if not self._kept:
            return 0
        crash = self._kept.get(crash_name(key))
        return crash.count if crash else 0

    def find(self, name: str) -> Crash | None:
        return self._kept.get(name)

    def forget(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of them that were known."""
        return tuple(name for name in names if self._kept.pop(name, None) is not None)

    def take_overdue(self, *, now_s: float) -> tuple[str, ...]:
        return self.forget(overdue(self._kept, now_s=now_s))
