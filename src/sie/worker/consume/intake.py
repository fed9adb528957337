"""The intake of one queue: deliveries are pulled while there is room, and each is judged as it comes (§2, §16.2).

What is to be run is held; everything else is answered, given back or dropped here. A worker has two, its lane's and its
own (§8.2), which share what there is of room.
"""

import logging
from collections.abc import Callable
from typing import NoReturn, assert_never

import attrs
import trio

from sie.bus.api import BusError, Sessions
from sie.bus.jetstream import ConsumerLost, ConsumerSpec, Delivery, Puller
from sie.domain.errors import ErrorCode
from sie.domain.subjects import is_direct
from sie.runtime.retrying import Backoff
from sie.runtime.service import Forever
from sie.runtime.world import Machine
from sie.wire.payload import ref_of
from sie.wire.work import WorkItem
from sie.worker.consume.answers import Answers
from sie.worker.consume.fetches import Fetches
from sie.worker.consume.payloads import Fetched
from sie.worker.consume.source import WorkSource
from sie.worker.consume.wakeup import Wakeup
from sie.worker.core.accept import (
    AckDrop,
    Caller,
    Garbled,
    Nak,
    Refuse,
    Run,
    Verdict,
    caller,
    inputs_of,
    judge_delivery,
    read_delivery,
)
from sie.worker.core.batching import Candidate, estimate_tokens
from sie.worker.core.cancels import Tombstones
from sie.worker.core.gate import Admitted, Gate, Standing
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.results import Course, error_of
from sie.worker.core.state import WorkerState

log = logging.getLogger(__name__)

RETRY = Backoff(initial_s=0.1, cap_s=5.0)


