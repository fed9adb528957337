"""Work for one worker by name (§8.2): what that worker does not take soon goes to its pool's queue, once.

From the moment that the pool's queue has it for certain, only a result from there counts, and the worker is told.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import ApiError, StreamSpec, call_api
from sie.domain.errors import ErrorCode
from sie.domain.ids import PoolName, RequestId, WorkerId
from sie.domain.lane import Lane
from sie.domain.subjects import worker_consumer, worker_stream
from sie.gateway.core.collect import GaveUp
from sie.gateway.core.resending import unseen_items
from sie.gateway.dispatch.acks import Acks, listening_to_each
from sie.gateway.dispatch.cancels import Cancels
from sie.gateway.dispatch.handoff import Handoff, Work
from sie.gateway.dispatch.pending import Waiting
from sie.gateway.dispatch.publisher import Parcel

log = logging.getLogger(__name__)

FALLBACK_S = 0.25
"""After sending, for what no consumer was seen to take (decisions)."""
ASK_S = 1.0


@attrs.frozen
class Job:
    """`to_pool` and `to_worker` are the same work in item order, each as it goes to one of the two queues."""

    request: RequestId
    lane: Lane
    worker: WorkerId
    to_pool: Sequence[Parcel]
    to_worker: Sequence[Parcel]


@attrs.frozen
class Direct:
    """`stream_of` tells how a pool's work is stored, `worker_stream_of` a worker's own."""

    handoff: Handoff
    cancels: Cancels
    stream_of: Callable[[PoolName], StreamSpec]
    worker_stream_of: Callable[[Lane, WorkerId], StreamSpec]

    async def carry(self, job: Job, waiting: Waiting) -> GaveUp | None:
        """The problem, where neither the worker's queue nor its pool's has all of it for certain."""
        acks = Acks(len(job.to_worker))
        waiting.watch(acks)
        publisher, demand = self.handoff.publisher, self.handoff.demand
        with demand.handing_over(job.lane), listening_to_each(publisher.bus, acks) as replies:
            problem = await self._send(job, acks, waiting, replies)
            if waiting.is_over:
                return None
            missing = waiting.collector.missing()
            unseen = missing if problem else unseen_items(missing, acks.seqs, delivered=await self._delivered(job))
            if not unseen or waiting.is_over:
                return None
            resent = await self._resend(job, unseen, waiting)
            is_stored = acks.stored == acks.expected
            return resent if not is_stored else None

    async def _send(self, job: Job, acks: Acks, waiting: Waiting, replies: Sequence[str]) -> GaveUp | None:
        """Returns when the fallback is due: at once where the worker's queue does not take it."""
        stream = self.worker_stream_of(job.lane, job.worker)
        try:
            await self.handoff.publisher.submit(stream, job.to_worker, replies)
        except BusError as error:
            return self.handoff.failed(job.lane, GaveUp(ErrorCode.QUEUE_UNAVAILABLE, str(error)))
        waiting.sent()
        due_s = trio.current_time() + FALLBACK_S
        settled = await acks.settled_within(FALLBACK_S)
        if settled == "late":
            return None
        problem = self.handoff.judged(job.lane, stream, acks, settled)
        if problem is None and settled == "stored":
            with trio.move_on_at(due_s):
                await waiting.until_over()
        return problem

    async def _delivered(self, job: Job) -> int | None:
        """The last place of its stream that the worker's consumer was given."""
        call = f"CONSUMER.INFO.{worker_stream(job.worker)}.{worker_consumer(job.worker)}"
        try:
            answer = await call_api(self.handoff.publisher.bus, call, timeout_s=ASK_S)
        except (ApiError, BusError) as error:
            log.info("a worker's queue has no consumer", extra={"worker": job.worker, "error": str(error)})
            return None
        delivered = answer.get("delivered")
        place = delivered.get("stream_seq") if isinstance(delivered, Mapping) else None
        return place if isinstance(place, int) else None

    async def _resend(self, job: Job, indexes: Sequence[int], waiting: Waiting) -> GaveUp | None:
        parcels = [job.to_pool[index] for index in indexes]
        problem = await self.handoff.give(Work(job.lane, self.stream_of(job.lane.pool), parcels), waiting)
        if problem is None and not waiting.is_over:
            for index in indexes:
                waiting.collector.resent(index)
            self.cancels.withdraw(job.request, job.worker, indexes)
            log.info("work for one worker went to its pool", extra={"worker": job.worker, "items": len(indexes)})
        return problem
