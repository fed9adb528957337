"""What a worker must not do: each function stands in for a right one while a mutant is on."""

from collections.abc import Sequence
from typing import NoReturn

import attrs
import trio

from sie.bus.api import Message
from sie.bus.jetstream import Delivery
from sie.bus.pulls import PullLedger
from sie.wire.ipc import Failed, Finished, ItemOutcome
from sie.wire.result import WorkResult
from sie.wire.work import WorkItem
from sie.worker.consume.aftermath import Aftermath, Desk
from sie.worker.consume.answers import Answers
from sie.worker.consume.cancels import Cancels
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.lane import LaneWork
from sie.worker.consume.payloads import Fetched
from sie.worker.consume.wakeup import Wakeup
from sie.worker.core.accept import Run, asked_name
from sie.worker.core.flights import Flights, Landing
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.memory import Memory
from sie.worker.core.models import ModelStates
from sie.worker.core.state import WorkerState
from sie.worker.heartbeat import Heart

RIGHT_HOLD = Intake._hold
RIGHT_FAIL = ModelStates.fail
RIGHT_BEAT = Heart.beat_forever


def ack_first(self: Dispatcher, held: Held, reply_subject: str, result: WorkResult) -> None:
    self.answers.done(held.delivery)
    self.answers.publish(reply_subject, result)
    self.held_work.release(held)
    self.room.ring()


ENSURED: list[Wakeup] = []
"""One of each worker that has ensured its consumer."""


async def ensured_once(self: Intake) -> None:
    if self.consumer.name not in self.state.consumers and self.room not in ENSURED:
        ENSURED.append(self.room)
        await self.source.ensure()
    self._set_consumer(present=True)


def any_hash(item: WorkItem, *_: object, is_cancelled: bool, now_s: float) -> Run:
    return Run(asked_name(item))


def forgets_the_dead(self: Flights) -> list[Landing]:
    for number in [n for n, flight in self._flights.items() if flight.sent_s is not None]:
        del self._flights[number]
    self._load_again()
    return []


async def blames_all(self: Aftermath, desk: Desk, batch: tuple[Held, ...]) -> None:
    for held in batch:
        await self._give_up(desk, held)


def no_budget(self: Memory, device: int) -> int | None:
    return None


def reversed_outcomes(answer: Finished | Failed, count: int) -> Sequence[ItemOutcome]:
    if isinstance(answer, Finished):
        return answer.outcomes[::-1]
    return (ItemOutcome(error_code=answer.error_code, error=answer.error),) * count


def always_expired(item: WorkItem, *, now_s: float) -> bool:
    return True


def always_tried_again(self: ModelStates, serving_id: str, failure: Failed, *, now_s: float) -> None:
    self._end(serving_id)
    self._wanted.add(serving_id)


def never_released(self: HeldWork, held: Held) -> None:
    return


def never_acks(self: Dispatcher, held: Held, reply_subject: str, result: WorkResult) -> None:
    if self.answers.publish(reply_subject, result):
        self._release(held)


def before_its_consumer(self: WorkerState) -> bool:
    return self.snapshot is not None and self.has_backend and self.models.has_preloaded()


BEFORE_ITS_CONSUMER = property(before_its_consumer)


def asks_for_more(self: PullLedger) -> int:
    return 2 * self.capacity if not self.asked and not self.buffered else 0


def never_full(self: HeldWork) -> bool:
    return False


NEVER_FULL = property(never_full)


def discards(self: Answers, delivery: Delivery, *, delay_s: float = 0.0) -> None:
    self.discard(delivery)


def holds_and_gives_back(self: Intake, delivery: Delivery, fetched: Fetched, serving_id: str) -> None:
    RIGHT_HOLD(self, delivery, fetched, serving_id)
    self.answers.give_back(delivery)


def keeps_silent(self: LaneWork, deliveries: tuple[Held, ...], *, delay_s: float = 0.0) -> None:
    for held in deliveries:
        self.held_work.release(held)


async def goes_on(self: LaneWork, stop: trio.Event) -> None:
    async with trio.open_nursery() as batches:
        batches.start_soon(self._renew_forever)
        for intake in self.intakes:
            batches.start_soon(intake.pull_forever)
        batches.start_soon(self.dispatcher.work_forever, batches)


async def beats_on(self: Heart) -> NoReturn:
    trio.lowlevel.spawn_system_task(RIGHT_BEAT, self)
    await trio.sleep_forever()


def never_expires(self: PullLedger, *, now: float, session: int) -> bool:
    self.deadline = float("inf")
    return False


def hears_no_cancel(self: Cancels, message: Message) -> None:
    return


def keeps(_: Dispatcher) -> None:
    return


def rests_for_good(self: ModelStates, serving_id: str, failure: Failed, *, now_s: float) -> None:
    RIGHT_FAIL(self, serving_id, attrs.evolve(failure, permanent=True), now_s=now_s)
