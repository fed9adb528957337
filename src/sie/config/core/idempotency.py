"""Has a write with this Idempotency-Key been done, is it being done, or was it another write (§3, wire-facts 3.3)?

A write is never executed twice for one key: what it answered is kept for the newest `REPLAYS` keys, and for the
`REMEMBERED` newest it is known that it was done, when its answer is gone. Failures are not kept.
"""

import hashlib
from collections import OrderedDict
from typing import Generic, TypeVar

import attrs

R = TypeVar("R")

REPLAYS = 1000
REMEMBERED = 100_000
"""At some 200 bytes each, 20 MB; a client retries within minutes, and writes are few."""

Fingerprint = bytes
"""SHA-256 over what makes two requests the same one."""


def fingerprint(method: str, model_id: str, body: bytes) -> Fingerprint:
    """Method and target count where the target is not in the body (wire-facts 3.3)."""
    target = b"" if method == "POST" else method.encode() + b"\0" + model_id.encode() + (b"\0" if body else b"")
    return hashlib.sha256(target + body).digest()


@attrs.define(eq=False)
class Flight(Generic[R]):
    """A write under way. Once `ended`, `answer` is what its owner got; None if it was cancelled or broke."""

    key: bytes
    fingerprint: Fingerprint
    ended: bool = False
    answer: R | None = None
    was_cancelled: bool = False


@attrs.frozen
class Run(Generic[R]):
    """Nobody has this key: do the write, and end the flight."""

    flight: Flight[R]


@attrs.frozen
class Wait(Generic[R]):
    """The same write is under way."""

    flight: Flight[R]


@attrs.frozen
class Replay(Generic[R]):
    answer: R


@attrs.frozen
class Evicted:
    """The write was done, and its answer is gone."""


@attrs.frozen
class Mismatch:
    """The key belongs to another write."""


Claim = Run[R] | Wait[R] | Replay[R] | Evicted | Mismatch


@attrs.define(eq=False)
class Idempotency(Generic[R]):
    replays: int = REPLAYS
    remembered: int = REMEMBERED
    _flights: dict[bytes, Flight[R]] = attrs.field(factory=dict, init=False)
    _answers: OrderedDict[bytes, R] = attrs.field(factory=OrderedDict, init=False)
    _done: OrderedDict[bytes, Fingerprint] = attrs.field(factory=OrderedDict, init=False)

    def claim(self, name: str, made_of: Fingerprint) -> Claim[R]:
        """`name` is the header's value, however long: only its hash is kept."""
        key = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
        flight = self._flights.get(key)
        known = flight.fingerprint if flight is not None else self._done.get(key)
        if known is not None and known != made_of:
            return Mismatch()
        if flight is not None:
            return Wait(flight)
        if known is not None:
            return self._recall(key)
        flight = self._flights[key] = Flight(key, made_of)
        return Run(flight)

    def end(self, flight: Flight[R], answer: R | None, *, succeeded: bool = False, was_cancelled: bool = False) -> None:
        """Once for each flight. Only a success is kept for later requests; waiters read the flight itself."""
        flight.ended, flight.answer, flight.was_cancelled = True, answer, was_cancelled
        del self._flights[flight.key]
        if succeeded and answer is not None:
            _keep(self._answers, flight.key, answer, self.replays)
            _keep(self._done, flight.key, flight.fingerprint, self.remembered)

    def _recall(self, key: bytes) -> Replay[R] | Evicted:
        self._done.move_to_end(key)
        if key not in self._answers:
            return Evicted()
        self._answers.move_to_end(key)
        return Replay(self._answers[key])


K = TypeVar("K")
V = TypeVar("V")


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)