@attrs.frozen(kw_only=True)
class Intake:
    """`arrived` rings after each burst, `room` when less is held, `pools_told` after each poll of the pools.

    `changed` is called when the state is new, `ask_pools` when what is known of the pools did not let an item in.
    """

    state: WorkerState
    gate: Gate
    tombstones: Tombstones
    held_work: HeldWork
    answers: Answers
    fetches: Fetches
    sessions: Sessions
    source: WorkSource
    consumer: ConsumerSpec
    machine: Machine
    changed: Callable[[], None]
    ask_pools: Callable[[], None]
    arrived: Wakeup
    room: Wakeup = attrs.field(factory=Wakeup)
    pools_told: Wakeup = attrs.field(factory=Wakeup)

    @property
    def tasks(self) -> tuple[Forever, ...]:
        return (self.pull_forever, *self.fetches.tasks(self._take_fetched))

    async def pull_forever(self) -> NoReturn:
        delays = RETRY.delays()
        while True:
            await self.sessions.wait_session()
            try:
                await self._ensure()
                delays = RETRY.delays()
                while not self._may_pull():
                    await self.pools_told.wait()
                await self._pull_until_full()
            except BusError as error:
                log.warning("a queue is lost", extra={"consumer": self.consumer.name, "error": str(error)})
                self._set_consumer(present=False)
                if isinstance(error, ConsumerLost):
                    self.held_work.orphan(is_direct=is_direct(self.consumer.filter_subject))
                await trio.sleep(next(delays))
            while not self.held_work.has_room or self.fetches.is_full:
                await self.room.wait()

    async def _ensure(self) -> None:
        if self.consumer.name not in self.state.consumers:
            await self.source.ensure()
            self._set_consumer(present=True)

    async def _pull_until_full(self) -> None:
        """What has come is taken beyond what there is room for: a lease is kept there and nowhere else."""
        async with self.source.open() as puller:
            while not (self.held_work.is_full or self.fetches.is_full) and self._may_pull():
                self._take(await puller.receive())
                self._take_buffered(puller)
                self.arrived.ring()

    def _may_pull(self) -> bool:
        return self.gate.may_pull(now_s=trio.current_time())

    def _take_buffered(self, puller: Puller) -> None:
        while (delivery := puller.receive_nowait()) is not None:
            self._take(delivery)

    def _take(self, delivery: Delivery) -> None:
        match read_delivery(delivery.data):
            case Garbled(problem, answer_to):
                self._refuse_garbled(delivery, problem, answer_to)
            case WorkItem() as item:
                self._judge(delivery, Fetched(item))

    def _take_fetched(self, delivery: Delivery, item: WorkItem, found: Fetched | Refuse | Nak) -> None:
        """Meanwhile it may have been cancelled, or belong elsewhere."""
        match found:
            case Fetched():
                self._judge(delivery, found)
            case Nak() | Refuse():
                self._act(delivery, Fetched(item), found)
            case other:
                assert_never(other)
        self.room.ring()
        self.arrived.ring()

    def _judge(self, delivery: Delivery, fetched: Fetched) -> None:
        item = fetched.work
        standing = self.gate.judge(item.admission_pool, now_s=trio.current_time())
        if not isinstance(standing, Admitted):
            self.ask_pools()
        self._act(delivery, fetched, self._verdict(delivery, item, standing))

    def _act(self, delivery: Delivery, fetched: Fetched, verdict: Verdict) -> None:
        item = fetched.work
        match verdict:
            case Run() if ref_of(item) is not None:
                self.fetches.add(delivery, item)
            case Run(serving_id):
                self._hold(delivery, fetched, serving_id)
            case AckDrop(reason):
                log.debug("work is dropped", extra={"item": item.work_item_id, "reason": reason})
                self.answers.done(delivery)
            case Nak(delay_s, reason):
                log.debug("work is given back", extra={"item": item.work_item_id, "reason": reason})
                self.answers.give_back(delivery, delay_s=delay_s)
            case Refuse(code, message):
                self._refuse(delivery, caller(item), code, message, self._queue_ms(item))

    def _verdict(self, delivery: Delivery, item: WorkItem, standing: Standing) -> Verdict:
        by_name = is_direct(delivery.subject)
        return judge_delivery(
            item,
            self.state.registry,
            self.state.lane,
            standing,
            is_cancelled=self.tombstones.covers(item, is_direct=by_name, now_s=trio.current_time()),
            now_s=self.machine.unix_s(),
        )

    def _hold(self, delivery: Delivery, fetched: Fetched, serving_id: str) -> None:
        item = fetched.work
        found = self.state.registry.find(serving_id)
        longest = found.model.max_sequence_length if found else None
        tokens = sum(estimate_tokens(one, longest) for one in inputs_of(item))
        request = item.router_id, item.request_id
        candidate = Candidate(self.held_work.next_order(), serving_id, item.operation, tokens, request)
        size, took_ms = fetched.payload_bytes, fetched.payload_fetch_ms
        held = Held(item, candidate, delivery, trio.current_time(), self._queue_ms(item), size, took_ms)
        spare = self.held_work.add(held)
        if spare is not None:
            self.answers.done(spare)

    def _refuse_garbled(self, delivery: Delivery, problem: str, answer_to: Caller | None) -> None:
        log.error("a message is no work item", extra={"stream_seq": delivery.stream_seq, "problem": problem})
        if answer_to is None:
            self.answers.discard(delivery)
        else:
            self._refuse(delivery, answer_to, ErrorCode.INVALID_REQUEST, f"not a work item: {problem}", 0.0)

    def _refuse(self, delivery: Delivery, to: Caller, code: ErrorCode, message: str, queue_ms: float) -> None:
        by_name = is_direct(delivery.subject)
        course = Course(self.state.worker, self.state.config_hash, queue_ms, 0.0, is_direct=by_name)
        self.answers.answer(delivery, to.reply_subject, error_of(to, code, message, course))

    def _queue_ms(self, item: WorkItem) -> float:
        """Never negative: the gateway's clock is another one."""
        return max(0.0, (self.machine.unix_s() - item.timestamp) * 1000)

    def _set_consumer(self, *, present: bool) -> None:
        name, consumers = self.consumer.name, self.state.consumers
        consumers.add(name) if present else consumers.discard(name)
        self.changed()
