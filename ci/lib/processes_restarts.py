"""What became of a worker that was restarted, and how often did models take turns in its memory? Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

LOADED = "a model is loaded"
UNLOADED = "a model is unloaded"
"""What a backend logs."""


@attrs.frozen
class Restart:
    """`code` None: it was killed. `answered` counts the requests that ended meanwhile."""

    successor: str
    code: int | None
    stopping_s: float
    starting_s: float
    answered: int

    def as_json(self) -> Mapping[str, object]:
        times = {"stopping_s": round(self.stopping_s, 1), "starting_s": round(self.starting_s, 1)}
        return {"successor": self.successor, "code": self.code, **times, "answered_meanwhile": self.answered}


@attrs.frozen
class Turns:
    loads: int = 0
    unloads: int = 0

    def __sub__(self, other: "Turns") -> "Turns":
        return Turns(self.loads - other.loads, self.unloads - other.unloads)

    def as_json(self) -> Mapping[str, int]:
        return attrs.asdict(self)


def read_turns(lines: Iterable[str]) -> Turns:
    """From a worker's log in JSON, in which its backend's lines stand, too."""
    events = [_event(line) for line in lines]
    return Turns(events.count(LOADED), events.count(UNLOADED))


def answered_nothing(served: Mapping[str, int], workers: Iterable[str]) -> Sequence[str]:
    return [worker for worker in workers if not served.get(worker)]


def _event(line: str) -> object:
    """None where the line is no record, such as one that a library wrote itself."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record.get("event") if isinstance(record, Mapping) else None
