"""One request's road (§2, §16.2): admitted, published, collected, and cleaned up after, however it ends (§8.2).

Everything that a request holds is held by the block that handles it: leaving the block gives it all back, and tells
workers where their work is not wanted any more.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn

import attrs
import msgspec
import trio
from msgspec.structs import replace

from sie.bus.api import BusError
from sie.bus.jetstream import StreamSpec
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId, PoolName, RequestId, WorkerId
from sie.domain.lane import Lane
from sie.domain.subjects import direct_subject
from sie.gateway.core.admission import Lanes
from sie.gateway.core.deadlines import Deadlines
from sie.gateway.core.offload import Refused
from sie.gateway.core.outcome import Failed, Outcome, decide_outcome
from sie.gateway.core.routing import Routed
from sie.gateway.core.work import Planned
from sie.gateway.dispatch.acks import ACK_DEADLINE_S
from sie.gateway.dispatch.cancels import Cancels, Reason
from sie.gateway.dispatch.direct import Direct, Job
from sie.gateway.dispatch.gauges import Gauges
from sie.gateway.dispatch.handoff import Handoff, Work
from sie.gateway.dispatch.parcels import Parcels
from sie.gateway.dispatch.pending import Pending, Waiting
from sie.gateway.dispatch.publisher import Parcel
from sie.web.routes import Leaving


class Ended(msgspec.Struct, frozen=True):
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
    deadlines: Deadlines = attrs.field(factory=Deadlines)

    async def expire_forever(self) -> NoReturn:
        """The one clock of all that waits. It sleeps no longer than what begins meanwhile lasts at least."""
        shortest_s = min(self.timeout_s, ACK_DEADLINE_S)
        kinds = (self.deadlines, self.handoff.deadlines)
        while True:
            now_s = trio.current_time()
            for deadlines in kinds:
                deadlines.expire(now_s)
            await trio.sleep_until(min(now_s + shortest_s, *(deadlines.next_s for deadlines in kinds)))

    async def run(self, request: RequestId, routed: Routed, work: Planned, leaving: Leaving | None = None) -> Ended:
        """Raises ClientLeft."""
        refused = await self._refused(routed.lane, len(work))
        if refused is not None:
            return Ended(refused)
        async with self.parcels.packed(routed, work) as packed:
            if isinstance(packed, Refused):
                return Ended(Failed(packed.code, packed.message))
            with self.lanes.holding(routed.lane, len(work)), self.pending.open(request, len(work)) as waiting:
                waiting.heed(leaving)
                return await self._deliver(routed, packed, waiting)

    def deadline_s(self, began_s: float) -> float:
        return began_s + self.timeout_s

    async def _refused(self, lane: Lane, items: int) -> Failed | None:
        """Before anything of the request is anywhere; the lane is wanted either way."""
        stream, demand = self.stream_of(lane.pool), self.handoff.demand
        streams = self.handoff.publisher.streams
        try:
            if not streams.is_ensured(stream):
                await streams.ensure(stream)
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

    async def _deliver(self, routed: Routed, parcels: Sequence[Parcel], waiting: Waiting) -> Ended:
        began_s, reason = trio.current_time(), Reason.ABANDONED
        deadline_s = self.deadline_s(began_s)
        deadline = self.deadlines.begin(deadline_s, waiting.expire)
        try:
            await self._carry(routed, parcels, waiting, deadline_s)
            ending = waiting.collector.ending
            reason = Reason.TIMEOUT if ending is None else Reason.TRANSPORT
        finally:
            self.deadlines.end(deadline)
            if not waiting.is_answered:
                self.cancels.abandon(RequestId(waiting.collector.request_id), reason)
        now_s = trio.current_time()
        sent_s = now_s if waiting.sent_s is None else waiting.sent_s
        missing = len(waiting.collector.missing()) if ending is None else 0
        outcome = decide_outcome(ending, missing=missing, timeout_s=self.timeout_s)
        return Ended(outcome, sent_s - began_s, now_s - sent_s)

    async def _carry(self, routed: Routed, parcels: Sequence[Parcel], waiting: Waiting, deadline_s: float) -> None:
        """Returns when the request is over, or its time has run out."""
        if routed.direct is None:
            work = Work(routed.lane, self.stream_of(routed.lane.pool), parcels)
            await self.handoff.carry(work, waiting, deadline_s)
            return
        with trio.move_on_at(deadline_s):
            problem = await self.direct.carry(_job(waiting, routed, routed.direct, parcels), waiting)
            if problem is not None:
                waiting.give_up(problem.code, problem.message)
        await waiting.until_over()


def _job(waiting: Waiting, routed: Routed, worker: WorkerId, parcels: Sequence[Parcel]) -> Job:
    subject = direct_subject(routed.lane, ModelId(routed.target.model), worker)
    to_worker = tuple(replace(parcel, subject=subject) for parcel in parcels)
    return Job(RequestId(waiting.collector.request_id), routed.lane, worker, parcels, to_worker)
