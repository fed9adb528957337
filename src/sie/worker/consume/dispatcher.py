"""The dispatcher: models are loaded when they are due, and what waits here goes to the backend in batches.

While the backend computes, work gathers; at most two batches are with it, so that it never waits for the next one.
"""

import logging
from typing import NoReturn

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.runtime.world import Machine
from sie.wire.ipc import Failed
from sie.wire.result import WorkResult
from sie.worker.children import Child
from sie.worker.consume.answers import Answers
from sie.worker.consume.burial import Burial
from sie.worker.consume.wakeup import Wakeup, Wakeups
from sie.worker.core.accept import HASH_NAK_S, POOL_NAK_S, caller, is_expired
from sie.worker.core.flights import MAX_BATCHES, Answer, GivenUp
from sie.worker.core.gate import Admitted, Gate
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.loading import load_request
from sie.worker.core.models import Refused
from sie.worker.core.results import Course, encode_item, error_of, outcomes_of, result_of
from sie.worker.core.state import WorkerState

log = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class Dispatcher:
    """`wake` rings when work has come, a batch has ended, a model has changed, or after a poll; `room` as work ends."""

    state: WorkerState
    gate: Gate
    held_work: HeldWork
    answers: Answers
    child: Child
    burial: Burial
    machine: Machine
    wake: Wakeup
    room: Wakeups
    _batches: int = attrs.field(default=0, init=False)

    async def work_forever(self, nursery: trio.Nursery) -> NoReturn:
        """Batches run in `nursery`, which outlives this loop when the worker drains."""
        while True:
            self._give_back_foreign()
            self._give_back_unassigned()
            self._refuse_failed()
            self._start_loads()
            self._start_batches(nursery)
            with trio.move_on_at(self.state.models.next_due_s(now_s=trio.current_time())):
                await self.wake.wait()

    def _give_back_foreign(self) -> None:
        """What was routed by a configuration that this worker has left waits for one that holds it (§2)."""
        ours = self.state.config_hash
        for held in self.held_work.waiting():
            if held.work.bundle_config_hash not in ("", ours):
                self._give_back(held, HASH_NAK_S)

    def _give_back_unassigned(self) -> None:
        """What was admitted to a pool that has since left this worker waits for one that it assigns (§16.3)."""
        now_s = trio.current_time()
        for held in self.held_work.waiting():
            if not isinstance(self.gate.judge(held.work.admission_pool, now_s=now_s), Admitted):
                self._give_back(held, POOL_NAK_S)

    def _give_back(self, held: Held, delay_s: float) -> None:
        if held.is_lent:
            self.answers.give_back(held.delivery, delay_s=delay_s)
        self._release(held)

    def _refuse_failed(self) -> None:
        """Asking for a model also makes it wanted, so that its first item begins its load."""
        for serving_id in dict.fromkeys(held.candidate.serving_id for held in self.held_work.waiting()):
            readiness = self.state.models.judge(serving_id, now_s=trio.current_time())
            if isinstance(readiness, Refused):
                self._refuse_all(serving_id, readiness)

    def _start_loads(self) -> None:
        for serving_id in self.state.models.take_due(now_s=trio.current_time()):
            request = load_request(self.state.registry, serving_id)
            if request is not None:
                self.child.load_nowait(request)
            else:
                log.error("a model to load is not in the registry", extra={"model": serving_id})
                self.state.models.fail(serving_id, _unknown(serving_id), now_s=trio.current_time())
                self.wake.ring()

    def _refuse_all(self, serving_id: str, refused: Refused) -> None:
        for held in self.held_work.waiting():
            if held.candidate.serving_id == serving_id:
                to = caller(held.work)
                result = error_of(
                    to, refused.code, refused.message, self._course(held), retry_after_s=refused.retry_after_s
                )
                self._settle(held, to.reply_subject, result)

    def _start_batches(self, nursery: trio.Nursery) -> None:
        while self._batches < MAX_BATCHES:
            taken = self.held_work.take_batch(self.state.models.loaded, self.state.budgets)
            if not taken:
                return
            batch = self._drop_expired(taken)
            if batch:
                self._batches += 1
                nursery.start_soon(self._run_batch, batch)

    def _drop_expired(self, batch: tuple[Held, ...]) -> tuple[Held, ...]:
        now_s = self.machine.unix_s()
        for held in batch:
            if is_expired(held.work, now_s=now_s):
                log.debug(
                    "work is dropped", extra={"item": held.work.work_item_id, "reason": "its deadline has passed"}
                )
                if held.is_lent:
                    self.answers.done(held.delivery)
                self._release(held)
        return tuple(held for held in batch if not is_expired(held.work, now_s=now_s))

    async def _run_batch(self, batch: tuple[Held, ...]) -> None:
        items = tuple(encode_item(held.work) for held in batch)
        under = self.state.config_hash  # what it is run by, whatever is installed meanwhile
        answer = await self.child.encode(batch[0].candidate.serving_id, items)
        self._batches -= 1
        if isinstance(answer, GivenUp):
            self.wake.ring()  # the child is free for others meanwhile
            await self.burial.file(batch, answer)
        self._answer_batch(batch, answer, under)
        self.wake.ring()

    def _answer_batch(self, batch: tuple[Held, ...], answer: Answer, under: str) -> None:
        for held, outcome in zip(batch, outcomes_of(answer, len(batch)), strict=True):
            to = caller(held.work)
            course = attrs.evolve(self._course(held), config_hash=under)
            self._settle(held, to.reply_subject, result_of(to, outcome, answer, course))

    def _settle(self, held: Held, reply_subject: str, result: WorkResult) -> None:
        if not self.answers.publish(reply_subject, result, accepts_chunks=held.work.accepts_result_chunks):
            self.held_work.owe(held)
            return
        if held.is_lent:
            self.answers.done(held.delivery)
        self._release(held)

    def _release(self, held: Held) -> None:
        self.held_work.release(held)
        self.room.ring()

    def _course(self, held: Held) -> Course:
        processing_ms = (trio.current_time() - held.pulled_s) * 1000
        return Course(self.state.worker, self.state.config_hash, held.queue_ms, processing_ms, is_direct=held.is_direct)


def _unknown(serving_id: str) -> Failed:
    message = f"no model {serving_id!r} is in the registry"
    return Failed(id=0, error_code=ErrorCode.MODEL_NOT_FOUND, error=message, permanent=True)
