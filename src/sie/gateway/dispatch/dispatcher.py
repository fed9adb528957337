"""One request's road (§2, §16.2): admitted, published, collected, and cleaned up after, however it ends (§8.2).

Everything that a request holds is held by the block that handles it: leaving the block gives it all back, and tells
workers where their work is not wanted any more.
"""

from collections.abc import Callable, Sequence

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import StreamSpec
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId, PoolName, RequestId, WorkerId
from sie.domain.lane import Lane
from sie.domain.subjects import direct_subject
from sie.gateway.core.admission import Lanes
from sie.gateway.core.collect import Ending
from sie.gateway.core.offload import Refused
from sie.gateway.core.outcome import Failed, Outcome, decide_outcome
from sie.gateway.core.routing import Routed
from sie.gateway.dispatch.cancels import Cancels, Reason
from sie.gateway.dispatch.direct import Direct, Job
from sie.gateway.dispatch.gauges import Gauges
from sie.gateway.dispatch.handoff import Handoff
from sie.gateway.dispatch.parcels import Parcels
from sie.gateway.dispatch.pending import Pending, Waiting
from sie.gateway.dispatch.publisher import Parcel
from sie.wire.work import WorkItem


@attrs.frozen
class Ended:
    """`publish_s` is the time until all was handed to the connection, `wait_s` from there to the end."""

    outcome: Outcome
    publish_s: float = 0.0
    wait_s: float = 0.0


@attrs.frozen(kw_only=True)
class Dispatcher:
    """`stream_of` tells how a pool's work is stored, `timeout_s` how long results are waited for."""

    pending: Pending
    handoff: Handoff
    direct: Direct
    parcels: Parcels
    gauges: Gauges
    lanes: Lanes
    cancels: Cancels
    stream_of: Callable[[PoolName], StreamSpec]
    timeout_s: float

    async def run(self, request: RequestId, routed: Routed, items: Sequence[WorkItem]) -> Ended:
        refused = await self._refused(routed.lane, len(items))
        if refused is not None:
            return Ended(refused)
        async with self.parcels.packed(routed, items) as packed:
            if isinstance(packed, Refused):
                return Ended(Failed(packed.code, packed.message))
            with self.lanes.holding(routed.lane, len(items)), self.pending.open(request, len(items)) as waiting:
                return await self._deliver(request, routed, packed, waiting)

    def deadline_s(self, began_s: float) -> float:
        return began_s + self.timeout_s

    async def _refused(self, lane: Lane, items: int) -> Failed | None:
        """Before anything of the request is anywhere; the lane is wanted either way."""
        stream, demand = self.stream_of(lane.pool), self.handoff.demand
        try:
            await self.handoff.publisher.streams.ensure(stream)
        except BusError as error:
            demand.record(lane, trio.current_time())
            return Failed(ErrorCode.QUEUE_UNAVAILABLE, f"the work could not be queued: {error}")
        gauge = await self.gauges.consumed(stream.name)
        overload = self.lanes.judge(lane, items, stream_pending=gauge.pending if gauge is not None else 0)
        if overload is not None:
            demand.record(lane, trio.current_time())
            return Failed(ErrorCode.QUEUE_FULL, overload.words)
        if gauge is not None and not gauge.consumers:
            demand.record(lane, trio.current_time())
            return Failed(ErrorCode.PROVISIONING, f"nobody takes work of lane {lane} yet")
        return None

    async def _deliver(self, request: RequestId, routed: Routed, parcels: Sequence[Parcel], waiting: Waiting) -> Ended:
        began_s, reason = trio.current_time(), Reason.ABANDONED
        clock = _Clock()
        try:
            ending = await self._ending(request, routed, parcels, waiting, clock)
            reason = Reason.TIMEOUT if ending is None else Reason.TRANSPORT
        finally:
            if not waiting.is_answered:
                self.cancels.abandon(request, reason)
        sent_s = trio.current_time() if clock.sent_s is None else clock.sent_s
        outcome = decide_outcome(ending, missing=len(waiting.collector.missing()), timeout_s=self.timeout_s)
        return Ended(outcome, sent_s - began_s, trio.current_time() - sent_s)

    async def _ending(
        self,
        request: RequestId,
        routed: Routed,
        parcels: Sequence[Parcel],
        waiting: Waiting,
        clock: "_Clock",
    ) -> Ending | None:
        """None where the time ran out first."""
        with trio.move_on_at(self.deadline_s(trio.current_time())):
            if routed.direct is None:
                stream = self.stream_of(routed.lane.pool)
                problem = await self.handoff.give(routed.lane, stream, parcels, waiting, clock.sent)
            else:
                job = _job(request, routed, routed.direct, parcels)
                problem = await self.direct.carry(job, waiting, clock.sent)
            if problem is not None:
                waiting.give_up(problem.code, problem.message)
            await waiting.over.wait()
        return waiting.collector.ending


@attrs.define(eq=False)
class _Clock:
    """When the request's work was handed to the connection, if it was."""

    sent_s: float | None = None

    def sent(self) -> None:
        if self.sent_s is None:
            self.sent_s = trio.current_time()


def _job(request: RequestId, routed: Routed, worker: WorkerId, parcels: Sequence[Parcel]) -> Job:
    subject = direct_subject(routed.lane, ModelId(routed.target.model), worker)
    to_worker = tuple(attrs.evolve(parcel, subject=subject) for parcel in parcels)
    return Job(request, routed.lane, worker, parcels, to_worker)
