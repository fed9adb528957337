"""Which requests does the backend child still owe an answer, and what becomes of them when it dies? Sans-IO.

A request is sent again to the next child, after the model that it needs is loaded there. Whatever was with a child when
it died is suspect: from then on one request at a time is with the child, so that the third death has one culprit.
"""

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.ipc import EncodeBatch, Failed, Finished, LoadModel, Request

MAX_DEATHS = 3
MAX_BATCHES = 2
"""Batches with the child at a time: one computes while the next one's bytes arrive."""
BATCH_LIMIT_S = 120.0
LOAD_LIMIT_S = 1800.0
"""A child that owes an answer for longer is stuck, and is replaced."""

Answer: TypeAlias = Finished | Failed


@attrs.frozen(kw_only=True)
class GivenUp(Failed):
    """No child's answer: the batch took MAX_DEATHS of them with it. Which of its items did is not known."""


@attrs.define(eq=False)
class Flight:
    """One request on its way. `sent_s` is None while it is not with a child."""

    request: Request
    sent_s: float | None = None
    deaths: int = 0

    def is_overdue(self, now_s: float) -> bool:
        limit_s = LOAD_LIMIT_S if isinstance(self.request, LoadModel) else BATCH_LIMIT_S
        return self.sent_s is not None and now_s - self.sent_s > limit_s


@attrs.frozen
class Landing:
    """The end of one request."""

    request: Request
    answer: Answer


@attrs.define
class Flights:
    """`here` names the models that the present child has loaded."""

    here: set[str] = attrs.field(factory=set, init=False)
    _models: dict[str, LoadModel] = attrs.field(factory=dict, init=False)
    _flights: dict[int, Flight] = attrs.field(factory=dict, init=False)
    _ids: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    def __len__(self) -> int:
        return len(self._flights)

    def knows(self, serving_id: str) -> bool:
        """Is the model loaded, or about to be? A batch for any other would wait for ever."""
        return serving_id in self._models

    def add(self, request: Request) -> int:
        """Take a request under a new id, which is returned; the one in `request` is not looked at."""
        number = next(self._ids)
        numbered = attrs.evolve(request, id=number)
        self._flights[number] = Flight(numbered)
        if isinstance(numbered, LoadModel):
            self._models[numbered.serving_id] = numbered
        return number

    def next_to_send(self, now_s: float) -> Request | None:
        """The oldest request that the child may have now; it counts as sent."""
        for flight in self._flights.values():
            if flight.sent_s is None and self._may_go(flight.request):
                flight.sent_s = now_s
                return flight.request
        return None

    def land(self, answer: Answer) -> list[Landing]:
        """What an answer of the child ends: its own request, and with a load that failed all that waited for it."""
        flight = self._flights.pop(answer.id, None)
        if flight is None:
            return []
        landed = [Landing(flight.request, answer)]
        if isinstance(flight.request, LoadModel):
            landed += self._land_load(flight.request.serving_id, answer)
        return landed

    def die(self) -> list[Landing]:
        """The child is gone with all that it held. What died with it too often lands, the rest is sent again."""
        dead = [flight for flight in self._flights.values() if flight.sent_s is not None]
        for flight in dead:
            flight.sent_s = None
            flight.deaths += 1
        self._load_again()
        return [
            landing
            for flight in dead
            if flight.deaths >= MAX_DEATHS
            for landing in self.land(_given_up(flight.request))
        ]

    def is_overdue(self, now_s: float) -> bool:
        return any(flight.is_overdue(now_s) for flight in self._flights.values())

    def _may_go(self, request: Request) -> bool:
        sent = [flight for flight in self._flights.values() if flight.sent_s is not None]
        if sent and any(flight.deaths for flight in self._flights.values()):
            return False
        alike = sum(type(flight.request) is type(request) for flight in sent)
        if isinstance(request, LoadModel):
            return alike < 1
        return alike < MAX_BATCHES and request.serving_id in self.here

    def _land_load(self, serving_id: str, answer: Answer) -> list[Landing]:
        if isinstance(answer, Finished):
            self.here.add(serving_id)
            return []
        self._models.pop(serving_id, None)
        stranded = [n for n, flight in self._flights.items() if _runs(flight.request, serving_id)]
        return [Landing(self._flights.pop(n).request, attrs.evolve(answer, id=n)) for n in stranded]

    def _load_again(self) -> None:
        for serving_id in sorted(self.here):
            self.add(self._models[serving_id])
        self.here.clear()


def _runs(request: Request, serving_id: str) -> bool:
    return isinstance(request, EncodeBatch) and request.serving_id == serving_id


def _given_up(request: Request) -> Failed:
    died = f"the backend process ended {MAX_DEATHS} times while it"
    if isinstance(request, LoadModel):
        return Failed(
            id=request.id, error_code=ErrorCode.MODEL_LOAD_FAILED, error=f"{died} loaded this", permanent=False
        )
    return GivenUp(id=request.id, error_code=ErrorCode.INFERENCE_ERROR, error=f"{died} ran this", permanent=True)
