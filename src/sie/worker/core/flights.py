"""Which requests does the backend child still owe an answer, and what becomes of them when it dies? Sans-IO.

A load is sent again to the next child, and so is that of every model that was here. A batch that was with the child
lands as Crashed: whoever asked knows its items, and runs them alone. One that was not yet sent waits for its model.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.ipc import EncodeBatch, Failed, Finished, LoadModel, Request, UnloadModel

MAX_DEATHS = 3
MAX_BATCHES = 2
"""Batches with the child at a time: one computes while the next one's bytes arrive."""
BATCH_LIMIT_S = 120.0
LOAD_LIMIT_S = 1800.0
"""A child that owes an answer for longer is stuck, and is replaced."""

Answer: TypeAlias = Finished | Failed


@attrs.frozen(kw_only=True)
class Crashed(Failed):
    """No child's answer: the child ended while it had the batch. Which of its items did that is not known."""


@attrs.frozen(kw_only=True)
class Left(Failed):
    """No child's answer: the model is not in the backend any more, and the batch did not run."""


@attrs.frozen(kw_only=True)
class GivenUp(Failed):
    """No child's answer: the item took MAX_DEATHS children with it."""


@attrs.define(eq=False)
class Flight:
    """One request on its way. `sent_s` is None while it is not with a child. One that is alone goes with no other."""

    request: Request
    is_alone: bool = False
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

    def add(self, request: Request, *, alone: bool = False) -> int:
        """Take a request under a new id, which is returned; the one in `request` is not looked at."""
        number = next(self._ids)
        numbered = attrs.evolve(request, id=number)
        self._flights[number] = Flight(numbered, alone)
        if isinstance(numbered, LoadModel):
            self._models[numbered.serving_id] = numbered
        elif isinstance(numbered, UnloadModel):
            self._models.pop(numbered.serving_id, None)
        return number

    def next_to_send(self, now_s: float) -> Request | None:
        """The oldest request that the child may have now; it counts as sent."""
        for flight in self._flights.values():
            if flight.sent_s is None and self._may_go(flight):
                flight.sent_s = now_s
                return flight.request
        return None

    def land(self, answer: Answer) -> list[Landing]:
        """What an answer of the child ends: its own request, and with a load that failed all that waited for it."""
        flight = self._flights.pop(answer.id, None)
        if flight is None:
            return []
        landed = [Landing(flight.request, answer)]
        match flight.request:
            case LoadModel(serving_id=serving_id):
                landed += self._land_load(serving_id, answer)
            case UnloadModel(serving_id=serving_id):
                self.here.discard(serving_id)
            case EncodeBatch():
                pass
        return landed

    def die(self) -> list[Landing]:
        """The child is gone with all that it held."""
        landed = [landing for flight in self._taken_along() for landing in self._bury(flight)]
        self._load_again()
        return landed + self._strand(lambda batch: batch.serving_id not in self._models)

    def abandon(self) -> list[Landing]:
        """No next child comes here for now: everything lands, to be done elsewhere."""
        landed = self._strand(lambda _: True)
        loads = [flight.request for flight in self._flights.values() if isinstance(flight.request, LoadModel)]
        return landed + [landing for load in loads for landing in self.land(_elsewhere(load))]

    def is_overdue(self, now_s: float) -> bool:
        return any(flight.is_overdue(now_s) for flight in self._flights.values())

    def _may_go(self, flight: Flight) -> bool:
        sent = [other for other in self._flights.values() if other.sent_s is not None]
        if sent and any(other.is_alone or other.deaths for other in self._flights.values()):
            return False
        match flight.request:
            case EncodeBatch(serving_id=serving_id):
                batches = sum(isinstance(other.request, EncodeBatch) for other in sent)
                return batches < MAX_BATCHES and serving_id in self.here
            case LoadModel():
                return all(isinstance(other.request, EncodeBatch) for other in sent)
            case UnloadModel(serving_id=serving_id):
                return all(isinstance(other.request, EncodeBatch) for other in sent) and not self._has_batch(serving_id)

    def _has_batch(self, serving_id: str) -> bool:
        return any(_runs(flight.request, serving_id) for flight in self._flights.values())

    def _taken_along(self) -> list[Flight]:
        """What was with the child, and the unloads: there is nothing left to unload."""
        flights = self._flights.values()
        return [f for f in flights if f.sent_s is not None or isinstance(f.request, UnloadModel)]

    def _bury(self, flight: Flight) -> list[Landing]:
        flight.sent_s = None
        flight.deaths += 1
        match flight.request:
            case EncodeBatch() as batch:
                return self.land(_crashed(batch))
            case UnloadModel(id=number):
                return self.land(Finished(id=number))
            case LoadModel() as load:
                return self.land(_given_up(load)) if flight.deaths >= MAX_DEATHS else []

    def _land_load(self, serving_id: str, answer: Answer) -> list[Landing]:
        if isinstance(answer, Finished):
            self.here.add(serving_id)
            return []
        self._models.pop(serving_id, None)
        self.here.discard(serving_id)
        stranded = [n for n, flight in self._flights.items() if _runs(flight.request, serving_id)]
        return [Landing(self._flights.pop(n).request, attrs.evolve(answer, id=n)) for n in stranded]

    def _strand(self, is_stranded: Callable[[EncodeBatch], bool]) -> list[Landing]:
        batches = [flight.request for flight in self._flights.values() if isinstance(flight.request, EncodeBatch)]
        return [landing for batch in batches if is_stranded(batch) for landing in self.land(left(batch.id))]

    def _load_again(self) -> None:
        for serving_id in sorted(self.here):
            if serving_id in self._models and not self._is_coming(serving_id):
                self.add(attrs.evolve(self._models[serving_id], room_bytes=None))
        self.here.clear()

    def _is_coming(self, serving_id: str) -> bool:
        loads = (flight.request for flight in self._flights.values() if isinstance(flight.request, LoadModel))
        return any(load.serving_id == serving_id for load in loads)


def left(number: int) -> Left:
    return Left(id=number, error_code=ErrorCode.MODEL_LOADING, error="the model left the backend", permanent=False)


def given_up(item: str) -> GivenUp:
    words = f"the backend process ended {MAX_DEATHS} times while it ran {item}"
    return GivenUp(id=0, error_code=ErrorCode.INFERENCE_ERROR, error=words)


def _runs(request: Request, serving_id: str) -> bool:
    return isinstance(request, EncodeBatch) and request.serving_id == serving_id


def _crashed(batch: EncodeBatch) -> Crashed:
    words = "the backend process ended while it ran this"
    return Crashed(id=batch.id, error_code=ErrorCode.INFERENCE_ERROR, error=words, permanent=False)


def _given_up(load: LoadModel) -> Failed:
    words = f"the backend process ended {MAX_DEATHS} times while it loaded this"
    return _load_failed(load, words, "ENGINE")


def _elsewhere(load: LoadModel) -> Failed:
    return _load_failed(load, "the device of this model does not come up", "PLACEMENT")


def _load_failed(load: LoadModel, words: str, error_class: str) -> Failed:
    code = ErrorCode.MODEL_LOAD_FAILED
    return Failed(id=load.id, error_code=code, error=words, permanent=False, error_class=error_class)
