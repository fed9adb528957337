"""The dispatcher: models are loaded when they are due, and what waits here goes to the backend in batches.

While the backend computes, work gathers; the next batch goes just before it is needed (`core.waiting`), so that at most
two are with the backend, and it never waits.
"""

import logging
from typing import NoReturn

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.runtime.world import Machine
from sie.wire.ipc import Failed, Finished
from sie.wire.result import WorkResult
from sie.worker.children import Child
from sie.worker.consume.aftermath import Aftermath, Batch
from sie.worker.consume.answers import Answers
from sie.worker.consume.wakeup import Wakeup, Wakeups
from sie.worker.core.accept import HASH_NAK_S, POOL_NAK_S, caller, is_expired
from sie.worker.core.flights import MAX_BATCHES, Answer
from sie.worker.core.gate import Admitted, Gate
from sie.worker.core.held_work import Held, HeldWork
from sie.worker.core.loading import load_request
from sie.worker.core.readiness import Due, Refused
from sie.worker.core.results import Course, encode_item, error_of, outcomes_of, result_of
from sie.worker.core.state import WorkerState
from sie.worker.core.waiting import Running

log = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class Dispatcher:
    """`wake` rings when work has come, a batch has ended, a model has changed, or after a poll; `room` as work ends."""

    state: WorkerState
    gate: Gate
    held_work: HeldWork
    answers: Answers
    child: Child
    aftermath: Aftermath
    machine: Machine
    wake: Wakeup
    room: Wakeups

    async def work_forever(self, nursery: trio.Nursery) -> NoReturn:
        """Batches run in `nursery`, which outlives this loop when the worker drains."""
        while True:
            self._give_back_foreign()
            self._give_back_unassigned()
            self._refuse_failed()
            self._start_loads()
            due_s = self._start_batches(nursery)
            with trio.move_on_at(min(due_s, self.state.models.next_due_s(now_s=trio.current_time()))):
                await self.wake.wait()

    def _give_back_foreign(self) -> None:
        """What was routed by a configuration that this worker has left waits for one that holds it (§2)."""
        ours = self.state.config_hash
        for held in self.held_work.waiting_under(lambda terms: terms.config_hash not in ("", ours)):
            self.give_back(held, HASH_NAK_S)

    def _give_back_unassigned(self) -> None:
        """What was admitted to a pool that has since left this worker waits for one that it assigns (§16.3)."""
        now_s = trio.current_time()
        gate = self.gate
        for held in self.held_work.waiting_under(
            lambda terms: not isinstance(gate.judge(terms.admission_pool, now_s=now_s), Admitted)
        ):
            self.give_back(held, POOL_NAK_S)

    def give_back(self, held: Held, delay_s: float) -> None:
        if held.is_lent:
            self.answers.give_back(held.delivery, delay_s=delay_s)
        self._release(held)

    def _refuse_failed(self) -> None:
        """Asking for a model also makes it wanted, so that its first item begins its load."""
        for serving_id in self.held_work.models():
            readiness = self.state.models.judge(serving_id, now_s=trio.current_time())
            if isinstance(readiness, Refused):
                self._refuse_all(serving_id, readiness)

    def _start_loads(self) -> None:
        """And the unloads that make room for them."""
        models, now_s = self.state.models, trio.current_time()
        if not self.state.has_backend or not models.has_due(now_s=now_s):
            return
        due = models.take_due(now_s=now_s, waiting=self.held_work.oldest())
        for serving_id in due.unloads:
            self.child.unload_nowait(serving_id)
        for serving_id in due.loads:
            self._start_load(serving_id)
        if due != Due():
            self.aftermath.changed()

    def _start_load(self, serving_id: str) -> None:
        memory = self.state.models.memory
        request = load_request(self.state.registry, serving_id)
        if request is not None:
            limited = attrs.evolve(request, room_bytes=memory.room_bytes(serving_id))
            self.child.load_nowait(limited, device=memory.device_of(serving_id))
        else:
            log.error("a model to load is not in the registry", extra={"model": serving_id})
            self.state.models.fail(serving_id, _unknown(serving_id), now_s=trio.current_time())
            self.wake.ring()

    def _refuse_all(self, serving_id: str, refused: Refused) -> None:
        for held in self.held_work.waiting():
            if held.candidate.serving_id == serving_id:
                to = caller(held.work)
                course, wait_s, load = self._course(held, self.state.config_hash), refused.retry_after_s, refused.load
                result = error_of(to, refused.code, refused.message, course, retry_after_s=wait_s, load=load)
                self._settle(held, to.reply_subject, result)

    def _start_batches(self, nursery: trio.Nursery) -> float:
        """Returns when the next one is to go, unless something changes before."""
        models, next_s = self.state.models, float("inf")
        ready = models.runnable(MAX_BATCHES)
        while (outlook := self.held_work.outlook(ready, self.state.budgets)) is not None:
            device = models.memory.device_of(outlook.kind[0])
            due_s = self.held_work.due_s(outlook, device)
            if due_s <= trio.current_time():
                batch = self._part_suspects(nursery, self.held_work.take_batch(ready, self.state.budgets))
                if batch:
                    nursery.start_soon(self._run_batch, batch, self._begun(batch, device))
                    ready = models.runnable(MAX_BATCHES)
            else:
                next_s = min(next_s, due_s)
                ready = ready - set(models.memory.on(device))
        return next_s

    def _begun(self, batch: Batch, device: int) -> Running:
        now_s, tokens = trio.current_time(), sum(held.candidate.tokens for held in batch)
        self.state.models.memory.begin(batch[0].candidate.serving_id, now_s=now_s)
        return self.held_work.pace.begin(batch[0].candidate.kind, device, tokens=tokens, now_s=now_s)

    def _part_suspects(self, nursery: trio.Nursery, taken: Batch) -> Batch:
        """What was with a child that died runs alone, and the rest together."""
        batch = self._drop_expired(taken)
        suspects = tuple(filter(self.aftermath.crashes.is_suspect, batch))
        if not suspects:
            return batch
        nursery.start_soon(self._run_alone, suspects)
        return tuple(held for held in batch if held not in suspects)

    def _drop_expired(self, batch: Batch) -> Batch:
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

    async def _run_batch(self, batch: Batch, running: Running) -> None:
        items = tuple(encode_item(held.work) for held in batch)
        under = self.state.config_hash  # what it is run by, whatever is installed meanwhile
        answer = await self.child.encode(batch[0].candidate.serving_id, items)
        tokenizing_s = answer.tokenization_ms / 1000 if isinstance(answer, Finished) else None
        self.state.models.memory.end(batch[0].candidate.serving_id)
        self.held_work.pace.end(running, tokenizing_s=tokenizing_s, now_s=trio.current_time())
        self.wake.ring()  # the child is free for others, whatever is still to be done for these
        await self.aftermath.settle(self, batch, answer, under)
        self.wake.ring()

    async def _run_alone(self, batch: Batch) -> None:
        await self.aftermath.run_alone(self, batch)
        self.wake.ring()

    def keep_runnable(self, batch: Batch) -> Batch:
        """Before another run: their configuration may have gone meanwhile, and their time."""
        ours = self.state.config_hash
        for held in batch:
            if held.work.bundle_config_hash not in ("", ours):
                self.give_back(held, HASH_NAK_S)
        return self._drop_expired(tuple(held for held in batch if held.work.bundle_config_hash in ("", ours)))

    def tell(self, batch: Batch, answer: Answer, under: str) -> None:
        for held, outcome in zip(batch, outcomes_of(answer, len(batch)), strict=True):
            to = caller(held.work)
            self._settle(held, to.reply_subject, result_of(to, outcome, answer, self._course(held, under)))

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

    def _course(self, held: Held, config_hash: str) -> Course:
        processing_ms = (trio.current_time() - held.pulled_s) * 1000
        return Course(
            self.state.worker,
            config_hash,
            held.queue_ms,
            processing_ms,
            held.payload_fetch_ms,
            is_direct=held.is_direct,
        )


def _unknown(serving_id: str) -> Failed:
    message = f"no model {serving_id!r} is in the registry"
    return Failed(id=0, error_code=ErrorCode.MODEL_NOT_FOUND, error=message, error_class="NOT_FOUND")
