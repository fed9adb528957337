"""Seeded bugs: each swaps one named function of the services for a wrong one, for as long as a run.

The only place where anything is swapped. Each breaks a rule that the simulation must notice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from sie.bus.api import Message
from sie.domain.ids import RequestId
from sie.gateway.core.collect import Collected, Collector
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.pending import Pending, Waiting
from sie.gateway.dispatch.publisher import Publisher
from sie.wire.ipc import Failed, Finished, ItemOutcome
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import WorkItem
from sie.worker.consume import dispatcher, intake
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.wakeup import Wakeup
from sie.worker.core.accept import Run, asked_name
from sie.worker.core.flights import Flights, Landing
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.models import ModelStates


@attrs.frozen
class Mutant:
    """`owner.name` is swapped for `wrong`."""

    about: str
    owner: object
    name: str
    wrong: object

    @contextmanager
    def swapped(self) -> Iterator[None]:
        right = vars(self.owner)[self.name]
        setattr(self.owner, self.name, self.wrong)
        try:
            yield
        finally:
            setattr(self.owner, self.name, right)


def ack_first(self: Dispatcher, held: Held, reply_subject: str, result: WorkResult) -> None:
    self.answers.done(held.delivery)
    self.answers.publish(reply_subject, result)
    self.held_work.release(held)
    self.room.ring()


@contextmanager
def never_removed(self: Pending, request: RequestId, total: int) -> Iterator[Waiting]:
    waiting = Waiting(Collector(request, total))
    self._waiting[request] = waiting
    yield waiting


def by_arrival(self: Collector, result: WorkResult) -> bool:
    if self.ending is None and result.request_id == self.request_id:
        self._results[len(self._results)] = result
        if len(self._results) == self.total:
            self.ending = Collected(tuple(self._results[index] for index in range(self.total)))
    return self.ending is not None


def to_anybody(self: Inbox, message: Message) -> None:
    waiting = next(iter(self.pending._waiting.values()), None)
    if waiting is not None:
        waiting.receive(attrs.evolve(decode_result(message.data), request_id=waiting.collector.request_id))


ENSURED: list[Wakeup] = []
"""One of each worker that has ensured its consumer."""


async def ensured_once(self: Intake) -> None:
    if not self.state.has_consumer and self.room not in ENSURED:
        ENSURED.append(self.room)
        await self.source.ensure()
    self._set_consumer(present=True)


def any_hash(item: WorkItem, *_: object, now_s: float) -> Run:
    return Run(asked_name(item))


def forgets_the_dead(self: Flights) -> list[Landing]:
    for number in [n for n, flight in self._flights.items() if flight.sent_s is not None]:
        del self._flights[number]
    self._load_again()
    return []


def reversed_outcomes(answer: Finished | Failed, count: int) -> Sequence[ItemOutcome]:
    if isinstance(answer, Finished):
        return answer.outcomes[::-1]
    return (ItemOutcome(error_code=answer.error_code, error=answer.error),) * count


@contextmanager
def keeps_listening(self: Publisher, waiting: Waiting, _: object) -> Iterator[str]:
    yield self.bus.correlate(lambda _message: waiting.acknowledge()).subject


def always_expired(item: WorkItem, *, now_s: float) -> bool:
    return True


def always_tried_again(self: ModelStates, serving_id: str, failure: Failed, *, now_s: float) -> None:
    self._end(serving_id)
    self._wanted.add(serving_id)


async def for_ever(self: Waiting, *, ack_s: float, timeout_s: float) -> object:
    await self.over.wait()
    return self.collector.ending


def never_released(self: HeldWork, held: Held) -> None:
    return


MUTANTS: Mapping[str, Mutant] = {
    "ack before publish": Mutant("an item is acknowledged before its result", Dispatcher, "_settle", ack_first),
    "collector kept": Mutant("a collector outlives its request", Pending, "open", never_removed),
    "by arrival": Mutant("results are kept by arrival, not by index", Collector, "receive", by_arrival),
    "any request": Mutant("a result is taken without a look at its request", Inbox, "receive", to_anybody),
    "ensured once": Mutant("the consumer is not made again after a restart", Intake, "_ensure", ensured_once),
    "any hash": Mutant("items of another configuration are run", intake, "judge_delivery", any_hash),
    "dead batch": Mutant("the batch of a dead child is forgotten", Flights, "die", forgets_the_dead),
    "mixed items": Mutant("results go to the wrong items of a batch", dispatcher, "outcomes_of", reversed_outcomes),
    "correlation kept": Mutant("a reply subject outlives its request", Publisher, "listening", keeps_listening),
    "all expired": Mutant("work in time is dropped as late", dispatcher, "is_expired", always_expired),
    "load again": Mutant("a load that failed for good is tried again", ModelStates, "fail", always_tried_again),
    "no timeout": Mutant("a request waits for ever", Waiting, "wait", for_ever),
    "held for ever": Mutant("finished work stays on the books", HeldWork, "release", never_released),
}
